//! The status page.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use plumb_measure::{show_count, show_ns};

use super::{Quantiles, Status, percent};

const STYLE: &str = "
:root{color-scheme:light dark;--line:#d6dde4;--dim:#5b6875;--bar:#1f6fb2;--back:#fff;--soft:#f3f6f9}
@media(prefers-color-scheme:dark){:root{--line:#36424e;--dim:#9aa8b5;--back:#12181e;--soft:#1b242c}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:72em;padding:1.5em;background:var(--back)}
h1{font-size:1.5em;margin:0}h2{font-size:1.1em;margin:2em 0 .5em}
p.sub{color:var(--dim);margin:.2em 0 1.2em}
p.verdict{background:var(--soft);border-left:4px solid var(--bar);padding:.8em 1em;margin:0}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(13em,1fr));gap:.8em;margin:0}
dl div{background:var(--soft);padding:.6em .8em;border-radius:4px}
dt{color:var(--dim);font-size:.85em}dd{margin:0;font-size:1.15em;font-variant-numeric:tabular-nums}
.bar{display:flex;height:1.6em;border-radius:4px;overflow:hidden;background:var(--soft)}
.bar span{min-width:1px}.q{background:#c2603a}.l{background:#b59b2f}.d{background:#1f6fb2}.r{background:#3d8f5f}.k{background:#7a5ea8}.e{background:#5b6875}
.key{display:flex;flex-wrap:wrap;gap:.3em 1.2em;font-size:.9em;margin:.4em 0 0;padding:0;list-style:none}
.key i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.35em}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.3em .6em;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--dim);font-weight:600;font-size:.85em}
td.w,th.w{text-align:left}td.w{max-width:30em;overflow:hidden;text-overflow:ellipsis}
";

/// The page, with nothing from elsewhere; it loads itself anew every five seconds.
pub(crate) fn html(status: &Status) -> String {
    let page: Markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="refresh" content="5";
                title { "plumb app: status" }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Application server" }
                p.sub {
                    "since " (status.began) ", for " (time(status.up_ns)) "; " (status.database)
                    @if let Some(backend) = &status.backend { "; flights from " (backend.url) }
                    "; as " a href="/status.json" { "JSON" } " and for " a href="/metrics" { "Prometheus" }
                }
                p.verdict { (status.verdict.words) }
                (parts(status))
                (processes(status))
                (front(status))
            }
        }
    };
    page.into_string()
}

/// Where the time of all steps went.
fn parts(status: &Status) -> Markup {
    let steps = &status.steps;
    let parts = [
        ("q", "queue", steps.queue_ns),
        ("l", "load", steps.load_ns),
        ("d", "database", steps.database_ns),
        ("k", "lock server", steps.lock_ns),
        ("e", "back end", steps.backend_ns),
        ("r", "render", steps.render_ns),
    ];
    let whole: u64 = parts.iter().map(|(_, _, ns)| ns).sum();
    html! {
        h2 { "Where the response time went since the start" }
        @if whole > 0 {
            div.bar role="img" aria-label="Shares of the response time, listed below" {
                @for (class, _, ns) in parts {
                    @if let Some(share) = percent(ns, whole) {
                        span class=(class) style=(format!("width:{share:.2}%")) {}
                    }
                }
            }
        }
        ul.key {
            @for (class, name, ns) in parts {
                li { i class=(class) {} (name) " " (share(ns, whole)) }
            }
        }
        h2 { "Steps since the start" }
        dl {
            (fact("done", &count(steps.count)))
            (fact("server errors", &count(steps.errors)))
            (fact("broken off", &count(steps.dumps)))
            (fact("queue p50 / p99 / max", &quantiles(&steps.queue)))
            (fact("work process p50 / p99 / max", &quantiles(&steps.service)))
            (fact("processor time a step", &each(steps.cpu_ns, steps.count)))
        }
    }
}

