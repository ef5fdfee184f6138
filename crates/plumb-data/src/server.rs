//! A data server: its pool, its table of messages that are done, and the words of its refusals.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_serve::database::{Database, DatabaseError};

use super::Origin;
use super::done::DoneTable;
use super::file::ServerPlan;
use super::pool::{Lease, Pool};
use plumb_queue::ExecutionId;
use plumb_transaction::OutsideError;

/// Messages that are to be done alone, at most.
const ALONE_MAX: usize = 10_000;
/// Characters of a statement that an error shows.
const SHOWN: usize = 80;

/// How what is done ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitMode {
    /// Committed, with the ids of the messages: one that is given out again is not done again.
    Recorded,
    /// Committed: a message that comes once.
    Direct,
    /// Undone, each statement having been done at once.
    Trial,
}

/// A data server.
#[derive(Debug)]
pub(super) struct DataServer {
    pub(super) pool: Arc<Pool>,
    done: DoneTable,
    /// Messages whose transaction was refused at its end, with others in it.
    alone: Mutex<BTreeSet<ExecutionId>>,
}

impl DataServer {
    pub(super) fn new(plan: ServerPlan) -> Self {
        let (done, alone) = (DoneTable::default(), Mutex::default());
        Self { pool: Arc::new(Pool::new(plan)), done, alone }
    }

    /// A session in a new transaction.
    pub(super) fn begun(&self, way: CommitMode) -> Result<Lease, OutsideError> {
        let mut lease = self.pool.take()?;
        let begun = match way {
            CommitMode::Recorded => self.done.make(&mut lease).and_then(|()| lease.begin()),
            CommitMode::Direct | CommitMode::Trial => lease.begin(),
        };
        // whatever the reason, no message is to blame
        begun.map_err(|error| self.lost(&error))?;
        Ok(lease)
    }

    /// Takes note of `ids` in the transaction that is open; those that were not there before.
    pub(super) fn note(
        &self,
        database: &mut Database,
        origin: &Origin,
        ids: &[ExecutionId],
    ) -> Result<BTreeSet<ExecutionId>, DatabaseError> {
        self.done.note(database, origin, ids)
    }

    /// Messages could not be recorded: the next transaction looks first whether their table is there.
    pub(super) fn doubt_record(&self) {
        self.done.doubt();
    }

    /// Which of `ids` the database has seen.
    pub(super) fn find(
        &self,
        origin: &Origin,
        ids: &[ExecutionId],
    ) -> Result<BTreeSet<ExecutionId>, OutsideError> {
        let mut lease = self.pool.take()?;
        let found = self.done.noted(&mut lease, origin, ids);
        found.map_err(|error| self.lost(&error))
    }

    /// Forgets messages that were done long ago.
    pub(super) fn forget(&self, database: &mut Database) {
        // it is tried again in an hour
        let _ = self.done.forget(database, self.pool.plan().retention);
    }

    /// One session has had no answer since `since_ns`, nanoseconds on the monotonic clock, which says nothing where
    /// another one was answered meanwhile.
    pub(super) fn was_silent(&self, since_ns: u64, why: &DatabaseError) {
        if self.pool.plan().target.answered_ns() <= since_ns {
            self.pool.presence().failed(why);
        }
    }

    /// What the database said of a statement that the transaction itself needs: no message is to blame.
    pub(super) fn lost(&self, error: &DatabaseError) -> OutsideError {
        if matches!(error, DatabaseError::Silent(_)) {
            let limit_ns = self.pool.plan().target.limits().statement.ns();
            self.was_silent(MonotonicClock.now_ns().saturating_sub(limit_ns), error);
        }
        OutsideError::Lost(self.pool.said(error))
    }

    /// What the database said of the statement `text` of a message.
    pub(super) fn outside(&self, error: &DatabaseError, text: &str) -> OutsideError {
        match error {
            DatabaseError::Lost(_)
            | DatabaseError::Silent(_)
            | DatabaseError::BrokenOff(_)
            | DatabaseError::RolledBack(_) => self.lost(error),
            DatabaseError::Refused(_) | DatabaseError::Nul => {
                let said = self.pool.said(error);
                let mut shown: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
                if let Some((at, _)) = shown.char_indices().nth(SHOWN) {
                    shown.truncate(at);
                    shown.push_str("...");
                }
                OutsideError::Refused(format!("{said}; the statement is: {shown}"))
            }
        }
    }

    /// The message is done alone when it comes again.
    pub(super) fn leave_alone(&self, id: ExecutionId) {
        let mut alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        if alone.len() < ALONE_MAX {
            alone.insert(id);
        }
    }

    /// True once for a message that is to be done alone.
    pub(super) fn takes_alone(&self, id: ExecutionId) -> bool {
        self.alone.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }
}
