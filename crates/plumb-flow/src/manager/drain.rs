//! Failed executions are done again at a pace.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use serde::{Deserialize, Serialize};

use crate::answer::Failure;
use plumb_queue::{ExecutionId, Filter, Queue, QueueError, State};

/// Between two steps of a drain.
const STEP: Duration = Duration::from_millis(50);
/// Before one that the queue could not take is tried again, at most.
const BREATH_MAX: Duration = Duration::from_secs(1);
/// Executions whose ids are looked up at a time.
const PAGE: usize = 1_000;

/// How fast executions are given out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Executions a second, of all nodes together.
    pub(super) rate: u32,
    /// How many nodes those are; 1 where there are none.
    pub(super) nodes: u16,
}

/// At most one drain at a time.
#[derive(Debug, Default)]
pub(super) struct Drain(Mutex<Option<DrainProgress>>);

/// How far a drain is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct DrainProgress {
    /// Executions a second, of all nodes together.
    pub(super) rate: u32,
    /// Executions that were found.
    pub(super) found: u64,
    /// Given out again so far.
    pub(super) retried: u64,
    pub(super) ended: bool,
    /// Which one the queue could not take, and why: it is tried again until the queue does, or somebody drops it.
    #[serde(default)]
    pub(super) waits: Option<String>,
}

impl DrainProgress {
    fn new(Pace { rate, .. }: Pace, found: u64) -> Self {
        Self { rate, found, retried: 0, ended: found == 0, waits: None }
    }

    /// With that of another node.
    pub(super) fn with(&self, other: &Self) -> Self {
        Self {
            rate: self.rate.max(other.rate), // it is theirs together
            found: self.found + other.found,
            retried: self.retried + other.retried,
            ended: self.ended && other.ended,
            waits: self.waits.as_ref().or(other.waits.as_ref()).cloned(),
        }
    }
}

impl Drain {
    /// Has what `filter` finds done again at that `pace`; how many those are.
    ///
    /// # Errors
    /// [`Failure`] while another one goes on, or when the queue cannot be read.
    pub(super) fn begin(
        self: &Arc<Self>,
        queue: &Arc<dyn Queue>,
        filter: Filter,
        pace: Pace,
    ) -> Result<u64, Failure> {
        let mut progress = self.lock();
        if progress.as_ref().is_some_and(|it| !it.ended) {
            let message = "failed executions are being retried already: wait for their end";
            return Err(Failure::new(hyper::StatusCode::CONFLICT, message));
        }
        let ids = ids(&**queue, filter)?;
        let found = ids.len() as u64;
        *progress = Some(DrainProgress::new(pace, found));
        drop(progress);
        if ids.is_empty() {
            return Ok(0); // another may begin at once, which is not this one's to end
        }
        let (drain, queue) = (Arc::clone(self), Arc::clone(queue));
        std::thread::spawn(move || drain.go_on(&*queue, &ids, pace));
        Ok(found)
    }

    /// How far the last drain is; `None`: there was none.
    pub(super) fn progress(&self) -> Option<DrainProgress> {
        self.lock().clone()
    }

    /// Gives out what is due at that `pace`, until all are given out or the queue is closed. What the queue
    /// cannot take now, as on a full disk, is waited for, and the time of that makes nothing due.
    fn go_on(&self, queue: &dyn Queue, ids: &[ExecutionId], pace: Pace) {
        let mut began_ns = MonotonicClock.now_ns();
        let (mut given, mut breath) = (0, STEP);
        while given < ids.len() {
            let due = due(MonotonicClock.now_ns() - began_ns, pace).min(ids.len());
            while given < due {
                let id = ids[given];
                match queue.retry(&Filter { id: Some(id), most: 1, ..Filter::default() }) {
                    // one that was dropped meanwhile is none
                    Ok(count) => {
                        self.count(count);
                        given += 1;
                        breath = STEP;
                    }
                    Err(QueueError::Closed) => return self.end(),
                    Err(error) => {
                        let refused_ns = MonotonicClock.now_ns();
                        self.wait(format!("{id}: {error}"));
                        std::thread::park_timeout(breath);
                        breath = (2 * breath).min(BREATH_MAX);
                        began_ns += MonotonicClock.now_ns() - refused_ns;
                    }
                }
            }
            if given < ids.len() {
                std::thread::park_timeout(STEP);
            }
        }
        self.end();
    }

