//! The files of a journal as they are written.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::folder::{self, Kind};
use super::origin::Origin;
use super::place::{Claim, Place};
use super::position::{Position, PositionFile};
use super::record::Record;
use super::restore::{self, Lives, Restored};
use super::snapshot::{self, Finishing, Snapshot};
use crate::table::{Rules, Table};

/// Fence numbers set aside at once: so many grants cost one record.
const FENCES_AHEAD: u64 = 1_000_000;
/// A server that has nothing to write looks this often whether its folder is still there.
const LOOK_NS: u64 = 1_000_000_000;

/// When changes are made to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Only what an update has inherited, before it is acknowledged. Other locks are gone after a
    /// restart, and the epoch tells.
    Inherited,
    /// Everything, at the latest after so many nanoseconds. A crash of the program loses nothing;
    /// one of the machine may lose what was acknowledged within this time, and the epoch tells.
    Interval(u64),
    /// Everything, before it is acknowledged.
    Always,
}

/// How often snapshots are made, and in what pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// A journal of this size is followed by a snapshot, bytes; of a larger table, one of the size
    /// of the last snapshot.
    pub journal_bytes: u64,
    /// Places of the table, or lives, that go into a snapshot between two rounds of serving.
    pub slice: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { journal_bytes: 64 << 20, slice: 2_000 }
    }
}

/// The files that are written.
#[derive(Debug)]
pub(super) struct JournalFiles {
    folder: PathBuf,
    pub(super) policy: Policy,
    number: u64,
    journal: File,
    place: Place,
    /// When the place is looked at next, nanoseconds.
    look_at: Option<u64>,
    /// Bytes of the journal.
    length: u64,
    /// Bytes of it that were there from its beginning.
    begun: u64,
    epoch: u64,
    origin: Origin,
    /// Under this epoch another server gives locks out.
    follows: bool,
    /// The epoch of the server that has taken this one's place; 0: none has.
    replaced_by: u64,
    /// The epoch, or what is said of it, is not kept yet.
    epoch_is_new: bool,
    /// Since when something is written and not made to last, nanoseconds.
    unsynced_since: Option<u64>,
    pub(super) syncs: u64,
    /// Fence numbers below this are set aside.
    fences_until: u64,
    position: PositionFile,
    snapshot: Option<Snapshot>,
    finishing: Option<Finishing>,
    snapshot_bytes: u64,
    pub(super) pace: Pace,
    /// Held for as long as the server runs.
    _claim: Claim,
}

/// What a start writes to.
pub(super) struct Begin {
    pub(super) folder: PathBuf,
    pub(super) policy: Policy,
    pub(super) number: u64,
    pub(super) claim: Claim,
}

impl JournalFiles {
    /// A new journal, and a snapshot of all there is, in front of which nothing is left.
    pub(super) fn begin(
        begin: Begin,
        restored: &Restored,
        lives: &mut Lives,
    ) -> Result<Self, JournalError> {
        let Begin { folder: path, policy, number, claim } = begin;
        let write = JournalError::file("write", &path);
        let start = start(policy, (restored.epoch, restored.origin), false);
        let file = folder::path(&path, number, Kind::Journal);
        let journal = folder::create(&file, start)?;
        let snapshot = folder::create(&folder::path(&path, number, Kind::Snapshot), start)?;
        let mut files = Self {
            policy,
            number,
            place: Place::of(&journal, file).map_err(&write)?,
            look_at: None,
            length: journal.metadata().map_err(&write)?.len(),
            journal,
            begun: 0,
            epoch: restored.epoch,
            origin: restored.origin,
            follows: false,
            replaced_by: restored.replaced_by,
            epoch_is_new: false,
            unsynced_since: None,
            syncs: 0,
            fences_until: restored.table.next_fence(),
            position: PositionFile::open(&path)?,
            snapshot: Some(Snapshot::new(snapshot)),
            finishing: None,
            snapshot_bytes: 0,
            pace: Pace::default(),
            folder: path.clone(),
            _claim: claim,
        };
        let mut first = Vec::new();
        if let Some((last, bytes)) = restored.last_journal
            && last + 1 == number
        {
            Record::Before { bytes }.push(&mut first);
        }
        files.set_fences_aside(&restored.table, &mut first);
        files.write_first(&mut first).map_err(&write)?;
        while !files.write_slice(&restored.table, lives).map_err(&write)? {}
        if let Some(snapshot) = files.snapshot.take() {
            let file = snapshot.into_file();
            // the position names this journal only when nothing before it is needed any more
            file.sync_all().and_then(|()| folder::sync_folder(&path)).map_err(&write)?;
            files.position.keep(&files.position()).map_err(&write)?;
            snapshot::finish(&file, &path, number).map_err(&write)?;
        }
        Ok(files)
    }

