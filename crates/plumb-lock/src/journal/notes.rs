//! Writing changes down.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::folder::{self, Kind, files};
use super::record::Record;
use super::restore::{self, Lives, Restored};
use crate::table::{Change, Changes, Limits, Rules, Table};

/// Fence numbers set aside at once: so many grants cost one record.
const FENCES_AHEAD: u64 = 1_000_000;

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

/// What a life in the journal is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting<'a> {
    /// An owner.
    Owner(&'a [u8]),
    /// A key.
    Key(&'a [u8]),
}

/// Takes the changes of a table, and keeps what its policy says.
#[derive(Debug, Default)]
pub struct Notes {
    pending: Vec<u8>,
    /// The lives that were noted, for the next journal; some of owners and keys that are gone.
    lives: Lives,
    book: Option<Book>,
}

/// The files that are written.
#[derive(Debug)]
struct Book {
    folder: PathBuf,
    policy: Policy,
    number: u64,
    journal: File,
    written: u64,
    /// Since when something is written and not made to last, nanoseconds.
    unsynced_since: Option<u64>,
    syncs: u64,
    /// Fence numbers below this are set aside.
    fences_until: u64,
    snapshot: Option<Snapshot>,
    pace: Pace,
    /// Held for as long as the server runs.
    _lock: File,
}

/// How often snapshots are made, and in what pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// A journal of this size is followed by a snapshot, bytes.
    pub journal_bytes: u64,
    /// Places of the table that go into a snapshot between two rounds of serving.
    pub slice: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { journal_bytes: 64 << 20, slice: 10_000 }
    }
}

/// A snapshot that is being written.
#[derive(Debug)]
struct Snapshot {
    file: File,
    cursor: u32,
}

impl Notes {
    /// Takes no notes: nothing outlives the server.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads the journal in `folder`, which is made if it is not there, into a table within
    /// `limits`, and goes on writing it. `wall_us` is the wall clock, microseconds since 1970: a
    /// new epoch is at least that.
    ///
    /// # Errors
    /// [`JournalError`] when the journal cannot be read or written.
    pub fn open(
        path: &Path,
        policy: Policy,
        limits: Limits,
        wall_us: u64,
    ) -> Result<(Self, Restored), JournalError> {
        fs::create_dir_all(path).map_err(JournalError::file("make", path))?;
        let lock = folder::lock(path)?;
        let (mut restored, torn) = restore::restore(path, limits)?;
        torn.map_or(Ok(()), |torn| torn.cut_off())?;
        if policy == Policy::Inherited {
            restored.forget_all_but_inherited();
        }
        if !restored.complete || policy == Policy::Inherited {
            restored.epoch = wall_us.max(restored.epoch.saturating_add(1));
        }
        if restored.gap {
            // the numbers that were set aside may be missing; a grant takes more than 1 us
            restored.table.raise_fence(wall_us);
        }
        let old = files(path)?;
        let number = old.last().map_or(1, |(number, _, _)| number + 1);
        let begun = Self::begin(Begin { folder: path.to_owned(), policy, number, lock }, &restored);
        match begun {
            Ok(notes) => Ok((notes, restored)),
            Err(error) => {
                abandon(path, number);
                Err(error)
            }
        }
    }

    /// A new journal, and a snapshot of all there is.
    fn begin(begin: Begin, restored: &Restored) -> Result<Self, JournalError> {
        let Begin { folder: path, policy, number, lock } = begin;
        let start = Record::Start { epoch: restored.epoch, complete: policy == Policy::Always };
        let journal = folder::create(&folder::path(&path, number, Kind::Journal), start)?;
        let snapshot = folder::create(&folder::path(&path, number, Kind::Snapshot), start)?;
        let mut book = Book {
            folder: path.clone(),
            policy,
            number,
            journal,
            written: 0,
            unsynced_since: None,
            syncs: 0,
            fences_until: 0,
            snapshot: Some(Snapshot { file: snapshot, cursor: 0 }),
            pace: Pace::default(),
            _lock: lock,
        };
        let mut notes = Self { lives: restored.lives.clone(), ..Self::default() };
        notes.lives.push(&restored.table, &mut notes.pending);
        book.set_fences_aside(&restored.table, &mut notes.pending);
        Record::Mark.push(&mut notes.pending);
        let write = JournalError::file("write", &path);
        book.write(&mut notes.pending).map_err(&write)?;
        book.sync().map_err(&write)?;
        while book.snapshot.is_some() {
            book.go_on(&restored.table).map_err(&write)?;
        }
        notes.book = Some(book);
        Ok(notes)
    }

