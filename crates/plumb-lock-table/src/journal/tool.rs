//! Looking at a journal, and mending it, while no server uses it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::folder::{Kind, Records, files};
use super::loss::Loss;
use super::origin::Origin;
use super::place::Claim;
use super::record::{MAGIC, NoRecord, Record};
use super::restore;
use crate::table::{Change, Limits, Lock};

/// What was found in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// Its number: a snapshot and the journal since have the same.
    pub number: u64,
    /// What it is.
    pub kind: Kind,
    /// Sound records.
    pub records: u64,
    /// Bytes from the start that count: sound records, of a journal up to the last that closes a
    /// batch.
    pub sound_bytes: u64,
    /// All bytes.
    pub bytes: u64,
    /// Why reading ended before the end.
    pub trouble: Option<NoRecord>,
    /// True when sound records follow behind the trouble: damage, not a torn end.
    pub goes_on: bool,
    /// True when the last record says that nothing is missing: a snapshot that was finished.
    pub ended: bool,
}

impl Report {
    fn is_complete_snapshot(&self) -> bool {
        self.kind == Kind::Snapshot && self.ended
    }

    /// True when the end of the last journal may look like this after a crash.
    fn is_torn(&self, trouble: NoRecord) -> bool {
        !self.goes_on && trouble != NoRecord::Unknown
    }
}

/// What a start would find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Locks.
    pub locks: u32,
    /// Inherited locks among them: with the policy none a start keeps these alone.
    pub inherited: u32,
    /// The last epoch.
    pub epoch: u64,
    /// True when no acknowledged change can be missing, so that the epoch stays.
    pub complete: bool,
    /// What is missing, as far as it is known.
    pub lost: Option<Loss>,
}

/// Reads every record of every file of a folder.
///
/// # Errors
/// [`JournalError::File`] when a file cannot be read, [`JournalError::Nothing`] when there is none.
pub fn verify(folder: &Path) -> Result<Vec<Report>, JournalError> {
    found(folder)?.into_iter().map(report).collect()
}

/// Reads a folder as a start does, and changes nothing.
///
/// # Errors
/// [`JournalError`] as a start would end with it.
pub fn outlook(folder: &Path) -> Result<Outlook, JournalError> {
    let (restored, _) = restore::restore(folder, Limits::of_kib(u64::MAX))?;
    Ok(Outlook {
        locks: restored.table.usage().locks.actual,
        inherited: restored.table.backups(),
        epoch: restored.epoch,
        complete: restored.complete,
        lost: restored.lost,
    })
}

fn found(folder: &Path) -> Result<Vec<(u64, Kind, PathBuf)>, JournalError> {
    let files = files(folder)?;
    if files.is_empty() {
        return Err(JournalError::Nothing { path: folder.to_owned() });
    }
    Ok(files)
}

fn report((number, kind, path): (u64, Kind, PathBuf)) -> Result<Report, JournalError> {
    let bytes = fs::read(&path).map_err(JournalError::file("read", &path))?;
    let mut records = Records::new(&bytes);
    let (mut count, mut closed, mut ended, mut trouble) = (0, 0, false, None);
    while let Some(record) = records.next() {
        ended = record == Ok(Record::End);
        match record {
            Ok(record) => {
                count += 1;
                if record.closes() {
                    closed = records.at();
                }
            }
            Err(no) => trouble = Some(no),
        }
    }
    let sound = if kind == Kind::Journal { closed } else { records.at() };
    Ok(Report {
        path,
        number,
        kind,
        records: count,
        sound_bytes: sound as u64,
        bytes: bytes.len() as u64,
        trouble,
        goes_on: trouble.is_some() && records.goes_on(),
        ended,
    })
}