    /// Where the journal is now.
    fn position(&self) -> Position {
        let Self { number, length, fences_until, epoch, .. } = *self;
        Position { number, bytes: length, fences_until, epoch }
    }

    fn write_first(&mut self, first: &mut Vec<u8>) -> io::Result<()> {
        if self.replaced_by > 0 {
            Record::Replaced { by: self.replaced_by }.push(first);
        }
        Record::Mark.push(first);
        self.append(first)?;
        self.begun = self.length;
        self.journal.sync_all()?;
        self.syncs += 1;
        Ok(())
    }

    fn append(&mut self, pending: &mut Vec<u8>) -> io::Result<()> {
        self.journal.write_all(pending)?;
        self.length += pending.len() as u64;
        pending.clear();
        Ok(())
    }

    /// When [`settle`](Self::settle) has something to do although nothing changes, nanoseconds.
    pub(super) fn wake_at(&self) -> Option<u64> {
        if self.snapshot.is_some() {
            return Some(0);
        }
        let due = match (self.policy, self.unsynced_since) {
            (Policy::Interval(after), Some(since)) => Some(since + after),
            _ => None,
        };
        [due, self.look_at].into_iter().flatten().min()
    }

    /// The life of an owner is noted.
    pub(super) fn note_life(&mut self, owner: &[u8]) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.note_life(owner);
        }
    }

    /// True while a snapshot is written, or made to last.
    pub(super) fn snapshot_under_way(&self) -> bool {
        self.snapshot.is_some() || self.finishing.as_ref().is_some_and(|it| !it.is_over())
    }

    /// Writes `pending` down and makes it last as the policy says.
    pub(super) fn settle<R: Rules>(
        &mut self,
        now: u64,
        pending: &mut Vec<u8>,
        table: &Table<R>,
        lives: &mut Lives,
    ) -> io::Result<()> {
        let fences = self.set_fences_aside(table, pending);
        if !pending.is_empty() || self.look_at.is_some_and(|at| now >= at) {
            // what is written to a file that nobody will find may not be acknowledged
            self.place.check(self.length)?;
            self.look_at = Some(now.saturating_add(LOOK_NS));
        }
        self.look_at.get_or_insert(now.saturating_add(LOOK_NS));
        if !pending.is_empty() {
            Record::Mark.push(pending);
            self.append(pending)?;
            self.unsynced_since.get_or_insert(now);
        }
        let due = match (self.policy, self.unsynced_since) {
            (Policy::Interval(after), Some(since)) => now >= since + after,
            (_, since) => since.is_some(),
        };
        let keep = fences || std::mem::take(&mut self.epoch_is_new);
        if due || keep {
            self.sync()?;
        }
        if keep {
            self.position.keep(&self.position())?;
        }
        self.care_for_snapshots(table, lives)
    }

    /// What went wrong, with the folder that it went wrong in, and what to do.
    pub(super) fn named(&self, error: &io::Error) -> io::Error {
        let folder = self.folder.display();
        let remedy = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "; make room and start the server again: it has what was acknowledged"
            }
            _ => "",
        };
        io::Error::new(error.kind(), format!("the journal {folder}: {error}{remedy}"))
    }

    /// Goes on under another epoch, or with more or less of it than before.
    pub(super) fn begin_epoch(&mut self, (epoch, origin): (u64, Origin), pending: &mut Vec<u8>) {
        if (epoch, origin) != (self.epoch, self.origin) {
            (self.epoch, self.origin, self.epoch_is_new) = (epoch, origin, true);
            self.follows = origin.of_replica;
            start(self.policy, (epoch, origin), self.follows).push(pending);
        }
        if self.replaced_by > 0 {
            self.replaced(0, pending);
        }
    }

    /// Another server has taken this one's place; 0: none has any more.
    pub(super) fn replaced(&mut self, by: u64, pending: &mut Vec<u8>) {
        (self.replaced_by, self.epoch_is_new) = (by, true);
        Record::Replaced { by }.push(pending);
    }

    fn care_for_snapshots<R: Rules>(
        &mut self,
        table: &Table<R>,
        lives: &mut Lives,
    ) -> io::Result<()> {
        if self.snapshot.is_some() {
            if self.write_slice(table, lives)?
                && let Some(snapshot) = self.snapshot.take()
            {
                self.snapshot_bytes = snapshot.bytes();
                let (file, folder) = (snapshot.into_file(), self.folder.clone());
                self.finishing = Some(Finishing::begin(file, folder, self.number)?);
            }
            return Ok(());
        }
        if let Some(finishing) = self.finishing.take_if(|finishing| finishing.is_over()) {
            finishing.wait()?;
        }
        let enough = self.pace.journal_bytes.max(self.snapshot_bytes);
        if self.finishing.is_none() && self.length - self.begun > enough {
            self.turn_over()?;
        }
        Ok(())
    }

    /// Writes a slice of the snapshot; true when it is complete.
    fn write_slice<R: Rules>(&mut self, table: &Table<R>, lives: &mut Lives) -> io::Result<bool> {
        let inherited_only = self.policy == Policy::Inherited;
        match &mut self.snapshot {
            Some(it) => it.go_on(table, lives, self.pace.slice, |backup| backup || !inherited_only),
            None => Ok(true),
        }
    }

    /// What was written lasts, and the position says so.
    fn sync(&mut self) -> io::Result<()> {
        self.journal.sync_data()?;
        self.syncs += 1;
        self.unsynced_since = None;
        self.position.note(&self.position())
    }

    /// True when soon no fence number is left that may be given out.
    pub(super) fn is_short_of_fences<R: Rules>(&self, table: &Table<R>) -> bool {
        table.next_fence().saturating_add(FENCES_AHEAD / 2) > self.fences_until
    }

    /// Sees to it that no fence number that was given out is given out after a restart; true when
    /// that needs a record.
    fn set_fences_aside<R: Rules>(&mut self, table: &Table<R>, pending: &mut Vec<u8>) -> bool {
        let short = self.is_short_of_fences(table);
        if short {
            self.fences_until = table.next_fence().saturating_add(FENCES_AHEAD);
            Record::Fence(self.fences_until).push(pending);
        }
        short
    }

    /// Begins a new journal, and a snapshot to go before it. What the new journal begins with is
    /// short, however large the table is.
    fn turn_over(&mut self) -> io::Result<()> {
        self.sync()?;
        let bytes = self.length;
        self.number += 1;
        let start = start(self.policy, (self.epoch, self.origin), self.follows);
        let path = |kind| folder::path(&self.folder, self.number, kind);
        self.journal = folder::create(&path(Kind::Journal), start).map_err(io::Error::other)?;
        self.place = Place::of(&self.journal, path(Kind::Journal))?;
        self.length = self.journal.metadata()?.len();
        let file = folder::create(&path(Kind::Snapshot), start).map_err(io::Error::other)?;
        self.snapshot = Some(Snapshot::new(file));
        let mut first = Vec::new();
        Record::Before { bytes }.push(&mut first);
        Record::Fence(self.fences_until).push(&mut first);
        self.write_first(&mut first)?;
        folder::sync_folder(&self.folder)?;
        self.position.keep(&self.position())
    }

    /// Writes the last record.
    pub(super) fn close(mut self, mut pending: Vec<u8>) -> io::Result<()> {
        self.place.check(self.length)?;
        let inherited_only = self.policy == Policy::Inherited;
        let last = if inherited_only || self.follows { Record::Mark } else { Record::End };
        last.push(&mut pending);
        self.append(&mut pending)?;
        self.sync()?;
        self.finishing.take().map_or(Ok(()), Finishing::wait)
    }
}

/// What follows may have given out more than it has: a start as a primary begins another epoch.
fn start(policy: Policy, (epoch, origin): (u64, Origin), follows: bool) -> Record<'static> {
    Record::Start { epoch, complete: policy == Policy::Always && !follows, origin }
}

/// Takes away what a start has begun that could not be finished: it holds nothing that does not
/// stand in the files before it. A snapshot that is complete stays.
pub(super) fn abandon(folder: &Path, number: u64) {
    let path = |kind| folder::path(folder, number, kind);
    let snapshot = path(Kind::Snapshot);
    if snapshot.exists() && restore::is_complete(&snapshot).unwrap_or(true) {
        return;
    }
    for kind in [Kind::Snapshot, Kind::Journal] {
        // what stays is read as what a crash in the middle of a start leaves
        let _ = fs::remove_file(path(kind));
    }
}
