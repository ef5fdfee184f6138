//! The text format of Prometheus: counters and gauges in base units.

use plumb_wire::prometheus::{Exposition, MetricKind, seconds};

use super::figures::{BackEndPool, DataFigures, Figures};
use super::overview::{NodeKnown, NodeState, Overview};
use crate::executor::{CountFigures, PoolFigures};

/// The document in the text format, version 0.0.4.
pub(super) fn metrics(seen: &Overview) -> String {
    let figures = &seen.figures;
    let mut out = Exposition::new("plumb_flow_");
    executions(&mut out, figures);
    pools(&mut out, figures);
    outside(&mut out, figures);
    queue(&mut out, figures);
    if let Some(reached) = figures.memory_limit_reached {
        let help = "Times that memory had to be given back before there was more.";
        out.counter("memory_limit_reached_total", help, reached);
    }
    figures.connections.expose(&mut out);
    transactions(&mut out, figures);
    nodes(&mut out, &seen.nodes);
    out.finish()
}

/// Which nodes answered, and the queue of each.
fn nodes(out: &mut Exposition, nodes: &[NodeState]) {
    if nodes.is_empty() {
        return;
    }
    let mut each = |name: &str, help: &str, value: &dyn Fn(&NodeKnown) -> Option<u64>| {
        out.about(name, MetricKind::Gauge, help);
        for NodeState { node, known } in nodes {
            if let Some(value) = value(known) {
                out.sample(name, &[("node", &node.to_string())], value);
            }
        }
    };
    let queue = |known: &NodeKnown| match known {
        NodeKnown::Figures { queue, .. } => Some(*queue),
        NodeKnown::Missing { .. } => None,
    };
    let help = "1: all figures are with this node; 0: it does not answer, they are without it.";
    each("node_up", help, &|it| Some(u64::from(queue(it).is_some())));
    each("node_queue_waiting", "Messages that wait.", &|it| Some(queue(it)?.waiting));
    each("node_queue_failed", "Messages that failed for the last time.", &|it| {
        Some(queue(it)?.failed)
    });
}

fn executions(out: &mut Exposition, figures: &Figures) {
    let ways = [("sync", figures.executions), ("queue", figures.queued)];
    out.about("executions_total", MetricKind::Counter, "Attempts of executions by their end.");
    for (way, CountFigures { done, again, failed, .. }) in ways {
        for (end, count) in [("done", done), ("again", again), ("failed", failed)] {
            out.sample("executions_total", &[("way", way), ("end", end)], count);
        }
    }
    out.about("execution_seconds_total", MetricKind::Counter, "Time of executions by its part.");
    for (way, CountFigures { queue_ns, execution_ns, data_ns, .. }) in ways {
        let inside_ns = execution_ns.saturating_sub(data_ns);
        for (part, ns) in [("wait", queue_ns), ("execution", inside_ns), ("data", data_ns)] {
            // messages of the queue wait there, which is not counted here
            if way == "queue" && part == "wait" {
                continue;
            }
            let labels = [("way", way), ("part", part)];
            out.sample("execution_seconds_total", &labels, seconds(ns.into()));
        }
    }
    out.gauge("executions_running", "Executions under way.", figures.running.len());
    out.gauge("calls_waiting", "Calls that wait for an execution.", figures.calls_waiting);
}

