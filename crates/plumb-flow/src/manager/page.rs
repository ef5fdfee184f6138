//! The pages of the transaction manager: without script, and with nothing from elsewhere.

use maud::{Markup, PreEscaped, html};
use plumb_engine::clock::utc;
use plumb_measure::{counted, grouped, show_ns};

use super::figures::{Figures, RunningFigures, RuntimeFigures};
use super::filter::{Chosen, state_name};
use super::json::{Line, accepted};
use super::overview::{NodeKnown, NodeState, Overview};
use crate::executor::PoolFigures;
use plumb_queue::{Execution, State};

const STYLE: &str = "
:root{color-scheme:light dark;--line:#d6dde4;--dim:#5b6875;--bar:#1f6fb2;--back:#fff;--soft:#f3f6f9;--bad:#b3361e;--good:#2d7a4f;--busy:#8a6d1a}
@media(prefers-color-scheme:dark){:root{--line:#36424e;--dim:#9aa8b5;--back:#12181e;--soft:#1b242c;--bad:#ef8a73;--good:#6fc795;--busy:#dcc06a;--bar:#5aa7e6}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:78em;padding:1.5em;background:var(--back)}
h1{font-size:1.5em;margin:0}h2{font-size:1.1em;margin:2em 0 .5em}a{color:var(--bar)}
p.sub{color:var(--dim);margin:.2em 0 1.2em}
p.bad{background:var(--soft);border-left:4px solid var(--bad);padding:.8em 1em;margin:0 0 1em;white-space:pre-wrap}
p.note{background:var(--soft);border-left:4px solid var(--bar);padding:.8em 1em;margin:0 0 1em}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(12em,1fr));gap:.8em;margin:0}
dl div{background:var(--soft);padding:.6em .8em;border-radius:4px}
dt{color:var(--dim);font-size:.85em}dd{margin:0;font-size:1.15em;font-variant-numeric:tabular-nums}
dd small{color:var(--dim);font-size:.75em}
nav{display:flex;flex-wrap:wrap;gap:.4em;margin:0 0 .8em}
nav a{padding:.25em .8em;border:1px solid var(--line);border-radius:2em;text-decoration:none}
nav a.on{background:var(--bar);color:var(--back);border-color:var(--bar)}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.35em .6em;border-bottom:1px solid var(--line);white-space:nowrap;vertical-align:top}
th{color:var(--dim);font-weight:600;font-size:.85em}
td.w,th.w{text-align:left}td.e{text-align:left;white-space:normal;min-width:18em;overflow-wrap:anywhere}
code,pre{font:13px/1.5 ui-monospace,monospace}
pre{background:var(--soft);padding:1em;border-radius:4px;overflow-x:auto;margin:0;white-space:pre-wrap;overflow-wrap:anywhere}
.failed{color:var(--bad)}.done{color:var(--good)}.running,.waiting{color:var(--busy)}
form{display:inline-flex;flex-wrap:wrap;gap:.5em;align-items:center;margin:0}
.acts{display:flex;flex-wrap:wrap;gap:1em 2em;margin:1em 0 0;padding:.8em 1em;background:var(--soft);border-radius:4px}
button{font:inherit;padding:.2em .9em;border:1px solid var(--bar);border-radius:4px;background:none;color:var(--bar);cursor:pointer}
button.no{border-color:var(--bad);color:var(--bad)}
input,select{font:inherit;padding:.15em .4em;border:1px solid var(--line);border-radius:4px;background:var(--back);color:inherit}
input[type=number]{width:6em}
.empty{color:var(--dim)}
";

/// Bytes of a message that are shown.
const SHOWN_MAX: usize = 256 << 10;

