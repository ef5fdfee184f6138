//! A checkup as one self-contained page: styles inline, nothing fetched. It links the
//! pages of its runs, which lie below it, or holds them.

use maud::{Markup, html};
use plumb_checkup::{Checkup, PartRole};
use plumb_folder::HostTrack;
use plumb_measure::{Attribution, RunRecord};

use super::{Server, findings, layers, ranked, remarks, sentence};
use plumb_page::Definition;
use plumb_page::figures::typeset;
use plumb_page::page;
use plumb_page::trust::Trust;
use plumb_report::{stack, steps};

const STYLES: &str = include_str!("checkup.css");

const DEFINITIONS: [Definition; 6] = [
    Definition {
        term: "What it costs a user",
        meaning: "How much of one operation a fault takes, with its 95 % interval; never more than \
                  the operation. Several faults may take the same time, so the costs do not add up. \
                  For a full pool it is what the operation takes longer with many users than with \
                  one.",
    },
    Definition {
        term: "Full pool",
        meaning: "With more users the rate stays as it is and everybody waits longer, and the \
                  server's report of its queue, or processors that idle meanwhile, shows that \
                  the wait is for a place and not for a processor. How many it serves at a time is \
                  the rate times the time that an operation does not wait (Little's law).",
    },
    Definition {
        term: "Slowest",
        meaning: "The layer that adds most itself to one operation, with one user and nothing else \
                  on the way. The operation is the slowest of those that were asked for there; what \
                  the layer adds is its median less the median round trip of 1,000 bytes to the \
                  same host. The network is judged by that round trip. Nothing is called slowest \
                  while a layer is not judged.",
    },
    Definition {
        term: "Cannot be told apart",
        meaning: "The intervals of two layers overlap. That of a median lies between two order \
                  statistics of the operations, wide enough for 95 %, and wider where the intervals \
                  of the run scatter more than independent operations would; of a difference the \
                  squares of what is not known of its terms add up.",
    },
    Definition {
        term: "One after the other",
        meaning: "The layers are measured in turn. What changed on the machine in between is in \
                  the figures; to compare two variants of anything, use plumb ab.",
    },
    Definition {
        term: "Its account",
        meaning: "What the server says of its own time: Server-Timing or sap-statistics of a page, \
                  the clock of a database. Means, because means add up and medians do not.",
    },
];

/// A run of a checkup, to stand in its page.
#[derive(Clone, Debug)]
pub struct CheckupRun {
    /// Its folder, as in [`plumb_checkup::CheckupOutcome::folder`].
    pub folder: String,
    /// What was measured.
    pub record: RunRecord,
    /// What the machines did meanwhile.
    pub tracks: Vec<HostTrack>,
}

/// The checkup as an HTML document, which lies in its folder.
#[must_use]
pub fn render(checkup: &Checkup) -> String {
    document(checkup, &[], &|folder| Some(format!("{folder}/report.html")))
}

/// The same with its runs inside, so that it may lie anywhere; what is not among `runs` has no link.
#[must_use]
pub fn whole(checkup: &Checkup, runs: &[CheckupRun]) -> String {
    let number = |folder: &str| runs.iter().position(|run| run.folder == folder);
    document(checkup, runs, &|folder| number(folder).map(|at| format!("#{}", id(at))))
}

fn id(number: usize) -> String {
    format!("run-{}", number + 1)
}