    /// Makes snapshots at another pace.
    pub fn set_pace(&mut self, pace: Pace) {
        if let Some(book) = &mut self.book {
            book.pace = pace;
        }
    }

    /// How long an owner or a key lives, milliseconds; zero: until it is released.
    pub fn life(&mut self, of: Lasting<'_>, ms: u64) {
        if self.keeps_everything() {
            let (record, lives, text) = match of {
                Lasting::Owner(owner) => {
                    (Record::Life { owner, ms }, &mut self.lives.owners, owner)
                }
                Lasting::Key(key) => (Record::Key { key, ms }, &mut self.lives.keys, key),
            };
            record.push(&mut self.pending);
            match lives.get_mut(text) {
                Some(known) => *known = ms,
                None => drop(lives.insert(text.to_vec(), ms)),
            }
        }
    }

    /// The owner lives with a connection from now on, whatever one of its name did before.
    pub fn life_with_connection(&mut self, owner: &[u8]) {
        if self.lives.owners.remove(owner).is_some() {
            Record::Life { owner, ms: Record::WITH_CONNECTION }.push(&mut self.pending);
        }
    }

    /// True when every lock outlives the server, not only what an update has inherited.
    #[must_use]
    pub fn keeps_everything(&self) -> bool {
        self.book.as_ref().is_some_and(|book| book.policy != Policy::Inherited)
    }

    /// When [`settle`](Self::settle) has something to do although nothing changes, nanoseconds.
    #[must_use]
    pub fn wake_at(&self) -> Option<u64> {
        let book = self.book.as_ref()?;
        if book.snapshot.is_some() {
            return Some(0);
        }
        match (book.policy, book.unsynced_since) {
            (Policy::Interval(after), Some(since)) => Some(since + after),
            _ => None,
        }
    }

    /// True when something was noted, or is to be, before anybody may be told of what was done.
    #[must_use]
    pub fn unsettled<R: Rules>(&self, table: &Table<R>) -> bool {
        self.book
            .as_ref()
            .is_some_and(|book| !self.pending.is_empty() || book.is_short_of_fences(table))
    }

    /// Writes down what was noted, and makes it last as the policy says. `now` is the monotonic
    /// clock.
    ///
    /// # Errors
    /// When the files cannot be written: then nobody may be told of the changes.
    pub fn settle<R: Rules>(&mut self, now: u64, table: &Table<R>, epoch: u64) -> io::Result<()> {
        let Some(book) = &mut self.book else {
            return Ok(());
        };
        let fences = book.set_fences_aside(table, &mut self.pending);
        if !self.pending.is_empty() {
            Record::Mark.push(&mut self.pending);
            book.write(&mut self.pending)?;
            book.unsynced_since.get_or_insert(now);
        }
        let due = match (book.policy, book.unsynced_since) {
            (Policy::Interval(after), Some(since)) => now >= since + after,
            (_, since) => since.is_some(),
        };
        if due || fences {
            book.sync()?;
        }
        if book.snapshot.is_some() {
            book.go_on(table)
        } else if book.written > book.pace.journal_bytes {
            let mut first = Vec::new();
            self.lives.push(table, &mut first);
            book.turn_over(epoch, first)
        } else {
            Ok(())
        }
    }