/// Figures, and the executions that were chosen.
pub(super) fn overview(seen: &Overview, chosen: &Chosen) -> String {
    let Overview { figures, nodes, executions: found } = seen;
    let transactions = &figures.transactions;
    let body = html! {
        h1 { "Transaction manager" }
        p.sub {
            (counted(transactions.names.len() as u64, "transaction")) " of " (transactions.folder) ", version "
            code { (transactions.digest) } " in force since " (transactions.state.since)
            "; server since " (figures.began) "; for " a href="/metrics" { "Prometheus" }
        }
        @if let Some(problem) = &transactions.state.problem {
            p.bad { "Changed files are not in force:\n" (problem) }
        }
        @if let Some(drain) = figures.drain.as_ref().filter(|it| !it.ended) {
            p.note {
                "Retrying " (count(drain.found)) " failed executions, " (drain.rate)
                " a second: " (count(drain.retried)) " so far"
                @if let Some(why) = &drain.waits { "; waits for " (why) }
            }
        }
        @for (node, problem) in missing(nodes) {
            p.bad { "Node " (node) " does not answer, and what follows is without it: " (problem) }
        }
        (gauges(figures))
        @if !nodes.is_empty() { (each_node(nodes)) }
        @if !figures.runtimes.is_empty() { (runtimes(&figures.runtimes)) }
        @if !figures.running.is_empty() { (running(&figures.running)) }
        h2 { "Executions" }
        (choice(figures, chosen))
        (list(found))
        @if let Some(last) = found.last().filter(|_| found.len() >= chosen.filter.most) {
            p { a href=(format!("/manager?{}&before={}", chosen.query(), last.id)) { "Older ones" } }
        }
        (acts(chosen))
    };
    page("plumb flow: transaction manager", &body)
}

fn gauges(figures: &Figures) -> Markup {
    let (queue, connections) = (&figures.queue, &figures.connections);
    let (called, queued) = (&figures.executions, &figures.queued);
    html! {
        dl {
            (fact("waiting in the queue", &count(queue.waiting),
                &format!("{} with what runs", size(queue.waiting_bytes))))
            (fact("failed in the queue", &count(queue.failed), ""))
            (fact("done, from the queue", &count(queued.done), &again(queued.again)))
            (fact("done, synchronous", &count(called.done), &failed(called.failed)))
            (pool("execution threads", &figures.pools.executions))
            (pool("queue workers", &figures.pools.workers))
            @for it in &figures.data { (pool(&format!("sessions, {}", it.name), &it.pool)) }
            @for it in &figures.back_ends { (pool(&format!("connections, {}", it.name), &it.pool)) }
            (fact("calls waiting", &count(figures.calls_waiting as u64), ""))
            (fact("connections", &of(connections.open, connections.limit),
                &format!("max {}", count(connections.open_max))))
            @if queue.flushes > 0 {
                (fact("flush, mean", &show_ns(queue.flush_ns / queue.flushes),
                    &format!("longest {}", show_ns(queue.flush_max_ns))))
            }
        }
    }
}

fn running(running: &[RunningFigures]) -> Markup {
    html! {
        h2 { "Under way" }
        div.wide { table {
            thead { tr { th.w { "id" } th.w { "transaction" } th.w { "way" } th.w { "version" } th { "for" } } }
            tbody { @for it in running { tr {
                td.w { code { (it.id) } }
                td.w { (it.transaction) }
                td.w { (if it.queued { "queue" } else { "synchronous" }) }
                td.w { code { (it.digest) } }
                td { (show_ns(it.age_ns)) }
            } } }
        } }
    }
}

/// Which executions are to be shown.
fn choice(figures: &Figures, chosen: &Chosen) -> Markup {
    let states =
        [None, Some(State::Waiting), Some(State::Running), Some(State::Failed), Some(State::Done)];
    let transaction = chosen.filter.transaction.as_deref().unwrap_or("");
    html! {
        nav {
            @for state in states {
                @let name = state.map_or("all", state_name);
                @let on = chosen.filter.state == state;
                @let target = format!("/manager?state={name}&transaction={}",
                    plumb_wire::percent::form_encoded(transaction));
                a href=(target) class=[on.then_some("on")] { (name) }
            }
            form method="get" action="/manager" {
                @if let Some(state) = chosen.filter.state {
                    input type="hidden" name="state" value=(state_name(state));
                }
                select name="transaction" aria-label="Transaction" {
                    option value="" { "every transaction" }
                    @for name in &figures.transactions.names {
                        option value=(name) selected[name == transaction] { (name) }
                    }
                }
                button { "Show" }
            }
        }
    }
}

