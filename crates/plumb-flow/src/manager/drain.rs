//! Failed executions are done again at a pace.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use serde::Serialize;

use crate::doors::Failure;
use plumb_queue::{ExecutionId, Filter, Queue, State};

/// Between two steps of a drain.
const STEP: std::time::Duration = std::time::Duration::from_millis(50);
/// Executions whose ids are looked up at a time.
const PAGE: usize = 1_000;

/// At most one drain at a time.
#[derive(Debug, Default)]
pub(super) struct Drain(Mutex<Option<DrainProgress>>);

/// How far a drain is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct DrainProgress {
    /// Executions a second.
    pub(super) rate: u32,
    /// Executions that were found.
    pub(super) found: u64,
    /// Given out again so far.
    pub(super) retried: u64,
    pub(super) ended: bool,
}

impl Drain {
    /// Has what `filter` finds done again, `rate` a second; how many those are.
    ///
    /// # Errors
    /// [`Failure`] while another one goes on, or when the queue cannot be read.
    pub(super) fn begin(
        self: &Arc<Self>,
        queue: &Arc<dyn Queue>,
        filter: Filter,
        rate: u32,
    ) -> Result<u64, Failure> {
        let mut progress = self.lock();
        if progress.as_ref().is_some_and(|it| !it.ended) {
            let message = "failed executions are being retried already: wait for their end";
            return Err(Failure::new(hyper::StatusCode::CONFLICT, message));
        }
        let ids = ids(&**queue, filter)?;
        let found = ids.len() as u64;
        *progress = Some(DrainProgress { rate, found, retried: 0, ended: found == 0 });
        drop(progress);
        let (drain, queue) = (Arc::clone(self), Arc::clone(queue));
        std::thread::spawn(move || drain.go_on(&*queue, &ids, rate));
        Ok(found)
    }

    /// How far the last drain is; `None`: there was none.
    pub(super) fn progress(&self) -> Option<DrainProgress> {
        self.lock().clone()
    }

    /// Gives out what is due at `rate`, until all are given out or the queue is closed.
    fn go_on(&self, queue: &dyn Queue, ids: &[ExecutionId], rate: u32) {
        let began_ns = MonotonicClock.now_ns();
        let mut given = 0;
        while given < ids.len() {
            let due = due(MonotonicClock.now_ns() - began_ns, rate).min(ids.len());
            for id in &ids[given..due] {
                let filter = Filter { id: Some(*id), most: 1, ..Filter::default() };
                match queue.retry(&filter) {
                    // one that was dropped meanwhile is none
                    Ok(count) => self.count(count),
                    Err(_) => return self.end(),
                }
            }
            given = due;
            if given < ids.len() {
                std::thread::park_timeout(STEP);
            }
        }
        self.end();
    }

    fn count(&self, count: u64) {
        if let Some(progress) = &mut *self.lock() {
            progress.retried += count;
        }
    }

    fn end(&self) {
        if let Some(progress) = &mut *self.lock() {
            progress.ended = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<DrainProgress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Executions that are due after `ns` at `rate` a second; the first at once.
fn due(ns: u64, rate: u32) -> usize {
    let due = u128::from(ns) * u128::from(rate) / 1_000_000_000 + 1;
    usize::try_from(due).unwrap_or(usize::MAX)
}

/// Failed executions that `filter` finds, the oldest first.
fn ids(queue: &dyn Queue, filter: Filter) -> Result<Vec<ExecutionId>, Failure> {
    let mut ids = Vec::new();
    let mut filter = Filter { state: Some(State::Failed), most: PAGE, ..filter };
    loop {
        let page = queue.list(&filter)?;
        filter.before = page.last().map(|it| it.id);
        let is_last = page.len() < PAGE;
        ids.extend(page.into_iter().map(|it| it.id));
        if is_last {
            ids.reverse();
            return Ok(ids);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_gives_out_no_more_than_is_due() {
        assert_eq!(due(0, 10), 1);
        assert_eq!(due(99_999_999, 10), 1);
        assert_eq!(due(1_000_000_000, 10), 11);
        assert_eq!(due(u64::MAX, u32::MAX), usize::MAX);
    }
}
