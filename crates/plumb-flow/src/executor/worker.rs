//! A queue worker: it claims messages, does them in one unit of work, and says how they ended.

use std::sync::Arc;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};

use super::Executor;
use super::counts::{AttemptEnd, Timings};
use super::execution::{Attempt, attempt, commit};
use plumb_data::Origin;
use plumb_queue::{Claimed, Ending, ExecutionId, QueueError, Settled};
use plumb_transaction::{FailureKind, Retry};

/// How long a claim waits for a message.
const PATIENCE: Duration = Duration::from_millis(250);
/// A store that refused is left alone for so long.
const BREATH: Duration = Duration::from_secs(1);

/// A transaction whose outside cannot be reached is given out no more for so long.
const REST: Span = Span::from_ms(1_000);

/// Works until the executor closes.
pub(super) fn work(executor: &Executor) {
    let mut told = false;
    while !executor.is_closing() {
        match executor.queue.claim(executor.settings.batch, PATIENCE) {
            Ok(claimed) => {
                told = false;
                if !claimed.is_empty() {
                    do_batch(executor, claimed);
                }
            }
            Err(QueueError::Closed) => return,
            Err(error) => {
                if !told {
                    executor.log.tell(format!("a queue worker waits: {error}"));
                    told = true;
                }
                std::thread::park_timeout(BREATH);
            }
        }
    }
}

/// Does messages and settles them.
fn do_batch(executor: &Executor, claimed: Vec<Claimed>) {
    let _busy = executor.workers.enter();
    let version = executor.live.current();
    let accepted_ms = claimed.iter().map(|it| (it.id, it.accepted_ms)).collect();
    let origin = Origin { queue: executor.queue.id(), accepted_ms };
    let mut unit = executor.outsides.unit(&version, origin);
    let retry_of = |name: &str| {
        let transaction = version.transactions.find(name);
        transaction.and_then(|it| it.retry).unwrap_or(executor.settings.retry)
    };
    let mut attempts = Vec::with_capacity(claimed.len());
    let mut listed = Vec::with_capacity(claimed.len());
    for Claimed { id, failures, message, .. } in claimed {
        let transaction = &message.transaction;
        listed.push(executor.running.list(id, transaction, &version.digest, true));
        unit.begin(id);
        let done = attempt(&version, &message, &mut *unit, (executor.settings.trace_size, None));
        if done.result.is_err() {
            unit.undo();
        }
        let retry = retry_of(transaction);
        attempts.push((id, Arc::clone(transaction), failures, retry, done));
    }
    let began_ns = MonotonicClock.now_ns();
    let (committed, _) = commit(unit);
    let commit_ns = (MonotonicClock.now_ns() - began_ns) / attempts.len().max(1) as u64;
    let mut out_of_reach = None;
    let settled: Vec<Settled> = attempts
        .into_iter()
        .map(|(id, transaction, failures, retry, mut done)| {
            if done.result.is_ok() {
                done.end_with(id, &committed);
            }
            done.execution_ns += commit_ns;
            done.data_ns += commit_ns;
            if done.result.as_ref().is_err_and(|failed| failed.kind == FailureKind::Lost) {
                out_of_reach = Some(transaction);
            }
            settle(executor, id, failures, retry, done)
        })
        .collect();
    if let Some(name) = out_of_reach {
        executor.queue.rest(&name, REST);
    }
    let left = settled.iter().filter(|it| !matches!(it.ending, Ending::Again { .. })).count();
    match executor.queue.settle(settled) {
        Ok(()) => executor.queue_pace.ended(left as u64, MonotonicClock.now_ns()),
        Err(error) => {
            executor.log.tell(format!("executions are done but not settled: {error}"));
        }
    }
    drop(listed);
}

/// How an attempt ended, for the queue and the counters.
fn settle(
    executor: &Executor,
    id: ExecutionId,
    failures: u32,
    retry: Retry,
    mut done: Attempt,
) -> Settled {
    let (end, ending) = match &done.result {
        Ok(_) => (AttemptEnd::Done, Ending::Done),
        Err(failed) if failed.kind == FailureKind::DoneBefore => (AttemptEnd::Done, Ending::Done),
        Err(failed) => {
            let error = failed.to_string();
            match again(failed.kind, retry, failures) {
                Some(after) => (AttemptEnd::Again, Ending::Again { error, after }),
                None => (AttemptEnd::Failed, Ending::Dead { error }),
            }
        }
    };
    let Attempt { execution_ns, data_ns, .. } = done;
    executor.queued.ended(end, &Timings { execution_ns, data_ns, ..Timings::default() });
    let kept = done.take_kept();
    Settled { id, ending, kept }
}

/// After how long an attempt is made again, when `failures` others failed before it.
fn again(kind: FailureKind, retry: Retry, failures: u32) -> Option<Span> {
    if kind.is_worth_retrying() { retry.after(failures + 1) } else { None }
}
