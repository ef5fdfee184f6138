//! What an administrator looks at: one document, as a page, as JSON and for Prometheus.

mod page;
mod prometheus;
mod verdict;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Histogram};
use plumb_serve::ConnectionFigures;
use plumb_serve::memory::MemoryFigures;
use serde::Serialize;

use crate::backend::BackendFigures;
use crate::cache::CacheFigures;
use crate::dispatcher::{ProcessFigures, QueueFigures, Recent, Totals};
use crate::instance::Instance;
use crate::program::BufferFigures;
use crate::session::SessionFigures;

pub(crate) use page::html;
pub(crate) use prometheus::metrics;
use verdict::{Lately, Verdict};

/// Everything there is to see, at one moment. Times in nanoseconds, sizes in bytes.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Status {
    /// Name and version of this document.
    pub(crate) schema: &'static str,
    /// When the server began.
    pub(crate) began: String,
    pub(crate) up_ns: u64,
    /// The database, without a password.
    pub(crate) database: String,
    /// Where the data of flights comes from, when not from here.
    pub(crate) backend: Option<BackendFigures>,
    pub(crate) verdict: Verdict,
    pub(crate) steps: StepFigures,
    pub(crate) work_processes: Vec<ProcessFigures>,
    pub(crate) queue: QueueFigures,
    pub(crate) programs: BufferFigures,
    pub(crate) connections: ConnectionFigures,
    pub(crate) cache: CacheFigures,
    /// The answers of batches.
    pub(crate) batches: MemoryFigures,
    pub(crate) sessions: SessionFigures,
    /// Users who proved who they are over a connection on which they had not before.
    pub(crate) log_ons: u64,
}

/// All steps since the server began.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StepFigures {
    pub(crate) count: u64,
    /// Steps that ended with a server error.
    pub(crate) errors: u64,
    /// Steps that broke off.
    pub(crate) dumps: u64,
    /// Sums over all steps.
    pub(crate) queue_ns: u64,
    pub(crate) load_ns: u64,
    pub(crate) database_ns: u64,
    pub(crate) lock_ns: u64,
    pub(crate) backend_ns: u64,
    pub(crate) render_ns: u64,
    pub(crate) cpu_ns: u64,
    /// Waiting for a work process.
    pub(crate) queue: Quantiles,
    /// In a work process.
    pub(crate) service: Quantiles,
}

/// Some quantiles of times; absent without steps.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Quantiles {
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p90_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    pub(crate) max_ns: Option<u64>,
}

impl Quantiles {
    fn of(times: &Histogram) -> Self {
        let some = |ns| (!times.is_empty()).then_some(ns);
        Self {
            p50_ns: some(times.quantile(0.5)),
            p90_ns: some(times.quantile(0.9)),
            p99_ns: some(times.quantile(0.99)),
            max_ns: some(times.max()),
        }
    }
}

impl Status {
    /// What there is to see now of `instance`, whose batches take so much memory.
    pub(crate) fn of(instance: &Instance, batches: MemoryFigures) -> Self {
        let now_ns = MonotonicClock.now_ns();
        let (dispatcher, services) = (&instance.dispatcher, &instance.services);
        let work_processes = dispatcher.board.processes(now_ns);
        let since_ns = Recent::began_ns(now_ns).max(instance.began_ns);
        let (ended, running) = dispatcher.board.lately(since_ns, now_ns);
        let waiting = dispatcher.queue.waiting(since_ns, now_ns);
        let lately = Lately { window_ns: now_ns.saturating_sub(since_ns), ended, running, waiting };
        Self {
            schema: "plumb.app/2",
            began: instance.began.clone(),
            up_ns: now_ns.saturating_sub(instance.began_ns),
            database: dispatcher.target.to_string(),
            backend: services.backend.as_ref().map(crate::backend::Backend::figures),
            verdict: Verdict::of(&lately, work_processes.len()),
            steps: steps(&dispatcher.board.totals()),
            work_processes,
            queue: dispatcher.queue.figures(),
            programs: services.buffer.figures(),
            connections: instance.counters.figures(instance.config.front.connections),
            cache: instance.cache.figures(),
            batches,
            sessions: services.sessions.figures(),
            log_ons: services.log_ons.count(),
        }
    }
}

fn steps(totals: &Totals) -> StepFigures {
    let done = &totals.done;
    StepFigures {
        count: done.steps,
        errors: done.errors,
        dumps: done.dumps,
        queue_ns: done.queue_ns,
        load_ns: done.load_ns,
        database_ns: done.database_ns,
        lock_ns: done.lock_ns,
        backend_ns: done.backend_ns,
        render_ns: done
            .busy_ns
            .saturating_sub(done.load_ns + done.database_ns + done.lock_ns + done.backend_ns),
        cpu_ns: done.cpu_ns,
        queue: Quantiles::of(&totals.queue),
        service: Quantiles::of(&totals.service),
    }
}

/// The document as JSON.
pub(crate) fn json(status: &Status) -> String {
    serde_json::to_string_pretty(status).unwrap_or_default()
}

/// `part` of `whole` in percent; `None` of nothing.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}
