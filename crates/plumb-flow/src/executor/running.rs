//! Executions that are under way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumb_engine::clock::{MonotonicClock, wall_ns};
use plumb_measure::Clock as _;

use plumb_queue::ExecutionId;

/// Executions that are under way, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<BTreeMap<ExecutionId, UnderWay>>);

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct UnderWay {
    pub(crate) transaction: Arc<str>,
    /// Of the transactions that it began with.
    pub(crate) digest: String,
    /// True when it came through the queue.
    pub(crate) queued: bool,
    /// In milliseconds since 1970.
    pub(crate) began_ms: u64,
    began_ns: u64,
}

impl UnderWay {
    /// How long it has been under way.
    pub(crate) fn age_ns(&self) -> u64 {
        MonotonicClock.now_ns().saturating_sub(self.began_ns)
    }
}

/// Listed until it is dropped.
#[derive(Debug)]
pub(super) struct Listed<'a>(&'a Running, ExecutionId);

impl Running {
    /// Lists an execution that begins now.
    pub(super) fn list(
        &self,
        id: ExecutionId,
        transaction: &Arc<str>,
        digest: &str,
        queued: bool,
    ) -> Listed<'_> {
        let under_way = UnderWay {
            transaction: Arc::clone(transaction),
            digest: digest.into(),
            queued,
            began_ms: wall_ns() / 1_000_000,
            began_ns: MonotonicClock.now_ns(),
        };
        self.lock().insert(id, under_way);
        Listed(self, id)
    }

    /// All of them, the oldest first.
    pub(crate) fn all(&self) -> Vec<(ExecutionId, UnderWay)> {
        self.lock().iter().map(|(id, it)| (*id, it.clone())).collect()
    }

    /// One of them.
    pub(crate) fn find(&self, id: ExecutionId) -> Option<UnderWay> {
        self.lock().get(&id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, UnderWay>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}
