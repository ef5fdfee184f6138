//! Executions: threads for synchronous calls, and queue workers for messages of the queue.

mod calls;
mod counts;
mod execution;
mod inside;
mod outsides;
mod pace;
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
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use self::calls::{Call, Calls, Computing};
use self::counts::AttemptEnd;
use self::execution::{Attempt, Committed, attempt, commit};
use crate::live::Live;
use plumb_queue::{Ending, ExecutionId, Message, Queue, Settled};
use plumb_serve::Log;
use plumb_transaction::{Completed, Failed, Retry, SessionTimes, Transaction, UnitOfWork};

pub(crate) use calls::Reply;
pub(crate) use counts::{CountFigures, Counts, Timings};
pub(crate) use inside::ActionTime;
pub(crate) use outsides::{Described, Outsides};
pub(crate) use pace::Pace;
pub(crate) use pool::{Pool, PoolFigures};
use running::Listed;
pub(crate) use running::{Running, UnderWay};

/// When to come again if it is not known when somebody is free, seconds.
const UNKNOWN_S: u64 = 10;

type Unit = Box<dyn UnitOfWork + Send>;

/// Calls that are committed together at most.
const GROUP: usize = 32;
/// Bytes of a document of a call that others wait for at most.
const SMALL: usize = 64 << 10;

/// A call that has gone through its transaction.
struct DoneCall<'a> {
    id: ExecutionId,
    call: Call,
    queue_ns: u64,
    attempt: Attempt,
    listed: Listed<'a>,
    /// On the monotonic clock.
    ran_ns: u64,
}

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
    /// Of synchronous calls.
    pub(crate) calls_pace: Pace,
    /// Of messages that have left the queue.
    pub(crate) queue_pace: Pace,
    pub(crate) executions: Pool,
    pub(crate) workers: Pool,
    outsides: Arc<dyn Outsides>,
    calls: Arc<Calls>,
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
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            live,
            queue,
            running: Running::default(),
            synchronous: Counts::default(),
            queued: Counts::default(),
            calls_pace: Pace::default(),
            queue_pace: Pace::default(),
            executions: Pool::new(settings.executions),
            workers: Pool::new(settings.workers),
            outsides,
            calls: Arc::new(Calls::new(settings.calls, processors)),
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

    /// Has `message` done as soon as a thread is free; `trace` is the `traceparent` of whoever asks, and
    /// `memory` what is set aside for the document until then.
    ///
    /// # Errors
    /// [`Crowded`].
    pub(crate) fn call(
        &self,
        message: Message,
        trace: Option<String>,
        memory: Option<OwnedSemaphorePermit>,
    ) -> Result<Reply, Crowded> {
        let (reply, outcome) = oneshot::channel();
        let (version, arrived_ns) = (self.live.current(), MonotonicClock.now_ns());
        let waits = self.executions.is_full();
        if self.calls.put(Call { message, trace, version, arrived_ns, waits, reply, memory }) {
            return Ok(Reply::new(outcome, Arc::clone(&self.calls)));
        }
        self.executions.refused();
        Err(Crowded { waiting: self.calls.waiting() })
    }

    /// Calls that wait for a thread.
    pub(crate) fn calls_waiting(&self) -> usize {
        self.calls.waiting()
    }

    /// When whoever is sent away should come again, seconds: what waits, at the pace of the last
    /// half minute, between 1 and 60; 10 when none has ended in it.
    pub(crate) fn come_again_s(&self) -> u64 {
        let waiting = self.calls.waiting() as u64;
        match (waiting, self.calls_pace.time_for(waiting, MonotonicClock.now_ns())) {
            (0, _) => 1,
            (_, Some(seconds)) => seconds.clamp(1, 60),
            (_, None) => UNKNOWN_S,
        }
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
        while let Some((call, computing)) = self.calls.take() {
            self.do_group(call, computing);
        }
    }

    /// Does `first`, and with it those that wait already, if one commit can do for all of them. None
    /// waits for another to come, or for one that something outside holds up.
    fn do_group(&self, first: Call, computing: Computing) {
        let _busy = self.executions.enter();
        let version = Arc::clone(&first.version);
        let fits = |call: &Call| {
            let found = version.transactions.find(&call.message.transaction);
            Arc::ptr_eq(&call.version, &version)
                && call.message.body.len() <= SMALL
                && found.is_some_and(Transaction::is_swift)
        };
        let mut unit = self.outsides.direct(&version);
        unit.keep_until_it_waits(Box::new(computing));
        let mut group = vec![self.do_call(first, &mut unit)];
        while group.len() < GROUP
            && unit.takes_more()
            && let Some(call) = self.calls.take_if(fits)
        {
            group.push(self.do_call(call, &mut unit));
        }
        let began_ns = MonotonicClock.now_ns();
        let (committed, sessions) = commit(unit);
        // it was one of all of them
        let each_ns = (MonotonicClock.now_ns() - began_ns) / group.len().max(1) as u64;
        for done in group {
            self.end_call(done, &committed, (sessions, each_ns));
        }
    }

    /// Takes a call through its transaction, up to the commit of what it did outside.
    fn do_call(&self, call: Call, unit: &mut Unit) -> DoneCall<'_> {
        let queue_ns = MonotonicClock.now_ns().saturating_sub(call.arrived_ns);
        if call.waits {
            self.executions.waited(queue_ns);
        }
        let (id, version) = (self.queue.next_id(), &call.version);
        let listed = self.running.list(id, &call.message.transaction, &version.digest, false);
        unit.begin(id);
        let settled = (self.settings.trace_size, call.trace.as_deref());
        let attempt = attempt(version, &call.message, &mut **unit, settled);
        if attempt.result.is_err() {
            unit.undo();
        }
        DoneCall { id, call, queue_ns, attempt, listed, ran_ns: MonotonicClock.now_ns() }
    }

    /// Tells the caller how it went; `each_ns` is the part of the commit that is counted as this call's.
    fn end_call(
        &self,
        done: DoneCall<'_>,
        committed: &Committed,
        (commit, each_ns): (SessionTimes, u64),
    ) {
        let DoneCall { id, call, queue_ns, attempt: mut done, listed, ran_ns } = done;
        let Call { message, reply, memory, .. } = call;
        let counted = Timings {
            queue_ns,
            execution_ns: done.execution_ns + each_ns,
            data_ns: done.data_ns + each_ns,
            ..Timings::default()
        };
        // with the time for which it waited for others that are committed with it
        let took_ns = MonotonicClock.now_ns() - ran_ns;
        done.execution_ns += took_ns;
        done.data_ns += took_ns;
        done.commit_ns = took_ns;
        if done.result.is_ok() {
            done.end_with(id, committed);
        }
        drop(listed);
        let Attempt { execution_ns, data_ns, commit_ns, .. } = done;
        let actions = std::mem::take(&mut done.actions);
        let timings = Timings { queue_ns, execution_ns, data_ns, commit_ns, commit, actions };
        let end = if done.result.is_ok() { AttemptEnd::Done } else { AttemptEnd::Failed };
        self.synchronous.ended(end, &counted);
        self.calls_pace.ended(1, MonotonicClock.now_ns());
        self.note(id, message, &mut done);
        drop(memory);
        // a client that has gone hears nothing
        let _ = reply.send(Outcome { id, result: done.result, timings });
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