/// Cuts files off where they are damaged, so that a start reads what stands before; what was cut
/// stays beside the file, under the same name and `.cut`. Whatever else than a torn end was cut
/// off leaves a [`Record::Gap`], so that the epoch of the next start is a new one. A snapshot is
/// touched only when there is none that is complete. The files that were cut, as they were.
///
/// # Errors
/// [`JournalError::InUse`] when a server uses the folder, [`JournalError::File`] when a file cannot
/// be read or written, [`JournalError::Nothing`] when there is none.
pub fn repair(folder: &Path) -> Result<Vec<Report>, JournalError> {
    let _claim = Claim::take(folder)?;
    let reports = verify(folder)?;
    let complete = reports.iter().any(Report::is_complete_snapshot);
    let numbers = |kind: Kind| {
        reports.iter().filter(move |report| report.kind == kind).map(|report| report.number)
    };
    let (oldest, newest) = (numbers(Kind::Snapshot).min(), numbers(Kind::Journal).max());
    let mut mended = Vec::new();
    for report in &reports {
        let last = newest == Some(report.number);
        let needed = !complete && oldest == Some(report.number);
        let then: &[Record<'_>] = match (report.kind, report.trouble) {
            (Kind::Snapshot, _) if needed => &[Record::Gap, Record::End],
            (Kind::Snapshot, _) | (Kind::Journal, None) => continue,
            (Kind::Journal, Some(trouble)) if last && report.is_torn(trouble) => &[],
            (Kind::Journal, Some(_)) => &[Record::Gap],
        };
        mend(report, then).map_err(JournalError::file("mend", &report.path))?;
        mended.push(report.clone());
    }
    Ok(mended)
}

/// Ends a file behind what is sound of it, with the records `then`.
fn mend(report: &Report, then: &[Record<'_>]) -> io::Result<()> {
    let bytes = fs::read(&report.path)?;
    let sound = usize::try_from(report.sound_bytes).unwrap_or(bytes.len()).min(bytes.len());
    let (sound, cut) = bytes.split_at(sound);
    if !cut.is_empty() {
        let mut aside = report.path.clone().into_os_string();
        aside.push(".cut");
        fs::write(aside, cut)?;
    }
    let mut tail = Vec::new();
    if sound.is_empty() && !then.is_empty() {
        tail.extend_from_slice(MAGIC);
    }
    then.iter().for_each(|record| record.push(&mut tail));
    let file = File::options().write(true).open(&report.path)?;
    file.set_len(report.sound_bytes)?;
    file.write_all_at(&tail, report.sound_bytes)?;
    file.sync_all()
}

/// Hands every record of every file to `line` as a line of text, a file's name before its records.
///
/// # Errors
/// [`JournalError::File`] when a file cannot be read, [`JournalError::Nothing`] when there is none,
/// or what `line` answers.
pub fn dump<E: From<JournalError>>(
    folder: &Path,
    mut line: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    for (_, _, path) in found(folder)? {
        let bytes = fs::read(&path).map_err(JournalError::file("read", &path))?;
        line(&format!("# {}", path.display()))?;
        let mut records = Records::new(&bytes);
        loop {
            let at = records.at();
            match records.next() {
                None => break,
                Some(Ok(record)) => line(&show(&record))?,
                Some(Err(no)) => line(&format!("# at byte {at}: {no}"))?,
            }
        }
    }
    Ok(())
}

fn show(record: &Record<'_>) -> String {
    match record {
        Record::Start { epoch, complete, origin } if *origin == Origin::own(*epoch) => {
            format!("start epoch={epoch} complete={complete}")
        }
        Record::Start { epoch, complete, origin } => format!(
            "start epoch={epoch} complete={complete} origin={} of_replica={}",
            origin.epoch, origin.of_replica
        ),
        Record::Change(Change::Lock(lock)) => show_lock(lock),
        Record::Change(Change::Cleared { owner, scope, backup }) => format!(
            "cleared owner={} scope={} inherited={backup}",
            owner.escape_ascii(),
            scope.digit()
        ),
        Record::Fence(fence) => format!("fence below={fence}"),
        Record::Life { owner, ms } => format!("life owner={} ms={ms}", owner.escape_ascii()),
        Record::Key { key, ms } => format!("key key={} ms={ms}", key.escape_ascii()),
        Record::Before { bytes } => format!("before bytes={bytes}"),
        Record::Replaced { by } => format!("replaced by={by}"),
        Record::Mark => "mark".into(),
        Record::Gap => "gap".into(),
        Record::End => "end".into(),
    }
}

fn show_lock(lock: &Lock<'_>) -> String {
    let gone = (lock.dialog, lock.update) == (0, 0);
    let mut text = String::from(if gone { "gone" } else { "lock" });
    let words = [
        ("owner", lock.owner),
        ("user", lock.user),
        ("name", lock.name),
        ("argument", lock.argument),
    ];
    for (key, word) in words {
        // a String takes everything
        let _ = write!(text, " {key}={}", word.escape_ascii());
    }
    let _ = write!(
        text,
        " mode={} dialog={} update={} inherited={} fence={} since_ms={}",
        lock.mode, lock.dialog, lock.update, lock.backup, lock.fence, lock.since_ms
    );
    text
}
