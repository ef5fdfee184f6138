//! Writing changes down.

use std::fs;
use std::io;
use std::path::Path;

use super::error::JournalError;
use super::files::{Begin, JournalFiles, Pace, Policy, abandon};
use super::folder::files;
use super::origin::Origin;
use super::place::Claim;
use super::record::Record;
use super::restore::{self, Lives, Restored};
use crate::table::{Change, Changes, Limits, Rules, Table};

/// Room for a batch that is kept when more was needed once.
const BATCH_KEPT: usize = 1 << 20;

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
    /// The lives that were noted, for the next snapshot; some of owners and keys that are gone.
    lives: Lives,
    files: Option<JournalFiles>,
    /// The same for a replica, which has everything whatever the policy says; `None` without one.
    batch: Option<Vec<u8>>,
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
        let claim = Claim::take(path)?;
        let (mut restored, torn) = restore::restore(path, limits)?;
        if let Some(torn) = torn {
            if restored.lost.is_some() {
                torn.set_aside()?; // somebody was told of it
            }
            torn.cut_off()?;
        }
        if policy == Policy::Inherited {
            restored.forget_all_but_inherited();
        }
        if !restored.complete || policy == Policy::Inherited {
            restored.epoch = wall_us.max(restored.epoch.saturating_add(1));
        }
        let forgets = policy == Policy::Inherited && restored.origin.epoch > 0;
        if restored.lost.is_some() || forgets {
            restored.origin = restored.origin.lossy();
        }
        if restored.lost.is_some() || restored.origin.of_replica {
            // numbers that were set aside, or given out elsewhere, may be missing; a grant takes more
            // than 1 us
            restored.table.raise_fence(wall_us);
        }
        let old = files(path)?;
        let number = old.last().map_or(1, |(number, _, _)| number + 1).max(restored.number_next);
        let mut lives = restored.lives.clone();
        let begin = Begin { folder: path.to_owned(), policy, number, claim };
        match JournalFiles::begin(begin, &restored, &mut lives) {
            Ok(files) => {
                let notes = Self { lives, files: Some(files), ..Self::default() };
                Ok((notes, restored))
            }
            Err(error) => {
                abandon(path, number);
                Err(error)
            }
        }
    }

    /// Makes snapshots at another pace.
    pub fn set_pace(&mut self, pace: Pace) {
        if let Some(files) = &mut self.files {
            files.pace = pace;
        }
    }

    /// How long an owner or a key lives, milliseconds; zero: until it is released.
    pub fn life(&mut self, of: Lasting<'_>, ms: u64) {
        if let Some(batch) = &mut self.batch {
            match of {
                Lasting::Owner(owner) => Record::Life { owner, ms }.push_bare(batch),
                Lasting::Key(key) => Record::Key { key, ms }.push_bare(batch),
            }
        }
        if self.keeps_everything() {
            if let (Lasting::Owner(owner), Some(files)) = (of, &mut self.files) {
                files.note_life(owner);
            }
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

    /// The owner lives with a connection from now on, whatever one of its name did before. A
    /// replica forgets that by itself, with the owner's last lock.
    pub fn life_with_connection(&mut self, owner: &[u8]) {
        let known = self.lives.owners.remove(owner).is_some();
        // a snapshot that is not finished may have forgotten what the files before it say
        if known || self.keeps_everything() && self.snapshot_under_way() {
            Record::Life { owner, ms: Record::WITH_CONNECTION }.push(&mut self.pending);
        }
    }

    /// From now on, or no more, changes are noted for a replica, too.
    pub fn note_batches(&mut self, wanted: bool) {
        self.batch = wanted.then(|| self.batch.take().unwrap_or_default());
    }

    /// What was noted for a replica since the last time: bare records.
    pub fn take_batch(&mut self) -> Vec<u8> {
        let Some(batch) = &mut self.batch else {
            return Vec::new();
        };
        // a copy: what is kept for long is no memory that is at hand, and records are written there
        let taken = batch.clone();
        batch.clear();
        batch.shrink_to(BATCH_KEPT);
        taken
    }

    /// Bytes that are noted for a replica.
    #[must_use]
    pub fn batch_bytes(&self) -> usize {
        self.batch.as_ref().map_or(0, Vec::len)
    }

    /// Somebody has decided for this epoch, under which this server goes on. That lasts before
    /// anybody is told of it.
    pub fn decide_for(&mut self, epoch: u64) {
        self.begin_epoch(epoch, Origin::own(epoch));
    }

    /// A replica has released everything, and gets what its primary has under this epoch.
    pub fn begin_filling(&mut self, epoch: u64) {
        self.begin_epoch(epoch, Origin::of_replica(0));
    }

    /// A replica has whatever its primary told anybody of under this epoch.
    pub fn filled(&mut self, epoch: u64) {
        self.begin_epoch(epoch, Origin::of_replica(epoch));
    }

    /// Another server with this epoch has taken this one's place: it gives nothing out when it is
    /// started again, either.
    pub fn replaced(&mut self, by: u64) {
        if let Some(files) = &mut self.files {
            files.replaced(by, &mut self.pending);
        }
    }

    fn begin_epoch(&mut self, epoch: u64, origin: Origin) {
        if let Some(files) = &mut self.files {
            files.begin_epoch((epoch, origin), &mut self.pending);
        }
    }

    /// True when every lock outlives the server, not only what an update has inherited.
    #[must_use]
    pub fn keeps_everything(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.policy != Policy::Inherited)
    }

    /// True when only what an update has inherited outlives the server.
    #[must_use]
    pub fn keeps_inherited_only(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.policy == Policy::Inherited)
    }

    /// True when every turn with changes waits until they last.
    #[must_use]
    pub fn syncs_every_turn(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.policy == Policy::Always)
    }

    /// When [`settle`](Self::settle) has something to do although nothing changes, nanoseconds.
    #[must_use]
    pub fn wake_at(&self) -> Option<u64> {
        self.files.as_ref()?.wake_at()
    }

    /// True while a snapshot is written, or made to last.
    #[must_use]
    pub fn snapshot_under_way(&self) -> bool {
        self.files.as_ref().is_some_and(JournalFiles::snapshot_under_way)
    }

    /// Bytes that are noted and not written down yet.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// True when something was noted, or is to be, before anybody may be told of what was done.
    #[must_use]
    pub fn unsettled<R: Rules>(&self, table: &Table<R>) -> bool {
        self.files
            .as_ref()
            .is_some_and(|files| !self.pending.is_empty() || files.is_short_of_fences(table))
    }

    /// Writes down what was noted, and makes it last as the policy says. `now` is the monotonic
    /// clock.
    ///
    /// # Errors
    /// When the files cannot be written, or are not where they were any more: then nobody may be
    /// told of the changes.
    pub fn settle<R: Rules>(&mut self, now: u64, table: &Table<R>) -> io::Result<()> {
        let Self { pending, lives, files, .. } = self;
        let Some(files) = files else {
            return Ok(());
        };
        files.settle(now, pending, table, lives).map_err(|error| files.named(&error))
    }

    /// The server stops in order: nothing is missing.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn close(mut self) -> io::Result<()> {
        self.files.take().map_or(Ok(()), |files| files.close(std::mem::take(&mut self.pending)))
    }

    /// Times the journal was made to last.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.files.as_ref().map_or(0, |files| files.syncs)
    }

    /// The policy, in a word.
    #[must_use]
    pub fn policy_name(&self) -> &'static str {
        match self.files.as_ref().map(|files| files.policy) {
            None => "off",
            Some(Policy::Inherited) => "none",
            Some(Policy::Interval(_)) => "interval",
            Some(Policy::Always) => "always",
        }
    }
}

impl Changes for Notes {
    #[inline]
    fn listens(&self) -> bool {
        self.batch.is_some() || self.files.is_some()
    }

    #[inline]
    fn note(&mut self, change: Change<'_>) {
        if let Some(batch) = &mut self.batch {
            Record::Change(change).push_bare(batch);
        }
        let Some(files) = &self.files else {
            return;
        };
        let backup = match &change {
            Change::Lock(lock) => lock.backup,
            Change::Cleared { backup, .. } => *backup,
        };
        if backup || files.policy != Policy::Inherited {
            Record::Change(change).push(&mut self.pending);
        }
    }
}
