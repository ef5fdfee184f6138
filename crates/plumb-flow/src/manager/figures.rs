//! Everything there is to see of a server at one moment.

use std::borrow::Cow;

use plumb_engine::clock::utc;
use plumb_serve::ConnectionFigures;
use serde::{Deserialize, Serialize};

use super::drain::DrainProgress;
use crate::executor::{CountFigures, Executor, PoolFigures};
use crate::live::LiveState;
use crate::siblings::Queues;
use plumb_queue::{Presence, QueueFigures, Runtime};

/// Everything there is to see. Times in nanoseconds, sizes in bytes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Figures {
    /// Name and version of this document.
    pub(super) schema: Cow<'static, str>,
    /// When the server began.
    pub(super) began: String,
    pub(super) transactions: TransactionFigures,
    pub(super) executions: CountFigures,
    pub(super) queued: CountFigures,
    /// Calls that wait for an execution thread.
    pub(super) calls_waiting: usize,
    pub(super) pools: Pools,
    pub(super) queue: QueueState,
    /// Times that the memory group of the process had to give memory back before it got more; absent
    /// where one of the nodes has none.
    #[serde(default)]
    pub(super) memory_limit_reached: Option<u64>,
    pub(super) connections: ConnectionFigures,
    /// Sessions with data servers, by their names.
    pub(super) data: Vec<DataFigures>,
    /// Connections to back ends, by their names.
    pub(super) back_ends: Vec<BackEndPool>,
    /// Runtimes that share the queue; none where only this one can have it.
    pub(super) runtimes: Vec<RuntimeFigures>,
    pub(super) drain: Option<DrainProgress>,
    pub(super) running: Vec<RunningFigures>,
}

/// The transactions in force.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct TransactionFigures {
    pub(super) folder: String,
    pub(super) digest: String,
    pub(super) names: Vec<String>,
    #[serde(flatten)]
    pub(super) state: LiveState,
}

/// The queue.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct QueueState {
    /// What does not run; of a shared queue, also what runs elsewhere.
    pub(super) waiting: u64,
    pub(super) running: u64,
    pub(super) failed: u64,
    /// Of messages that wait, and that run.
    pub(super) waiting_bytes: u64,
    pub(super) accepted: u64,
    pub(super) flushes: u64,
    pub(super) flush_ns: u64,
    pub(super) flush_max_ns: u64,
    /// The largest of the write-ahead logs.
    pub(super) log_max_bytes: u64,
    /// Executions that are not shown, because too many waited to be written down.
    pub(super) notes_left_out: u64,
}

/// Pools of threads.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct Pools {
    pub(super) executions: PoolFigures,
    pub(super) workers: PoolFigures,
}

/// The pool of a data server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct DataFigures {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) pool: PoolFigures,
    /// Open and not in use.
    pub(super) idle: usize,
    /// Waiting for one at the moment.
    pub(super) waiting: usize,
    pub(super) log_ons: u64,
    pub(super) failed_log_ons: u64,
    pub(super) lost: u64,
    /// Nodes that cannot use it.
    #[serde(default)]
    pub(super) away: u64,
}

/// The connections to a back end.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct BackEndPool {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) pool: PoolFigures,
    pub(super) calls: u64,
    /// Calls that nobody answered.
    pub(super) failed: u64,
    /// Nodes whose last call nobody answered.
    #[serde(default)]
    pub(super) away: u64,
}

/// A runtime that shares the queue.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct RuntimeFigures {
    pub(super) number: u64,
    pub(super) host: String,
    pub(super) process: u64,
    pub(super) began: String,
    /// When it was heard of last.
    pub(super) seen: String,
    /// Messages that it has under way.
    pub(super) running: u64,
    /// `own`, `heard`, or `lost`: what it had under way goes to the others.
    pub(super) presence: Cow<'static, str>,
}

impl From<Runtime> for RuntimeFigures {
    fn from(seen: Runtime) -> Self {
        let utc = |ms: u64| utc(ms.saturating_mul(1_000_000));
        let presence = match seen.presence {
            Presence::Own => "own",
            Presence::Heard => "heard",
            Presence::Lost => "lost",
        };
        Self {
            number: seen.number,
            host: seen.host,
            process: seen.process,
            began: utc(seen.began_ms),
            seen: utc(seen.seen_ms),
            running: seen.running,
            presence: presence.into(),
        }
    }
}