    fn count(&self, count: u64) {
        if let Some(progress) = &mut *self.lock() {
            progress.retried += count;
            progress.waits = None;
        }
    }

    fn wait(&self, why: String) {
        if let Some(progress) = &mut *self.lock() {
            progress.waits = Some(why);
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

/// Executions that are due at one node after `ns`; the first at once.
fn due(ns: u64, Pace { rate, nodes }: Pace) -> usize {
    let due = u128::from(ns) * u128::from(rate) / (1_000_000_000 * u128::from(nodes)) + 1;
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
            // lists go by time, and clocks differ: ids are in the order in which a queue took them
            ids.sort_unstable();
            return Ok(ids);
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::Span;
    use plumb_queue::{Ending, Kept, Message, Settled};

    use super::*;
    use crate::memory_queue::MemoryQueue;

    #[test]
    fn a_drain_that_finds_nothing_has_ended_when_it_begins() {
        let queue: Arc<dyn Queue> = Arc::new(MemoryQueue::default());
        let drain = Arc::new(Drain::default());
        let pace = Pace { rate: 1, nodes: 1 };
        assert_eq!(drain.begin(&queue, Filter::default(), pace).ok(), Some(0));
        assert!(drain.progress().unwrap().ended);
        assert_eq!(Arc::strong_count(&drain), 1, "nothing goes on that would end another");
        assert_eq!(drain.begin(&queue, Filter::default(), pace).ok(), Some(0));
    }

    #[test]
    fn a_drain_waits_for_a_queue_that_takes_nothing_now_and_ends_with_one_that_is_closed() {
        let ids = [1, 2, 3].map(ExecutionId);
        let pace = Pace { rate: 1_000, nodes: 1 };
        let drained = |queue: &MemoryQueue| {
            ids.iter().for_each(|id| {
                let ending = Ending::Dead { error: "refused".into() };
                let kept = Kept { trace: String::new(), retention: Span::from_ms(1_000) };
                let settled = Settled { id: *id, ending, kept: Some(kept) };
                queue.note(message(), settled).unwrap();
            });
            let drain = Drain::default();
            *drain.lock() = Some(DrainProgress::new(pace, 3));
            drain.go_on(queue, &ids, pace);
            drain.progress().unwrap()
        };
        let done = DrainProgress { retried: 3, ended: true, ..DrainProgress::new(pace, 3) };
        let queue = MemoryQueue::default();
        queue.refuse_retries([QueueError::Store("it is full".into())]);
        assert_eq!(drained(&queue), done);
        let queue = MemoryQueue::default();
        queue.refuse_retries([QueueError::Store("it is full".into()), QueueError::Closed]);
        let waits = Some(format!("{}: the queue cannot write: it is full", ids[0]));
        assert_eq!(drained(&queue), DrainProgress { retried: 0, waits, ..done });
    }

    fn message() -> Message {
        Message {
            transaction: "orders".into(),
            parameters: Vec::new(),
            media_type: "text/xml".into(),
            body: Vec::new().into(),
            order_key: None,
            idempotency_key: None,
        }
    }

    #[test]
    fn a_drain_gives_out_no_more_than_is_due() {
        let of = |rate, nodes| move |ns| due(ns, Pace { rate, nodes });
        let alone = of(10, 1);
        assert_eq!([0, 99_999_999, 1_000_000_000].map(alone), [1, 1, 11]);
        assert_eq!([0, 399_999_999, 1_000_000_000].map(of(10, 4)), [1, 1, 3]);
        assert_eq!(of(u32::MAX, 1)(u64::MAX), usize::MAX);
    }
}
