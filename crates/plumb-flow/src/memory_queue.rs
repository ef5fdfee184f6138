//! A queue in memory, for tests of what stands on one: the same rules without a disk.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plumb_engine::clock::wall_ns;
use plumb_measure::Span;
use tokio::sync::oneshot;

use plumb_queue::{
    Accepted, Claimed, Ending, Execution, ExecutionId, Filter, Message, Queue, QueueError,
    QueueFigures, QueueId, Settled, State,
};

/// Executions by their ids.
#[derive(Debug, Default)]
pub(crate) struct MemoryQueue {
    state: Mutex<Kept>,
    changed: Condvar,
    /// Messages that may wait; 0: any number.
    limit: u64,
}

#[derive(Debug, Default)]
struct Kept {
    executions: BTreeMap<ExecutionId, Execution>,
    last: u64,
    accepted: u64,
    closed: bool,
    /// How the next retries end.
    refusals: VecDeque<QueueError>,
}

impl MemoryQueue {
    /// One in which at most `limit` messages wait.
    pub(crate) fn of(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Has the next retries end so, one after the other.
    pub(crate) fn refuse_retries(&self, errors: impl IntoIterator<Item = QueueError>) {
        self.lock().refusals.extend(errors);
    }

    /// What `look` finds among the executions, as soon as it does.
    pub(crate) fn wait_for<T>(
        &self,
        patience: Duration,
        look: impl Fn(&BTreeMap<ExecutionId, Execution>) -> Option<T>,
    ) -> T {
        let mut kept = self.lock();
        loop {
            if let Some(found) = look(&kept.executions) {
                return found;
            }
            let (next, waited) =
                self.changed.wait_timeout(kept, patience).unwrap_or_else(PoisonError::into_inner);
            kept = next;
            assert!(!waited.timed_out(), "waited {patience:?} in vain");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_in(&self, message: Message) -> Result<Accepted, QueueError> {
        let mut kept = self.lock();
        let known = kept.executions.values().find(|it| {
            message.idempotency_key.is_some()
                && it.message.idempotency_key == message.idempotency_key
        });
        if let Some(first) = known {
            return Ok(Accepted { id: first.id, repeated: true });
        }
        let waiting = kept.count(State::Waiting);
        if self.limit > 0 && waiting >= self.limit {
            return Err(QueueError::Full { waiting, bytes: 0 });
        }
        let id = kept.next();
        kept.accepted += 1;
        kept.executions.insert(id, execution(id, message, State::Waiting));
        self.changed.notify_all();
        Ok(Accepted { id, repeated: false })
    }
}

fn execution(id: ExecutionId, message: Message, state: State) -> Execution {
    let bytes = message.body.len() as u64;
    Execution {
        id,
        state,
        accepted_ms: id.accepted_ms(),
        message,
        bytes,
        failures: 0,
        error: None,
        trace: None,
        at_ms: None,
    }
}

fn now_ms() -> u64 {
    wall_ns() / 1_000_000
}

impl Kept {
    fn next(&mut self) -> ExecutionId {
        self.last = (self.last + 1).max(now_ms() << 20);
        ExecutionId(self.last)
    }

    fn count(&self, state: State) -> u64 {
        self.executions.values().filter(|it| it.state == state).count() as u64
    }

    fn found(&self, filter: &Filter) -> Vec<ExecutionId> {
        let fits = |it: &&Execution| {
            filter.id.is_none_or(|id| it.id == id)
                && filter.state.is_none_or(|state| it.state == state)
                && filter.transaction.as_ref().is_none_or(|name| *name == *it.message.transaction)
                && filter.before.is_none_or(|id| it.id < id)
        };
        let found = self.executions.values().rev().filter(fits);
        found.take(filter.most).map(|it| it.id).collect()
    }

    fn settle(&mut self, Settled { id, ending, kept }: Settled) {
        let Some(execution) = self.executions.get_mut(&id) else { return };
        execution.trace = kept.map(|it| it.trace);
        match ending {
            Ending::Done if execution.trace.is_none() => {
                self.executions.remove(&id);
            }
            Ending::Done => {
                (execution.state, execution.at_ms) = (State::Done, Some(now_ms()));
            }
            Ending::Again { error, after } => {
                execution.failures += 1;
                execution.error = Some(error);
                execution.state = State::Waiting;
                execution.at_ms = Some(now_ms() + after.ns() / 1_000_000);
            }
            Ending::Dead { error } => {
                execution.failures += 1;
                execution.error = Some(error);
                (execution.state, execution.at_ms) = (State::Failed, Some(now_ms()));
            }
        }
    }
}

impl Queue for MemoryQueue {
    fn id(&self) -> QueueId {
        QueueId(1)
    }

    fn accept(&self, message: Message) -> oneshot::Receiver<Result<Accepted, QueueError>> {
        let (tell, told) = oneshot::channel();
        let _ = tell.send(self.take_in(message));
        told
    }

    fn claim(&self, most: usize, patience: Duration) -> Result<Vec<Claimed>, QueueError> {
        let mut kept = self.lock();
        loop {
            if kept.closed {
                return Err(QueueError::Closed);
            }
            let now = now_ms();
            let due = kept
                .executions
                .values_mut()
                .filter(|it| it.state == State::Waiting && it.at_ms.is_none_or(|at| at <= now));
            let claimed: Vec<Claimed> = due
                .take(most)
                .map(|it| {
                    it.state = State::Running;
                    Claimed {
                        id: it.id,
                        failures: it.failures,
                        accepted_ms: it.accepted_ms,
                        message: it.message.clone(),
                    }
                })
                .collect();
            if !claimed.is_empty() {
                return Ok(claimed);
            }
            let (next, waited) =
                self.changed.wait_timeout(kept, patience).unwrap_or_else(PoisonError::into_inner);
            kept = next;
            if waited.timed_out() {
                return Ok(Vec::new());
            }
        }
    }

    fn settle(&self, settled: Vec<Settled>) -> Result<(), QueueError> {
        let mut kept = self.lock();
        settled.into_iter().for_each(|it| kept.settle(it));
        self.changed.notify_all();
        Ok(())
    }

    fn note(&self, message: Message, settled: Settled) -> Result<(), QueueError> {
        let mut kept = self.lock();
        kept.executions.insert(settled.id, execution(settled.id, message, State::Running));
        kept.settle(settled);
        Ok(())
    }

    fn find(&self, id: ExecutionId) -> Result<Option<Execution>, QueueError> {
        Ok(self.lock().executions.get(&id).cloned())
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Execution>, QueueError> {
        let kept = self.lock();
        let found = kept.found(filter).into_iter().filter_map(|id| kept.executions.get(&id));
        Ok(found.cloned().collect())
    }

    fn retry(&self, filter: &Filter) -> Result<u64, QueueError> {
        let mut kept = self.lock();
        if let Some(refusal) = kept.refusals.pop_front() {
            return Err(refusal);
        }
        let mut count = 0;
        for id in kept.found(&Filter { state: Some(State::Failed), ..filter.clone() }) {
            if let Some(execution) = kept.executions.get_mut(&id) {
                (execution.state, execution.failures) = (State::Waiting, 0);
                (execution.at_ms, execution.error) = (None, None);
                count += 1;
            }
        }
        self.changed.notify_all();
        Ok(count)
    }

    fn forget(&self, filter: &Filter) -> Result<u64, QueueError> {
        let mut kept = self.lock();
        let mut count = 0;
        for id in kept.found(filter) {
            if kept.executions.get(&id).is_some_and(|it| it.state != State::Running) {
                kept.executions.remove(&id);
                count += 1;
            }
        }
        Ok(count)
    }

    fn figures(&self) -> QueueFigures {
        let kept = self.lock();
        QueueFigures {
            waiting: kept.count(State::Waiting) + kept.count(State::Running),
            running: kept.count(State::Running),
            failed: kept.count(State::Failed),
            accepted: kept.accepted,
            ..QueueFigures::default()
        }
    }

    fn next_id(&self) -> ExecutionId {
        self.lock().next()
    }

    fn rest(&self, _: &str, _: Span) {}

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}