/// An execution that is under way.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct RunningFigures {
    pub(super) id: String,
    pub(super) transaction: String,
    pub(super) digest: String,
    /// True when it came through the queue.
    pub(super) queued: bool,
    pub(super) age_ns: u64,
}

impl Figures {
    pub(super) fn of(
        executor: &Executor,
        connections: ConnectionFigures,
        drain: Option<DrainProgress>,
        began: &str,
    ) -> Self {
        let version = executor.live.current();
        let servers = &version.servers;
        let running = executor.running.all();
        Self {
            schema: "plumb.flow/1".into(),
            began: began.into(),
            transactions: TransactionFigures {
                folder: executor.live.folder().display().to_string(),
                digest: version.digest.clone(),
                names: version.transactions.all().map(|it| it.name.to_string()).collect(),
                state: executor.live.state(),
            },
            executions: executor.synchronous.figures(),
            queued: executor.queued.figures(),
            calls_waiting: executor.calls_waiting(),
            pools: Pools {
                executions: executor.executions.figures(),
                workers: executor.workers.figures(),
            },
            queue: executor.queue.figures().into(),
            memory_limit_reached: plumb_serve::nodes::memory_limit_reached(),
            connections,
            data: servers.pools().map(|(name, pool)| data(name, pool.figures())).collect(),
            back_ends: servers.back_ends().figures().map(|(name, it)| back_end(name, it)).collect(),
            // a queue that cannot be asked is said where its messages are listed
            runtimes: executor
                .queue
                .runtimes()
                .unwrap_or_default()
                .into_iter()
                .map(Into::into)
                .collect(),
            drain,
            running: running
                .into_iter()
                .map(|(id, it)| RunningFigures {
                    id: id.to_string(),
                    transaction: it.transaction.to_string(),
                    digest: it.digest.clone(),
                    queued: it.queued,
                    age_ns: it.age_ns(),
                })
                .collect(),
        }
    }
}

impl Figures {
    /// Those of another node, too: sums, and of `max` and `open_max` what was not exceeded.
    pub(super) fn add(&mut self, other: Self, queues: Queues) {
        self.began = std::mem::take(&mut self.began).min(other.began);
        self.transactions.add(other.transactions);
        self.executions.add(&other.executions);
        self.queued.add(&other.queued);
        self.calls_waiting += other.calls_waiting;
        self.pools.executions.add(&other.pools.executions);
        self.pools.workers.add(&other.pools.workers);
        let reached = self.memory_limit_reached.zip(other.memory_limit_reached);
        self.memory_limit_reached = reached.map(|(own, other)| own + other);
        match queues {
            Queues::Own => self.queue.add(&other.queue),
            Queues::Shared => self.queue.add_of_shared(&other.queue),
        }
        self.connections.add(&other.connections);
        for it in other.data {
            match self.data.iter_mut().find(|own| own.name == it.name) {
                Some(own) => own.add(&it),
                None => self.data.push(it),
            }
        }
        for it in other.back_ends {
            match self.back_ends.iter_mut().find(|own| own.name == it.name) {
                Some(own) => own.add(&it),
                None => self.back_ends.push(it),
            }
        }
        self.drain = match (self.drain.take(), other.drain) {
            (Some(own), Some(it)) => Some(own.with(&it)),
            (own, it) => own.or(it),
        };
        self.running.extend(other.running);
    }
}

impl TransactionFigures {
    fn add(&mut self, other: Self) {
        let LiveState { since, reloads, failures, problem } = other.state;
        let state = &mut self.state;
        state.since = std::mem::take(&mut state.since).max(since);
        state.reloads = state.reloads.max(reloads);
        state.failures = state.failures.max(failures);
        let differs = || format!("the nodes serve {} and {} for now", self.digest, other.digest);
        let differ = (self.digest != other.digest).then(differs);
        state.problem = state.problem.take().or(problem).or(differ);
    }
}

impl DataFigures {
    fn add(&mut self, other: &Self) {
        self.pool.add(&other.pool);
        self.idle += other.idle;
        self.waiting += other.waiting;
        self.log_ons += other.log_ons;
        self.failed_log_ons += other.failed_log_ons;
        self.lost += other.lost;
        self.away += other.away;
    }
}

impl BackEndPool {
    fn add(&mut self, other: &Self) {
        self.pool.add(&other.pool);
        self.calls += other.calls;
        self.failed += other.failed;
        self.away += other.away;
    }
}