    /// The server stops in order: nothing is missing.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn close(mut self) -> io::Result<()> {
        let Some(mut book) = self.book.take() else {
            return Ok(());
        };
        let inherited_only = book.policy == Policy::Inherited;
        let last = if inherited_only { Record::Mark } else { Record::End };
        last.push(&mut self.pending);
        book.write(&mut self.pending)?;
        book.sync()
    }

    /// Times the journal was made to last.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.book.as_ref().map_or(0, |book| book.syncs)
    }

    /// The policy, in a word.
    #[must_use]
    pub fn policy_name(&self) -> &'static str {
        match self.book.as_ref().map(|book| book.policy) {
            None => "off",
            Some(Policy::Inherited) => "none",
            Some(Policy::Interval(_)) => "interval",
            Some(Policy::Always) => "always",
        }
    }
}

/// What a start writes to.
struct Begin {
    folder: PathBuf,
    policy: Policy,
    number: u64,
    lock: File,
}

/// Takes away what a start has begun that could not be finished: it holds nothing that does not
/// stand in the files before it. A snapshot that is complete stays.
fn abandon(folder: &Path, number: u64) {
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

impl Changes for Notes {
    #[inline]
    fn note(&mut self, change: Change<'_>) {
        let Some(book) = &self.book else {
            return;
        };
        let backup = match &change {
            Change::Lock(lock) => lock.backup,
            Change::Cleared { backup, .. } => *backup,
        };
        if backup || book.policy != Policy::Inherited {
            Record::Change(change).push(&mut self.pending);
        }
    }
}

impl Book {
    fn write(&mut self, pending: &mut Vec<u8>) -> io::Result<()> {
        self.journal.write_all(pending)?;
        self.written += pending.len() as u64;
        pending.clear();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.journal.sync_data()?;
        self.syncs += 1;
        self.unsynced_since = None;
        Ok(())
    }

    /// True when soon no fence number is left that may be given out.
    fn is_short_of_fences<R: Rules>(&self, table: &Table<R>) -> bool {
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

    /// Begins a new journal, with the records `first`, and a snapshot to go before it.
    fn turn_over(&mut self, epoch: u64, mut first: Vec<u8>) -> io::Result<()> {
        self.sync()?;
        self.number += 1;
        let start = Record::Start { epoch, complete: self.policy == Policy::Always };
        let path = |kind| folder::path(&self.folder, self.number, kind);
        self.journal = folder::create(&path(Kind::Journal), start).map_err(io::Error::other)?;
        let file = folder::create(&path(Kind::Snapshot), start).map_err(io::Error::other)?;
        self.snapshot = Some(Snapshot { file, cursor: 0 });
        self.written = 0;
        Record::Fence(self.fences_until).push(&mut first);
        Record::Mark.push(&mut first);
        self.write(&mut first)?;
        self.sync()?;
        folder::sync_folder(&self.folder)
    }

    /// Writes a slice of the snapshot. Locks change while it is written; what has changed stands
    /// in the journal of the same number, too, as it is in the end.
    fn go_on<R: Rules>(&mut self, table: &Table<R>) -> io::Result<()> {
        let Some(snapshot) = &mut self.snapshot else {
            return Ok(());
        };
        let inherited_only = self.policy == Policy::Inherited;
        let mut bytes = Vec::new();
        let page = table.page(snapshot.cursor, self.pace.slice, |lock| {
            if lock.backup || !inherited_only {
                Record::Change(Change::Lock(*lock)).push(&mut bytes);
            }
            true
        });
        if page.next.is_none() {
            Record::End.push(&mut bytes);
        }
        snapshot.file.write_all(&bytes)?;
        match page.next {
            Some(cursor) => snapshot.cursor = cursor,
            None => self.finish_snapshot()?,
        }
        Ok(())
    }

    /// The snapshot is complete: what came before it is not needed any more.
    fn finish_snapshot(&mut self) -> io::Result<()> {
        if let Some(snapshot) = self.snapshot.take() {
            snapshot.file.sync_all()?;
        }
        self.journal.sync_all()?;
        folder::sync_folder(&self.folder)?;
        for (number, _, path) in files(&self.folder).map_err(io::Error::other)? {
            if number < self.number {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}