fn runtimes(runtimes: &[RuntimeFigures]) -> Markup {
    html! {
        h2 { "Runtimes that share the queue" }
        div.wide { table {
            thead { tr {
                th { "runtime" } th.w { "host" } th { "process" } th.w { "since" } th.w { "heard of" }
                th { "under way" } th.w { "state" }
            } }
            tbody { @for it in runtimes { tr {
                td { (it.number) } td.w { (it.host) } td { (it.process) } td.w { (it.began) }
                td.w { (it.seen) } td { (count(it.running)) }
                td class=(if it.presence == "lost" { "w failed" } else { "w" }) { (presence(it)) }
            } } }
        } }
    }
}

fn presence(runtime: &RuntimeFigures) -> &'static str {
    match &*runtime.presence {
        "own" => "this one",
        "heard" => "there",
        _ => "lost: the others take over what it had",
    }
}

fn missing(nodes: &[NodeState]) -> impl Iterator<Item = (u16, &str)> {
    nodes.iter().filter_map(|it| match &it.known {
        NodeKnown::Missing { problem } => Some((it.node, problem.as_str())),
        NodeKnown::Figures { .. } => None,
    })
}

fn each_node(nodes: &[NodeState]) -> Markup {
    html! {
        h2 { "Nodes" }
        div.wide { table {
            thead { tr {
                th.w { "node" } th.w { "since" } th { "connections" } th { "waiting" } th { "running" }
                th { "failed" } th { "accepted" } th { "done, from the queue" } th { "done, synchronous" }
            } }
            tbody { @for NodeState { node, known } in nodes { tr {
                td.w { (node) }
                @match known {
                    NodeKnown::Figures { began, queue, executions, queued, connections } => {
                        td.w { (began) } td { (count(*connections)) } td { (count(queue.waiting)) }
                        td { (count(queue.running)) } td { (count(queue.failed)) }
                        td { (count(queue.accepted)) } td { (count(queued.done)) }
                        td { (count(executions.done)) }
                    }
                    NodeKnown::Missing { .. } => td.w.failed colspan="8" { "does not answer" }
                }
            } } }
        } }
    }
}

fn list(found: &[Line]) -> Markup {
    html! {
        @if found.is_empty() {
            p.empty { "None of these." }
        } @else {
            div.wide { table {
                thead { tr {
                    th.w { "id" } th.w { "state" } th.w { "transaction" } th.w { "came in" }
                    th { "bytes" } th { "failures" } th.w { "error" }
                } }
                tbody { @for it in found {
                    tr {
                        td.w { a href=(format!("/manager/executions/{}", it.id)) { code { (it.id) } } }
                        td class={ "w " (it.state) } { (it.state) }
                        td.w { (it.transaction) }
                        td.w { (it.accepted) }
                        td { (grouped(it.bytes)) }
                        td { (it.failures) }
                        td.e { (it.error.as_deref().unwrap_or("")) }
                    }
                } }
            } }
        }
    }
}

/// What can be done with all that were chosen.
fn acts(chosen: &Chosen) -> Markup {
    let transaction = chosen.filter.transaction.as_deref();
    let of = transaction.map_or_else(|| "every transaction".into(), |name| format!("`{name}`"));
    html! {
        div.acts {
            form method="post" action="/manager/retry" {
                (hidden(chosen))
                input type="hidden" name="state" value="failed";
                "Retry all failed ones of " (of) ","
                input type="number" name="rate" min="1" max="100000" placeholder="all" aria-label="a second";
                "a second"
                button { "Retry" }
            }
            @if let Some(state) = chosen.filter.state.filter(|it| *it != State::Running) {
                form method="post" action="/manager/drop" {
                    (hidden(chosen))
                    input type="hidden" name="state" value=(state_name(state));
                    "Drop all " (state_name(state)) " ones of " (of)
                    label { input type="checkbox" required; " for good" }
                    button.no { "Drop" }
                }
            }
        }
    }
}