fn data(name: &str, seen: plumb_data::PoolFigures) -> DataFigures {
    DataFigures {
        name: name.into(),
        pool: PoolFigures {
            now: seen.in_use as u64,
            max: seen.in_use_max as u64,
            limit: seen.maximum as u64,
            waited: seen.waited,
            waited_ns: seen.wait_ns,
            refused: seen.ran_out,
        },
        idle: seen.idle,
        waiting: seen.waiting,
        log_ons: seen.log_ons,
        failed_log_ons: seen.failed_log_ons,
        lost: seen.lost,
        away: seen.away.into(),
    }
}

fn back_end(name: &str, seen: plumb_data::BackEndFigures) -> BackEndPool {
    let links = seen.links;
    BackEndPool {
        name: name.into(),
        pool: PoolFigures {
            now: links.used as u64,
            max: links.used_max as u64,
            limit: links.limit as u64,
            // nobody waits for one: it is there, or the call is refused
            waited: 0,
            waited_ns: 0,
            refused: links.refused,
        },
        calls: seen.calls,
        failed: seen.failed,
        away: seen.away.into(),
    }
}

impl From<QueueFigures> for QueueState {
    fn from(seen: QueueFigures) -> Self {
        let QueueFigures { waiting, running, failed, waiting_bytes, accepted, .. } = seen;
        let QueueFigures { flushes, flush_ns, flush_max_ns, log_max_bytes, notes_left_out, .. } =
            seen;
        Self {
            // the queue counts what runs as waiting, too
            waiting: waiting.saturating_sub(running),
            running,
            failed,
            waiting_bytes,
            accepted,
            flushes,
            flush_ns,
            flush_max_ns,
            log_max_bytes,
            notes_left_out,
        }
    }
}

impl QueueState {
    /// That of another node, which has a queue of its own, too.
    fn add(&mut self, other: &Self) {
        self.waiting += other.waiting;
        self.failed += other.failed;
        self.waiting_bytes += other.waiting_bytes;
        self.add_work(other);
    }

    /// That of another node of the same queue, too: what waits there is known, and of it what runs at the
    /// other node.
    fn add_of_shared(&mut self, other: &Self) {
        self.waiting = self.waiting.saturating_sub(other.running);
        self.add_work(other);
    }

    /// What another node did with a queue.
    fn add_work(&mut self, other: &Self) {
        self.running += other.running;
        self.accepted += other.accepted;
        self.flushes += other.flushes;
        self.flush_ns += other.flush_ns;
        self.flush_max_ns = self.flush_max_ns.max(other.flush_max_ns);
        self.log_max_bytes = self.log_max_bytes.max(other.log_max_bytes);
        self.notes_left_out += other.notes_left_out;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_queue(waiting: u64, running: u64) -> QueueState {
        QueueFigures {
            waiting,
            running,
            failed: 2,
            waiting_bytes: 70,
            accepted: 5,
            flushes: 3,
            flush_ns: 30,
            flush_max_ns: 10 + running,
            log_max_bytes: running,
            notes_left_out: 1,
            ..QueueFigures::default()
        }
        .into()
    }

    fn whole(queue: &QueueState) -> [u64; 10] {
        let QueueState { waiting, running, failed, waiting_bytes, accepted, .. } = *queue;
        let QueueState { flushes, flush_ns, flush_max_ns, log_max_bytes, notes_left_out, .. } =
            *queue;
        [
            waiting,
            running,
            failed,
            waiting_bytes,
            accepted,
            flushes,
            flush_ns,
            flush_max_ns,
            log_max_bytes,
            notes_left_out,
        ]
    }

    #[test]
    fn what_runs_does_not_wait() {
        assert_eq!(whole(&of_queue(10, 4)), [6, 4, 2, 70, 5, 3, 30, 14, 4, 1]);
        // the two are not counted at the same moment
        assert_eq!(of_queue(3, 4).waiting, 0);
    }

    #[test]
    fn queues_of_nodes_are_added_and_of_one_that_they_share_only_what_each_does() {
        let mut own = of_queue(10, 4);
        own.add(&of_queue(7, 1));
        assert_eq!(whole(&own), [12, 5, 4, 140, 10, 6, 60, 14, 4, 2]);
        let mut shared = of_queue(10, 4);
        shared.add_of_shared(&of_queue(10, 5));
        assert_eq!(whole(&shared), [1, 9, 2, 70, 10, 6, 60, 15, 5, 2]);
    }
}
