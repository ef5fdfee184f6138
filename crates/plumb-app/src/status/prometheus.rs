//! The text format of Prometheus: counters and gauges in base units.

use plumb_wire::prometheus::{Exposition, MetricKind, seconds};

use super::Status;

/// The document in the text format, version 0.0.4.
pub(crate) fn metrics(status: &Status) -> String {
    let mut out = Exposition::new("plumb_app_");
    steps(&mut out, status);
    queue(&mut out, status);
    status.connections.expose(&mut out);
    memory(&mut out, status);
    out.finish()
}

/// Steps, and the work processes that do them.
fn steps(out: &mut Exposition, status: &Status) {
    let steps = &status.steps;
    out.counter("steps_total", "Dialog steps done.", steps.count);
    out.counter("step_errors_total", "Steps that ended with a server error.", steps.errors);
    out.counter("step_dumps_total", "Steps that broke off.", steps.dumps);
    out.about("step_seconds_total", MetricKind::Counter, "Time of steps by where it went.");
    for (part, ns) in [
        ("queue", steps.queue_ns),
        ("load", steps.load_ns),
        ("database", steps.database_ns),
        ("lock", steps.lock_ns),
        ("backend", steps.backend_ns),
        ("render", steps.render_ns),
    ] {
        out.sample("step_seconds_total", &[("part", part)], seconds(ns.into()));
    }
    let cpu = seconds(steps.cpu_ns.into());
    out.counter("cpu_seconds_total", "Processor time of work processes.", cpu);
    let verdict = &status.verdict;
    let waiting = verdict.waiting_longest_ns.unwrap_or(0);
    out.gauge(
        "queue_wait_longest_seconds",
        "Wait of the first in the queue.",
        seconds(waiting.into()),
    );
    let running = verdict.running_longest_ns.unwrap_or(0);
    out.gauge("step_running_longest_seconds", "Age of the oldest step.", seconds(running.into()));
    let processes = &status.work_processes;
    let running = processes.iter().filter(|process| process.running_ns.is_some()).count();
    out.gauge("work_processes", "Work processes.", processes.len() as u64);
    out.gauge("work_processes_running", "Work processes that have a step.", running as u64);
    let calls: u64 = processes.iter().map(|process| process.database_calls).sum();
    out.counter("database_calls_total", "Database calls of work processes.", calls);
    let logons: u64 = processes.iter().map(|process| process.database_logons).sum();
    out.counter("database_logons_total", "Database sessions opened.", logons);
}

/// Who waits, and the programs of those who work.
fn queue(out: &mut Exposition, status: &Status) {
    let queue = &status.queue;
    out.gauge("queue_length", "Steps that wait for a work process.", queue.length as u64);
    out.gauge("queue_length_max", "The most steps that waited.", queue.length_max as u64);
    out.gauge("queue_limit", "Steps that may wait.", queue.limit as u64);
    out.counter("queue_refused_total", "Steps refused because of the limit.", queue.refused);
    out.counter("queue_crowded_total", "Steps that found no work process.", queue.crowded);
    out.counter("queue_abandoned_total", "Steps whose client had gone.", queue.abandoned);
    let background = &queue.background;
    let length = background.length as u64;
    out.gauge("background_queue_length", "Background steps that wait.", length);
    let running = background.running as u64;
    out.gauge("background_running", "Background steps that work processes have.", running);
    let most = background.processes as u64;
    out.gauge("background_limit", "Work processes that background steps may have.", most);
    out.counter("background_total", "Background steps that have begun.", background.begun);
    let refused = background.refused;
    out.counter("background_refused_total", "Background steps refused.", refused);

    let programs = &status.programs;
    out.gauge("program_buffer_bytes", "Bytes of compiled programs.", programs.used as u64);
    out.gauge("program_buffer_limit_bytes", "Bytes the buffer may hold.", programs.size as u64);
    // a reset sets these back, which Prometheus understands
    out.counter("program_buffer_hits_total", "Programs found.", programs.hits);
    out.counter("program_buffer_misses_total", "Programs compiled.", programs.misses);
    out.counter("program_buffer_swaps_total", "Programs that left for others.", programs.swaps);
}

/// What is kept for others, and between steps.
fn memory(out: &mut Exposition, status: &Status) {
    let cache = &status.cache;
    out.gauge("cache_bytes", "Bytes of cached answers.", cache.used as u64);
    out.gauge("cache_limit_bytes", "Bytes the cache may hold.", cache.size as u64);
    out.counter("cache_hits_total", "Answers from the cache.", cache.hits);
    out.counter("cache_misses_total", "Answers that had to be made first.", cache.misses);
    out.counter("cache_evictions_total", "Answers that left for others.", cache.evictions);

    let sessions = &status.sessions;
    out.gauge("sessions", "Sessions that are open.", sessions.open as u64);
    out.gauge("sessions_max", "The most sessions that were open.", sessions.open_max as u64);
    out.gauge("sessions_limit", "Sessions that may be open.", sessions.limit as u64);
    out.counter("sessions_opened_total", "Sessions opened.", sessions.opened);
    out.counter("logons_total", "Log-ons: of a user, first on a connection.", status.log_ons);
    out.counter("sessions_refused_total", "Log-ons refused: limit.", sessions.refused);
    out.counter("sessions_expired_total", "Sessions unused for too long.", sessions.expired);
    out.counter("rolled_bytes_total", "Bytes rolled in and out.", sessions.rolled);
    out.counter("sessions_displaced_total", "Sessions ended unused.", sessions.displaced);

    let batches = &status.batches;
    out.gauge("batch_bytes", "Bytes of answers of batches.", batches.used as u64);
    out.gauge("batch_max_bytes", "The most bytes they had.", batches.used_max as u64);
    out.gauge("batch_limit_bytes", "Bytes they may have.", batches.size as u64);

    if let Some(backend) = &status.backend {
        out.gauge("backend_connections", "Connections to the back end.", backend.open as u64);
        out.gauge("backend_connections_max", "The most of them.", backend.open_max as u64);
        out.counter("backend_calls_total", "Calls of the back end.", backend.calls);
        out.counter("backend_refused_total", "Calls refused: limit.", backend.refused);
    }
}
