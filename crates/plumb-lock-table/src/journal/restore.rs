//! What a journal says of the table.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::folder::{Kind, Records, files};
use super::loss::{Loss, Read};
use super::origin::Origin;
use super::position::Position;
use super::record::{NoRecord, Record};
use crate::table::{Limits, Rules, Sound, Table, Unnoted};

/// How long owners and keys live, milliseconds; zero: until they are released. Who is not here
/// lives with a connection.
#[derive(Clone, Debug, Default)]
pub struct Lives {
    /// Owners, without a sign.
    pub owners: BTreeMap<Vec<u8>, u64>,
    /// Keys.
    pub keys: BTreeMap<Vec<u8>, u64>,
}

/// A table as a journal left it.
#[derive(Debug)]
pub struct Restored<R = Sound> {
    /// The table.
    pub table: Table<R>,
    /// The epoch under which it goes on.
    pub epoch: u64,
    /// Whose locks are here: of another epoch than `epoch` where nobody has decided for that.
    pub origin: Origin,
    /// The epoch of a server that has taken this one's place; 0: none has.
    pub replaced_by: u64,
    /// True when no acknowledged change can be missing.
    pub complete: bool,
    /// How long owners and keys live.
    pub lives: Lives,
    /// Bytes at the end of the last file that a crash had torn.
    pub torn_bytes: u64,
    /// What is missing of what was acknowledged.
    pub lost: Option<Loss>,
    /// The last journal, and its bytes.
    pub(super) last_journal: Option<(u64, u64)>,
    /// No journal of this number or a higher one has ever been.
    pub(super) number_next: u64,
    /// The highest epoch that the files or the position name.
    epoch_highest: u64,
    read: Read,
}

impl<R: Rules> Restored<R> {
    /// An empty table, and an epoch that none had before.
    #[must_use]
    pub fn empty(limits: Limits) -> Self {
        Self {
            table: Table::with_rules(limits),
            epoch: 0,
            origin: Origin::default(),
            replaced_by: 0,
            complete: false,
            lives: Lives::default(),
            torn_bytes: 0,
            lost: None,
            last_journal: None,
            number_next: 1,
            epoch_highest: 0,
            read: Read::default(),
        }
    }
}

impl Restored {
    /// Only what an update has inherited stays.
    pub(super) fn forget_all_but_inherited(&mut self) {
        let others: Vec<_> = self
            .table
            .locks()
            .filter(|lock| !lock.backup)
            .map(|lock| (lock.name.to_vec(), lock.argument.to_vec(), lock.owner.to_vec()))
            .collect();
        for (name, argument, owner) in others {
            self.table.end_of(&name, &argument, &owner, &mut Unnoted);
        }
        self.lives = Lives::default();
    }

    fn take(&mut self, record: Record<'_>, number: u64, path: &Path) -> Result<(), JournalError> {
        match record {
            Record::Start { epoch, complete, origin } => {
                // the last one counts: a replica has the epoch of its primary, which may be older
                // than the one that it began with
                (self.epoch, self.complete, self.origin) = (epoch, complete, origin);
                self.epoch_highest = self.epoch_highest.max(epoch);
            }
            Record::Change(change) => {
                // room is looked at in the end: a snapshot may hold what is gone by then
                let applied = self.table.apply([change]);
                if let Err(cause @ crate::table::Impossible::TooLong) = applied {
                    return Err(JournalError::Impossible { path: path.to_owned(), cause });
                }
            }
            Record::Fence(fence) => self.table.raise_fence(fence),
            Record::Life { owner, ms: Record::WITH_CONNECTION } => {
                self.lives.owners.remove(owner);
            }
            Record::Life { owner, ms } => {
                self.lives.owners.insert(owner.to_vec(), ms);
            }
            Record::Key { key, ms } => {
                self.lives.keys.insert(key.to_vec(), ms);
            }
            Record::Before { bytes } => {
                self.read.before.insert(number, bytes);
            }
            Record::Replaced { by } => self.replaced_by = by,
            Record::Gap => self.lost = Some(Loss::Repaired),
            Record::Mark | Record::End => {}
        }
        Ok(())
    }
}

/// The last journal, whose end a crash or a full disk has torn.
#[derive(Debug)]
pub(super) struct Torn {
    path: PathBuf,
    /// Bytes in front of the torn batch.
    sound: u64,
}

impl Torn {
    /// Copies the end to a file beside it, of the same name and `.cut`.
    pub(super) fn set_aside(&self) -> Result<(), JournalError> {
        let fail = JournalError::file("copy", &self.path);
        let bytes = fs::read(&self.path).map_err(&fail)?;
        let sound = usize::try_from(self.sound).unwrap_or(bytes.len()).min(bytes.len());
        let mut aside = self.path.clone().into_os_string();
        aside.push(".cut");
        if bytes.len() == sound { Ok(()) } else { fs::write(aside, &bytes[sound..]).map_err(fail) }
    }

