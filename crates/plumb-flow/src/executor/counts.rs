//! How executions ended, since the server began.

use std::sync::atomic::{AtomicU64, Ordering};

use plumb_transaction::SessionTimes;
use serde::{Deserialize, Serialize};

use super::inside::ActionTime;

/// Counters of executions of one way: synchronous ones, or those of the queue.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    done: AtomicU64,
    again: AtomicU64,
    failed: AtomicU64,
    queue_ns: AtomicU64,
    execution_ns: AtomicU64,
    data_ns: AtomicU64,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    Done,
    Again,
    Failed,
}

/// Where the time of an execution went, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timings {
    /// Waiting for a thread.
    pub(crate) queue_ns: u64,
    /// In the thread, the commit included.
    pub(crate) execution_ns: u64,
    /// Of that, at data servers and back ends.
    pub(crate) data_ns: u64,
    /// Of the time in the thread, in the commit.
    pub(crate) commit_ns: u64,
    /// Of the commit, what was no work of the data servers.
    pub(crate) commit: SessionTimes,
    /// Of the time in the thread, in each of the outermost actions.
    pub(crate) actions: Vec<ActionTime>,
}

/// What the counters say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct CountFigures {
    /// Executions that are done.
    pub(crate) done: u64,
    /// Attempts that failed and are tried again.
    pub(crate) again: u64,
    /// Executions that failed for good.
    pub(crate) failed: u64,
    /// Time of all of them, waiting for a thread; of those of the queue it is not known.
    pub(crate) queue_ns: u64,
    /// In threads.
    pub(crate) execution_ns: u64,
    /// Of that, outside.
    pub(crate) data_ns: u64,
}

impl CountFigures {
    /// Those of another node, too.
    pub(crate) fn add(&mut self, other: &Self) {
        self.done += other.done;
        self.again += other.again;
        self.failed += other.failed;
        self.queue_ns += other.queue_ns;
        self.execution_ns += other.execution_ns;
        self.data_ns += other.data_ns;
    }
}

impl Counts {
    pub(super) fn ended(&self, end: AttemptEnd, timings: &Timings) {
        let counter = match end {
            AttemptEnd::Done => &self.done,
            AttemptEnd::Again => &self.again,
            AttemptEnd::Failed => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.queue_ns.fetch_add(timings.queue_ns, Ordering::Relaxed);
        self.execution_ns.fetch_add(timings.execution_ns, Ordering::Relaxed);
        self.data_ns.fetch_add(timings.data_ns, Ordering::Relaxed);
    }

    pub(crate) fn figures(&self) -> CountFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CountFigures {
            done: read(&self.done),
            again: read(&self.again),
            failed: read(&self.failed),
            queue_ns: read(&self.queue_ns),
            execution_ns: read(&self.execution_ns),
            data_ns: read(&self.data_ns),
        }
    }
}