fn processes(status: &Status) -> Markup {
    let queue = &status.queue;
    html! {
        h2 { "Work processes" }
        div.wide { table {
            thead { tr {
                th { "no." } th.w { "state" } th.w { "program" } th { "for" } th { "in a call" } th { "steps" }
                th { "errors" } th { "busy" } th { "processor" } th { "database" }
                th { "calls" } th { "log-ons" } th.w { "session" }
            } }
            tbody { @for process in &status.work_processes {
                tr {
                    td { (process.number) }
                    td.w { (process.state) }
                    td.w { (process.program.as_deref().unwrap_or("")) }
                    td { @if let Some(ns) = process.running_ns { (show_ns(ns)) } }
                    td { @if let Some(ns) = process.in_database_ns { (show_ns(ns)) } }
                    td { (count(process.done.steps)) }
                    td { (count(process.done.errors + process.done.dumps)) }
                    td { (share(process.done.busy_ns, status.up_ns)) }
                    td { (show_ns(process.done.cpu_ns)) }
                    td { (show_ns(process.done.database_ns)) }
                    td { (count(process.database_calls)) }
                    td { (count(process.database_logons)) }
                    td.w { (if process.database_connected { "open" } else { "none" }) }
                }
            } }
        } }
        h2 { "Dispatcher queue" }
        dl {
            (fact("waiting", &of(queue.length, queue.limit)))
            (fact("most that waited", &count(queue.length_max as u64)))
            (fact("refused", &count(queue.refused)))
            (fact("found no work process free", &count(queue.crowded)))
            (fact("clients gone while waiting", &count(queue.abandoned)))
            (fact("background steps waiting", &of(queue.background.length, queue.limit)))
            (fact("background steps running", &of(queue.background.running, queue.background.processes)))
            (fact("background steps begun", &count(queue.background.begun)))
        }
    }
}

fn front(status: &Status) -> Markup {
    let (programs, cache) = (&status.programs, &status.cache);
    let (connections, sessions) = (&status.connections, &status.sessions);
    html! {
        h2 { "Program buffer" }
        dl {
            (fact("programs", &count(programs.programs as u64)))
            (fact("bytes", &of(programs.used, programs.size)))
            (fact("hit ratio", &share(programs.hits, programs.hits + programs.misses)))
            (fact("compiled", &count(programs.misses)))
            (fact("swaps", &count(programs.swaps)))
        }
        h2 { "Front: connections" }
        dl {
            (fact("open", &format!("{} of {}", connections.open, connections.limit)))
            (fact("most that were open", &count(connections.open_max)))
            (fact("refused", &count(connections.refused)))
            (fact("requests", &count(connections.requests)))
            (fact("requests waiting", &count(connections.waiting)))
            (fact("turned away", &count(connections.turned_away)))
            (fact("no HTTP", &count(connections.malformed)))
            (fact("too large", &count(connections.oversized)))
            (fact("too slow", &count(connections.slow)))
            (fact("closed when idle", &count(connections.idle)))
        }
        h2 { "Front: cache" }
        dl {
            (fact("answers", &count(cache.answers as u64)))
            (fact("bytes", &of(cache.used, cache.size)))
            (fact("hit ratio", &share(cache.hits, cache.hits + cache.misses)))
            (fact("hits", &count(cache.hits)))
            (fact("evictions", &count(cache.evictions)))
        }
        h2 { "Front: answers of batches" }
        dl {
            (fact("bytes", &of(status.batches.used, status.batches.size)))
            (fact("most bytes", &count(status.batches.used_max as u64)))
        }
        h2 { "Sessions" }
        dl {
            (fact("open", &of(sessions.open, sessions.limit)))
            (fact("most that were open", &count(sessions.open_max as u64)))
            (fact("log-ons", &count(status.log_ons)))
            (fact("opened", &count(sessions.opened)))
            (fact("refused", &count(sessions.refused)))
            (fact("expired", &count(sessions.expired)))
            (fact("ended unused", &count(sessions.displaced)))
            (fact("rolled, bytes", &count(sessions.rolled)))
        }
        @if let Some(backend) = &status.backend {
            h2 { "Back end" }
            dl {
                (fact("connections", &of(backend.open, backend.limit)))
                (fact("most that were open", &count(backend.open_max as u64)))
                (fact("calls", &count(backend.calls)))
                (fact("refused", &count(backend.refused)))
            }
        }
    }
}

fn fact(name: &str, value: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn count(number: u64) -> String {
    show_count(number as f64)
}

fn of(part: usize, limit: usize) -> String {
    format!("{} of {}", count(part as u64), count(limit as u64))
}

fn share(part: u64, whole: u64) -> String {
    percent(part, whole).map_or("none yet".into(), |percent| format!("{percent:.1} %"))
}

fn each(sum_ns: u64, count: u64) -> String {
    sum_ns.checked_div(count).map_or("none yet".into(), show_ns)
}

fn quantiles(times: &Quantiles) -> String {
    let shown = [times.p50_ns, times.p99_ns, times.max_ns].into_iter().flatten().map(show_ns);
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "none yet".into() } else { shown.join(" / ") }
}

fn time(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {} s", seconds % 60),
        _ => format!("{hours} h {minutes} min"),
    }
}
