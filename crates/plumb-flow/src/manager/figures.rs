//! Everything there is to see of a server at one moment.

use plumb_serve::ConnectionFigures;
use serde::Serialize;

use super::drain::DrainProgress;
use crate::data::{self, DataServers};
use crate::executor::{CountFigures, Executor, PoolFigures};
use crate::live::LiveState;
use plumb_queue::QueueFigures;

/// Everything there is to see. Times in nanoseconds, sizes in bytes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Figures {
    /// Name and version of this document.
    pub(super) schema: &'static str,
    /// When the server began.
    pub(super) began: String,
    pub(super) transactions: TransactionFigures,
    pub(super) executions: CountFigures,
    pub(super) queued: CountFigures,
    /// Calls that wait for an execution thread.
    pub(super) calls_waiting: usize,
    pub(super) pools: Pools,
    #[serde(serialize_with = "queue")]
    pub(super) queue: QueueFigures,
    pub(super) connections: ConnectionFigures,
    /// Sessions with data servers, by their names.
    pub(super) data: Vec<DataFigures>,
    /// Connections to back ends, by their names.
    pub(super) back_ends: Vec<BackEndPool>,
    pub(super) drain: Option<DrainProgress>,
    pub(super) running: Vec<RunningFigures>,
}

/// The transactions in force.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TransactionFigures {
    pub(super) folder: String,
    pub(super) digest: String,
    pub(super) names: Vec<String>,
    #[serde(flatten)]
    pub(super) state: LiveState,
}

/// Pools of threads.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Pools {
    pub(super) executions: PoolFigures,
    pub(super) workers: PoolFigures,
}

/// The pool of a data server.
#[derive(Clone, Debug, Serialize)]
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
}

/// The connections to a back end.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BackEndPool {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) pool: PoolFigures,
    pub(super) calls: u64,
    /// Calls that nobody answered.
    pub(super) failed: u64,
}

/// An execution that is under way.
#[derive(Clone, Debug, Serialize)]
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
        servers: &DataServers,
        connections: ConnectionFigures,
        drain: Option<DrainProgress>,
        began: &str,
    ) -> Self {
        let version = executor.live.current();
        let running = executor.running.all();
        Self {
            schema: "plumb.flow/1",
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
            queue: executor.queue.figures(),
            connections,
            data: servers.pools().map(|(name, pool)| data(name, pool.figures())).collect(),
            back_ends: servers.back_ends().figures().map(|(name, it)| back_end(name, it)).collect(),
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

fn data(name: &str, seen: data::PoolFigures) -> DataFigures {
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
    }
}

fn back_end(name: &str, seen: data::BackEndFigures) -> BackEndPool {
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
    }
}

/// The figures of the queue, which know no form of their own.
fn queue<S: serde::Serializer>(figures: &QueueFigures, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown {
        waiting: u64,
        running: u64,
        failed: u64,
        waiting_bytes: u64,
        accepted: u64,
        flushes: u64,
        flush_ns: u64,
        flush_max_ns: u64,
        log_max_bytes: u64,
    }
    let QueueFigures { waiting, running, failed, waiting_bytes, accepted, .. } = *figures;
    let QueueFigures { flushes, flush_ns, flush_max_ns, log_max_bytes, .. } = *figures;
    Shown {
        waiting,
        running,
        failed,
        waiting_bytes,
        accepted,
        flushes,
        flush_ns,
        flush_max_ns,
        log_max_bytes,
    }
    .serialize(to)
}
