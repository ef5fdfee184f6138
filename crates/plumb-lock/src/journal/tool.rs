//! Looking at a journal, and mending it, while no server uses it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::folder::{Records, files};
use super::record::Record;
use crate::table::{Change, Lock};

/// What was found in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// Sound records.
    pub records: u64,
    /// Where reading ended, bytes from the start.
    pub sound_bytes: u64,
    /// All bytes.
    pub bytes: u64,
    /// Why reading ended before the end.
    pub trouble: Option<String>,
    /// True when sound records follow behind the trouble: damage, not a torn end.
    pub goes_on: bool,
}

/// Reads every record of every file of a folder.
///
/// # Errors
/// [`JournalError::File`] when a file cannot be read.
pub fn verify(folder: &Path) -> Result<Vec<Report>, JournalError> {
    files(folder)?.into_iter().map(|(_, _, path)| report(path)).collect()
}

fn report(path: PathBuf) -> Result<Report, JournalError> {
    let bytes = fs::read(&path).map_err(JournalError::file("read", &path))?;
    let mut records = Records::new(&bytes);
    let (mut count, mut trouble) = (0, None);
    for record in records.by_ref() {
        match record {
            Ok(_) => count += 1,
            Err(no) => trouble = Some(no.to_string()),
        }
    }
    let goes_on = trouble.is_some() && records.goes_on();
    Ok(Report {
        path,
        records: count,
        sound_bytes: records.at() as u64,
        bytes: bytes.len() as u64,
        trouble,
        goes_on,
    })
}

/// Cuts every file off in front of its first bad record; what was cut stays beside it, under the
/// same name and `.cut`. The files that were cut.
///
/// # Errors
/// [`JournalError::File`] when a file cannot be read or written.
pub fn repair(folder: &Path) -> Result<Vec<Report>, JournalError> {
    let reports: Vec<Report> =
        verify(folder)?.into_iter().filter(|report| report.trouble.is_some()).collect();
    for report in &reports {
        let fail = JournalError::file("mend", &report.path);
        let bytes = fs::read(&report.path).map_err(&fail)?;
        let end = usize::try_from(report.sound_bytes).unwrap_or(bytes.len());
        let mut aside = report.path.clone().into_os_string();
        aside.push(".cut");
        fs::write(aside, &bytes[end..]).map_err(&fail)?;
        let file = File::options().write(true).open(&report.path).map_err(&fail)?;
        file.set_len(report.sound_bytes).and_then(|()| file.sync_all()).map_err(&fail)?;
    }
    Ok(reports)
}

/// Hands every record of every file to `line` as a line of text, a file's name before its records.
///
/// # Errors
/// [`JournalError::File`] when a file cannot be read, or what `line` answers.
pub fn dump<E: From<JournalError>>(
    folder: &Path,
    mut line: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    for (_, _, path) in files(folder)? {
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
        Record::Start { epoch, complete } => format!("start epoch={epoch} complete={complete}"),
        Record::Change(Change::Lock(lock)) => show_lock(lock),
        Record::Change(Change::Cleared { owner, scope, backup }) => format!(
            "cleared owner={} scope={} inherited={backup}",
            owner.escape_ascii(),
            scope.digit()
        ),
        Record::Fence(fence) => format!("fence below={fence}"),
        Record::Life { owner, ms } => format!("life owner={} ms={ms}", owner.escape_ascii()),
        Record::Key { key, ms } => format!("key key={} ms={ms}", key.escape_ascii()),
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