fn hidden(chosen: &Chosen) -> Markup {
    html! {
        input type="hidden" name="all" value="yes";
        @if let Some(name) = &chosen.filter.transaction {
            input type="hidden" name="transaction" value=(name);
        }
    }
}

/// One execution with all that is kept of it.
pub(super) fn execution(found: &Execution) -> String {
    let state = state_name(found.state);
    let message = &found.message;
    let body = html! {
        p.sub { a href="/manager" { "Transaction manager" } }
        h1 { "Execution " code { (found.id) } }
        p.sub { (message.transaction) ", came in " (accepted(found)) }
        @if let Some(error) = &found.error { p.bad { (error) } }
        dl {
            div { dt { "state" } dd class=(state) { (state) } }
            (fact("failures", &count(found.failures.into()), ""))
            (fact("bytes", &grouped(found.bytes), &message.media_type))
            @if let Some(ms) = found.at_ms {
                @let name = if found.state == State::Waiting { "tried again" } else { "ended" };
                (fact(name, &utc(ms.saturating_mul(1_000_000)), ""))
            }
            @if let Some(key) = &message.order_key { (fact("order key", key, "")) }
            @if let Some(key) = &message.idempotency_key { (fact("idempotency key", key, "")) }
        }
        @if found.state != State::Running {
            div.acts {
                @if found.state == State::Failed { (act(found, "retry", "Retry", "")) }
                (act(found, "drop", "Drop", "no"))
            }
        }
        @if !message.parameters.is_empty() {
            h2 { "Parameters" }
            div.wide { table { tbody { @for (name, value) in &message.parameters {
                tr { td.w { (name) } td.e { (value) } }
            } } } }
        }
        h2 { "Trace" }
        @match &found.trace {
            Some(trace) => pre { (trace) },
            None => p.empty { "None is kept." },
        }
        h2 { "Message" }
        (document(&message.body))
    };
    page(&format!("plumb flow: execution {}", found.id), &body)
}

fn document(bytes: &[u8]) -> Markup {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_MAX)]);
    html! {
        @if bytes.is_empty() { p.empty { "No document." } } @else { pre { (shown) } }
        @if bytes.len() > SHOWN_MAX {
            p.empty { "The first " (size(SHOWN_MAX as u64)) " of " (size(bytes.len() as u64)) "." }
        }
    }
}

fn act(found: &Execution, path: &str, name: &str, class: &str) -> Markup {
    html! {
        form method="post" action=(format!("/manager/{path}")) {
            input type="hidden" name="id" value=(found.id);
            button class=(class) { (name) }
        }
    }
}

fn page(title: &str, body: &Markup) -> String {
    let head = html! {
        title { (title) }
        link rel="icon" href="data:,";
        style { (PreEscaped(STYLE)) }
    };
    plumb_page::page::bare(&head, &html! { body { (body) } })
}

fn fact(name: &str, value: &str, more: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) @if !more.is_empty() { " " small { (more) } } } } }
}

fn pool(name: &str, seen: &PoolFigures) -> Markup {
    let more = format!("max {}", count(seen.max));
    fact(name, &of(seen.now, seen.limit), &more)
}

fn count(number: u64) -> String {
    grouped(number)
}

fn of(part: u64, limit: u64) -> String {
    format!("{} of {}", count(part), count(limit))
}

fn again(attempts: u64) -> String {
    if attempts == 0 { String::new() } else { format!("{} attempts again", count(attempts)) }
}

fn failed(executions: u64) -> String {
    if executions == 0 { String::new() } else { format!("{} failed", count(executions)) }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KiB", bytes / 1_024),
        _ => format!("{} MiB", grouped(bytes / 1_048_576)),
    }
}
