//! Executions: threads for synchronous calls, and queue workers for messages of the queue.

mod calls;
mod counts;
mod execution;
mod outsides;
mod pool;
mod running;
mod trace;
mod worker;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};
use tokio::sync::oneshot;

use self::calls::{Call, Calls};
use self::counts::AttemptEnd;
use self::execution::{Attempt, attempt, commit};
use crate::live::Live;
use crate::log::Log;
use crate::transaction::{Completed, Failed, Retry, UnitOfWork};
use plumb_queue::{Ending, ExecutionId, Message, Queue, Settled};

pub(crate) use counts::{CountFigures, Counts, Timings};
pub(crate) use outsides::Outsides;
pub(crate) use pool::{Pool, PoolFigures};
pub(crate) use running::{Running, UnderWay};

type Unit = Box<dyn UnitOfWork + Send>;

/// Sizes of the pools, and what else can be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecutorSettings {
    /// Threads for synchronous calls.
    pub(crate) executions: usize,
    /// Calls that may wait for one of them.
    pub(crate) calls: usize,
    /// Threads for messages of the queue.
    pub(crate) workers: usize,
    /// Messages that a worker does in one unit of work, at most.
    pub(crate) batch: usize,
    /// When a message is tried again whose transaction says nothing of it.
    pub(crate) retry: Retry,
    /// Bytes of a trace.
    pub(crate) trace_size: usize,
}

/// How a synchronous call went.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) id: ExecutionId,
    pub(crate) result: Result<Completed, Failed>,
    pub(crate) timings: Timings,
}

/// As many calls wait as may, or the server stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{waiting} calls wait for an execution, as many as may (executions.queue)")]
pub(crate) struct Crowded {
    pub(crate) waiting: usize,
}

/// What the threads share.
pub(crate) struct Executor {
    pub(crate) settings: ExecutorSettings,
    pub(crate) live: Arc<Live>,
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) running: Running,
    pub(crate) synchronous: Counts,
    pub(crate) queued: Counts,
    pub(crate) executions: Pool,
    pub(crate) workers: Pool,
    outsides: Arc<dyn Outsides>,
    calls: Calls,
    closing: AtomicBool,
    log: Arc<Log>,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Nobody has one: a channel of them tells only that its other end is gone.
#[derive(Debug)]
pub(crate) enum Never {}

impl Executor {
    pub(crate) fn new(
        settings: ExecutorSettings,
        live: Arc<Live>,
        queue: Arc<dyn Queue>,
        outsides: Arc<dyn Outsides>,
        log: Arc<Log>,
    ) -> Self {
        Self {
            live,
            queue,
            running: Running::default(),
            synchronous: Counts::default(),
            queued: Counts::default(),
            executions: Pool::new(settings.executions),
            workers: Pool::new(settings.workers),
            outsides,
            calls: Calls::new(settings.calls),
            closing: AtomicBool::new(false),
            log,
            settings,
        }
    }

    /// Starts the threads; what comes back is silent until the last of them has ended. Nobody waits
    /// for one that hangs, so they are threads that the end of the program ends.
    pub(crate) fn start(self: &Arc<Self>) -> mpsc::Receiver<Never> {
        let (present, working) = mpsc::channel();
        for _ in 0..self.settings.executions {
            let (executor, present) = (Arc::clone(self), present.clone());
            std::thread::spawn(move || {
                executor.do_calls();
                drop(present);
            });
        }
        for _ in 0..self.settings.workers {
            let (executor, present) = (Arc::clone(self), present.clone());
            std::thread::spawn(move || {
                worker::work(&executor);
                drop(present);
            });
        }
        working
    }

    /// Has `message` done as soon as a thread is free.
    ///
    /// # Errors
    /// [`Crowded`].
    pub(crate) fn call(&self, message: Message) -> Result<oneshot::Receiver<Outcome>, Crowded> {
        let (reply, outcome) = oneshot::channel();
        let (version, arrived_ns) = (self.live.current(), MonotonicClock.now_ns());
        let waits = self.executions.is_full();
        if self.calls.put(Call { message, version, arrived_ns, waits, reply }) {
            return Ok(outcome);
        }
        self.executions.refused();
        Err(Crowded { waiting: self.calls.waiting() })
    }

    /// Calls that wait for a thread.
    pub(crate) fn calls_waiting(&self) -> usize {
        self.calls.waiting()
    }

    /// When whoever is sent away should come again, seconds: what waits, at the pace of what was
    /// done so far, between 1 and 60.
    pub(crate) fn come_again_s(&self) -> u64 {
        let CountFigures { done, failed, execution_ns, .. } = self.synchronous.figures();
        let each_ns = execution_ns.checked_div(done + failed).unwrap_or(0);
        let waiting = self.calls.waiting() as u64;
        let wait_ns = each_ns.saturating_mul(waiting) / self.settings.executions.max(1) as u64;
        (wait_ns / 1_000_000_000).clamp(1, 60)
    }

    /// No more calls are taken and no more messages claimed; what is under way ends.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.calls.close();
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    fn do_calls(&self) {
        let mut unit = self.outsides.direct();
        while let Some(call) = self.calls.take() {
            self.do_call(call, &mut unit);
        }
    }

    fn do_call(&self, call: Call, unit: &mut Unit) {
        let Call { message, version, arrived_ns, waits, reply } = call;
        let _busy = self.executions.enter();
        let queue_ns = MonotonicClock.now_ns().saturating_sub(arrived_ns);
        if waits {
            self.executions.waited(queue_ns);
        }
        let id = self.queue.next_id();
        let listed = self.running.list(id, &message.transaction, &version.digest, false);
        unit.begin(id);
        let mut done = attempt(&version, &message, &mut **unit, self.settings.trace_size);
        self.commit_one(id, &mut done, unit);
        drop(listed);
        let Attempt { execution_ns, data_ns, .. } = done;
        let timings = Timings { queue_ns, execution_ns, data_ns };
        let end = if done.result.is_ok() { AttemptEnd::Done } else { AttemptEnd::Failed };
        self.synchronous.ended(end, timings);
        self.note(id, message, &mut done);
        // a client that has gone hears nothing
        let _ = reply.send(Outcome { id, result: done.result, timings });
    }

    /// Commits what an execution did outside, or undoes it.
    fn commit_one(&self, id: ExecutionId, done: &mut Attempt, unit: &mut Unit) {
        if done.result.is_err() {
            unit.undo();
        }
        let began_ns = MonotonicClock.now_ns();
        let committed = commit(unit, || self.outsides.direct());
        let took_ns = MonotonicClock.now_ns() - began_ns;
        done.execution_ns += took_ns;
        done.data_ns += took_ns;
        if done.result.is_ok() {
            done.end_with(id, &committed);
        }
    }

    /// Keeps what the transaction wants to be kept of a synchronous execution.
    fn note(&self, id: ExecutionId, message: Message, done: &mut Attempt) {
        let error = done.result.as_ref().err().map(ToString::to_string);
        let Some(kept) = done.take_kept() else { return };
        let ending = match error {
            Some(error) => Ending::Dead { error },
            None => Ending::Done,
        };
        let noted = self.queue.note(message, Settled { id, ending, kept: Some(kept) });
        if let Err(error) = noted {
            self.log.tell(format!("execution {id} is not kept: {error}"));
        }
    }
}

/// Waits until every thread has ended, or `time` has passed; true when all have.
pub(crate) fn wait_for(working: &mpsc::Receiver<Never>, time: Span) -> bool {
    let time = std::time::Duration::from_nanos(time.ns());
    !matches!(working.recv_timeout(time), Err(mpsc::RecvTimeoutError::Timeout))
}