fn document(
    checkup: &Checkup,
    runs: &[CheckupRun],
    href: &dyn Fn(&str) -> Option<String>,
) -> String {
    let servers = ranked(checkup);
    let around: Vec<(&str, String)> =
        busy(checkup).into_iter().chain(remarks::around(checkup)).collect();
    let content = html! {
        header {
            h1 { "checkup " span class="target" { (checkup.target) } }
            p class="about" { (checkup.started) }
        }
        main {
            p class="sentence" { (typeset(&sentence(checkup))) }
            (findings::section(checkup))
            (pictures(&servers))
            (layers::section(&servers, href))
            @for server in &servers { (section(server)) }
            @if !around.is_empty() {
                section {
                    h2 { "Besides" }
                    dl class="facts" {
                        @for (name, text) in &around { dt { (name) } dd { (typeset(text)) } }
                    }
                }
            }
            section {
                h2 { "To repeat it" }
                pre class="command" { (checkup.command.join(" ")) }
                @if let Some(host) = &checkup.host {
                    dl class="facts machine" {
                        dt { "host" } dd { (host.name) }
                        dt { "processors" } dd { (host.cpus) }
                        @if let Some(model) = host.facts.get("cpu model") {
                            dt { "cpu model" } dd { (model) }
                        }
                        dt { "kernel" } dd { (host.kernel) }
                        dt { "placement" } dd { (host.placement) }
                    }
                }
            }
            (page::how_to_read(&DEFINITIONS))
        }
        @for (at, run) in runs.iter().enumerate() {
            (plumb_report::html::within(&id(at), &run.record, &run.tracks))
        }
        footer { "plumb " (checkup.plumb.version) ", " (checkup.schema) }
    };
    let tone = match () {
        () if checkup.has_findings() => "bad",
        () if checkup.is_unanswered() => "part",
        () => "good",
    };
    let title = format!("checkup of {}", checkup.target);
    page::styled(&title, tone, &[STYLES, stack::STYLES], &content)
}

/// What is to be said of a server beside its times; nothing where there is nothing.
fn section(server: &Server<'_>) -> Markup {
    // what a picture shows is not said again
    let drawn = told(server).is_some();
    let remarks = remarks::of(server)
        .into_iter()
        .filter(|(name, _)| ![remarks::ADDS, remarks::NOT_JUDGED].contains(name))
        .filter(|(name, _)| !(drawn && *name == remarks::ACCOUNT));
    let remarks: Vec<(&str, String)> = remarks.collect();
    html! {
        @if !remarks.is_empty() {
            section {
                h2 { (server.name) }
                dl class="facts" {
                    @for (name, text) in &remarks { dt { (name) } dd { (typeset(text)) } }
                }
            }
        }
    }
}

/// How busy the machine that asked was while the parts were measured.
fn busy(checkup: &Checkup) -> Option<(&'static str, String)> {
    let known = || checkup.parts.iter().filter_map(|part| part.outcome.as_ref()?.busy_pct);
    let (low, high) = (known().reduce(f64::min)?, known().reduce(f64::max)?);
    let range =
        if high - low < 1.0 { format!("{high:.0} %") } else { format!("{low:.0} to {high:.0} %") };
    let processors = "of all processors of the machine that asked, while it measured";
    Some(("busy", format!("{range} {processors}; the page of each measurement has its own")))
}

/// Where the time of one operation of each server went, where that is told: of the one that it is judged
/// by.
fn pictures(servers: &[Server<'_>]) -> Markup {
    let told: Vec<(String, &Attribution, Trust)> = servers.iter().filter_map(told).collect();
    html! {
        @if !told.is_empty() {
            section {
                h2 { "Where the time of one operation went" }
                (stack::legend(&steps::kinds_of(told.iter().map(|(_, attribution, _)| *attribution))))
                @for (title, attribution, trust) in &told {
                    (steps::brief(title, attribution, *trust))
                }
                p class="about" {
                    "With one user. Every bar is as long as its own whole; means, because means add up "
                    "and medians do not. Hatched is what nobody measured; what a server that tells all of "
                    "its time leaves is the wire. The runs say how each part was measured."
                }
            }
        }
    }
}

fn told<'a>(server: &Server<'a>) -> Option<(String, &'a Attribution, Trust)> {
    let judged = server.verdict.and_then(|verdict| verdict.operation.as_deref());
    let yardsticks = server.parts.iter().filter(|part| part.role == PartRole::Yardstick);
    let mut of_operation = yardsticks.filter(|part| judged.is_none_or(|it| part.operation == it));
    of_operation.find_map(|part| {
        let outcome = part.outcome.as_ref()?;
        let attribution = outcome.attribution.as_ref()?;
        let title = format!("{}: {}", server.name, part.operation);
        Some((title, attribution, Trust::of(&outcome.validity)))
    })
}