    /// Takes the torn end away: once another journal follows this one, it would be damage.
    pub(super) fn cut_off(&self) -> Result<(), JournalError> {
        let fail = JournalError::file("mend", &self.path);
        if self.sound == 0 {
            return fs::remove_file(&self.path).map_err(fail); // not even begun
        }
        let file = File::options().write(true).open(&self.path).map_err(&fail)?;
        file.set_len(self.sound).and_then(|()| file.sync_all()).map_err(fail)
    }
}

/// Reads the last complete snapshot of a folder and the journals since.
pub(super) fn restore(
    folder: &Path,
    limits: Limits,
) -> Result<(Restored, Option<Torn>), JournalError> {
    let files = files(folder)?;
    let position = Position::read(folder)?;
    let mut restored = Restored::empty(limits);
    if let Some(position) = &position {
        restored.table.raise_fence(position.fences_until);
        (restored.epoch, restored.epoch_highest) = (position.epoch, position.epoch);
        restored.number_next = position.number.saturating_add(1);
    }
    if files.is_empty() && position.is_none() {
        return Ok((restored, None));
    }
    let mut start = None;
    for (number, kind, path) in files.iter().rev() {
        if *kind == Kind::Snapshot && is_complete(path)? {
            start = Some(*number);
            break;
        }
    }
    let Some(start) = start else {
        return if was_cut_short(&files)? {
            // without a position nobody was told of anything
            restored.lost = position.and_then(|it| restored.read.loss(0, Some(&it)));
            Ok((restored, None))
        } else {
            Err(JournalError::NoSnapshot { path: folder.to_owned() })
        };
    };
    let last = files.iter().rev().find(|(_, kind, _)| *kind == Kind::Journal);
    let last = last.map(|(number, _, _)| *number);
    let mut torn = None;
    for (number, kind, path) in &files {
        if *number < start || *kind == Kind::Snapshot && *number > start {
            continue;
        }
        let may_be_torn = Some(*number) == last && *kind == Kind::Journal;
        torn = read(&mut restored, (*number, *kind, path), may_be_torn)?;
    }
    restored
        .table
        .apply([])
        .map_err(|cause| JournalError::Impossible { path: folder.to_owned(), cause })?;
    restored.lost = restored.lost.or(restored.read.loss(start, position.as_ref()));
    restored.complete &= restored.lost.is_none();
    if !restored.complete {
        restored.epoch = restored.epoch_highest; // which one counted last may be missing
    }
    restored.last_journal = restored.read.sound.last_key_value().map(|(at, bytes)| (*at, *bytes));
    Ok((restored, torn))
}

/// True for what a first start leaves that was cut short: nobody was told of anything.
fn was_cut_short(files: &[(u64, Kind, PathBuf)]) -> Result<bool, JournalError> {
    for (number, kind, path) in files {
        let bytes = fs::read(path).map_err(JournalError::file("read", path))?;
        let mut records = Records::new(&bytes);
        let changed = records.any(|record| matches!(record, Ok(Record::Change(_))));
        if *number > 1 || *kind == Kind::Journal && changed {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True for a snapshot that was written to its end.
pub(super) fn is_complete(path: &Path) -> Result<bool, JournalError> {
    let bytes = fs::read(path).map_err(JournalError::file("read", path))?;
    let mut last = None;
    for record in Records::new(&bytes) {
        match record {
            Ok(record) => last = Some(record),
            Err(_) => return Ok(false),
        }
    }
    Ok(last == Some(Record::End))
}

/// Applies a file. Only the last journal may end in a torn batch, which counts for nothing.
fn read(
    restored: &mut Restored,
    (number, kind, path): (u64, Kind, &Path),
    may_be_torn: bool,
) -> Result<Option<Torn>, JournalError> {
    let bytes = fs::read(path).map_err(JournalError::file("read", path))?;
    let mut records = Records::new(&bytes);
    let (mut batch, mut ended, mut sound) = (Vec::new(), false, 0);
    while let Some(record) = records.next() {
        match record {
            Ok(record) => {
                ended = record == Record::End;
                batch.push(record);
                if record.closes() || !may_be_torn {
                    batch.drain(..).try_for_each(|record| restored.take(record, number, path))?;
                    sound = records.at();
                }
            }
            Err(cause) => {
                let at = records.at() as u64;
                if !may_be_torn || cause == NoRecord::Unknown || records.goes_on() {
                    return Err(JournalError::Damaged { path: path.to_owned(), at, cause });
                }
            }
        }
    }
    if kind == Kind::Journal {
        restored.read.sound.insert(number, sound as u64);
    }
    if !may_be_torn {
        return Ok(None);
    }
    restored.complete |= ended;
    restored.torn_bytes = (bytes.len() - sound) as u64;
    let whole = restored.torn_bytes == 0 && sound > 0;
    Ok((!whole).then(|| Torn { path: path.to_owned(), sound: sound as u64 }))
}