fn pools(out: &mut Exposition, figures: &Figures) {
    let own = [
        ("executions".to_owned(), figures.pools.executions),
        ("workers".to_owned(), figures.pools.workers),
    ];
    let data = figures.data.iter().map(|it| (format!("data {}", it.name), it.pool));
    let back_ends = figures.back_ends.iter().map(|it| (format!("back end {}", it.name), it.pool));
    let all: Vec<(String, PoolFigures)> = own.into_iter().chain(data).chain(back_ends).collect();
    let mut each = |name: &str, kind, help: &str, value: &dyn Fn(&PoolFigures) -> String| {
        out.about(name, kind, help);
        for (pool, seen) in &all {
            out.sample(name, &[("pool", pool)], value(seen));
        }
    };
    let (gauge, counter) = (MetricKind::Gauge, MetricKind::Counter);
    each("pool_now", gauge, "In use: threads, sessions, connections.", &|it| it.now.to_string());
    each("pool_max", gauge, "The most that were in use.", &|it| it.max.to_string());
    each("pool_limit", gauge, "That may be in use.", &|it| it.limit.to_string());
    each("pool_waited_total", counter, "Times that none was free.", &|it| it.waited.to_string());
    let waited = |it: &PoolFigures| seconds(it.waited_ns.into());
    each("pool_waited_seconds_total", counter, "Time waited for one.", &waited);
    each("pool_refused_total", counter, "Times that none came free.", &|it| it.refused.to_string());
}

/// Whether data servers and back ends can be used, and how often they could not.
fn outside(out: &mut Exposition, figures: &Figures) {
    let mut each = |name: &str, kind, help: &str, values: &[(&str, &str, u64)]| {
        if !values.is_empty() {
            out.about(name, kind, help);
        }
        for (label, of, value) in values {
            out.sample(name, &[(*label, *of)], value);
        }
    };
    let (gauge, counter) = (MetricKind::Gauge, MetricKind::Counter);
    let data = |value: fn(&DataFigures) -> u64| {
        figures.data.iter().map(|it| ("server", &*it.name, value(it))).collect::<Vec<_>>()
    };
    let help = "Processes that cannot use it: 0 where it answers.";
    each("data_server_away", gauge, help, &data(|it| it.away));
    each("data_server_log_ons_total", counter, "Log-ons.", &data(|it| it.log_ons));
    let help = "Log-ons that failed.";
    each("data_server_failed_log_ons_total", counter, help, &data(|it| it.failed_log_ons));
    let help = "Sessions that were lost.";
    each("data_server_lost_sessions_total", counter, help, &data(|it| it.lost));
    let ends = |value: fn(&BackEndPool) -> u64| {
        figures.back_ends.iter().map(|it| ("back_end", &*it.name, value(it))).collect::<Vec<_>>()
    };
    let help = "Processes whose last call nobody answered: 0 where it answers.";
    each("back_end_away", gauge, help, &ends(|it| it.away));
    each("back_end_calls_total", counter, "Calls.", &ends(|it| it.calls));
    let help = "Calls that nobody answered.";
    each("back_end_failed_calls_total", counter, help, &ends(|it| it.failed));
}

fn queue(out: &mut Exposition, figures: &Figures) {
    let queue = &figures.queue;
    out.gauge("queue_waiting", "Messages that wait.", queue.waiting);
    out.gauge("queue_running", "Messages given out to workers.", queue.running);
    out.gauge("queue_failed", "Messages that failed for the last time.", queue.failed);
    out.gauge("queue_waiting_bytes", "Bytes of messages that wait or run.", queue.waiting_bytes);
    out.counter("queue_accepted_total", "Messages accepted.", queue.accepted);
    out.counter("queue_flushes_total", "Flushes to the disk.", queue.flushes);
    let flush = seconds(queue.flush_ns.into());
    out.counter("queue_flush_seconds_total", "Time of flushes.", flush);
    let longest = seconds(queue.flush_max_ns.into());
    out.gauge("queue_flush_longest_seconds", "The longest flush.", longest);
    let log = queue.log_max_bytes;
    out.gauge("queue_log_max_bytes", "The largest the write-ahead log was.", log);
    let help = "Executions not shown: too many waited to be written down.";
    out.counter("queue_notes_left_out_total", help, queue.notes_left_out);
}

fn transactions(out: &mut Exposition, figures: &Figures) {
    let state = &figures.transactions.state;
    out.gauge("transactions", "Transactions in force.", figures.transactions.names.len());
    out.counter("reloads_total", "Times that changed files came into force.", state.reloads);
    out.counter("reload_failures_total", "Times that changed files did not.", state.failures);
    let current = u8::from(state.problem.is_none());
    out.gauge("transactions_current", "1: what the files say is in force.", current);
}
