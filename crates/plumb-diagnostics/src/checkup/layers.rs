//! Every measurement of a checkup on one logarithmic axis of time, ranked by layer: a row each, with
//! what it says of its run and the way there.

use maud::{Markup, html};
use plumb_chart::{Axis, mound};
use plumb_checkup::{CheckupOutcome, CheckupPart, LayerState, Middle};
use plumb_measure::show_ns;

use super::{Server, remarks, tables};
use plumb_page::figures::{grouped, typeset};
use plumb_page::trust::Trust;

/// Width of the axis in user units: a phone's, so that its labels have room there.
const SPAN: f64 = 300.0;
/// Height of the axis in pixels.
const AXIS: u32 = 22;

/// Where the marks of a row lie, below its mound.
const LEVEL: &str = "74%";

/// The section; `href` leads from the folder of a run to its page. Without a time there is no axis, and
/// the rows say why.
pub(super) fn section(servers: &[Server<'_>], href: &dyn Fn(&str) -> Option<String>) -> Markup {
    let axis = axis(servers);
    let doubted = servers.iter().flat_map(|server| &server.parts).any(|part| !stands(part));
    html! {
        section {
            h2 { "How long one operation takes, layer by layer" }
            figure class="forest layers" {
                ul class="legend" {
                    li { span class="key round" {} "median, with its 95 % interval (shortest to longest time where it has none)" }
                    li { span class="key round hollow" {} "99th percentile" }
                    li { span class="key mound" {} "how often which time was measured" }
                    @if doubted { li { span class="key dashed" {} "may not be used as it stands" } }
                }
                table {
                    thead {
                        tr {
                            th scope="col" class="name" { "asked for" }
                            th scope="col" class="plot" {
                                svg height=(AXIS) aria-hidden="true" {
                                    @for tick in axis.iter().flat_map(|axis| &axis.ticks) {
                                        text class="mid" x=(percent(tick.at)) y="15" { (tick.label) }
                                    }
                                }
                            }
                            th scope="col" class="said" {
                                strong { "median" } " " span class="far" { "p99" } " " span class="rate" { "rate" }
                            }
                        }
                    }
                    @for server in servers {
                        tbody class=(tone(server)) {
                            tr class="group" {
                                th scope="rowgroup" colspan="3" { (heading(server)) }
                            }
                            @for part in &server.parts { (row(axis.as_ref(), part, href)) }
                        }
                    }
                }
                @if let Some(axis) = &axis { p class="note" { (axis.title) } }
            }
        }
    }
}

/// From the shortest time to the longest that a row shows.
fn axis(servers: &[Server<'_>]) -> Option<Axis> {
    let shown = servers.iter().flat_map(|server| &server.parts).filter_map(|part| times(part));
    let ends = shown.map(|(median, far)| (median.low_ns.min(median.ns), median.high_ns.max(far)));
    let (low, high) = ends.reduce(|all, it| (all.0.min(it.0), all.1.max(it.1)))?;
    Some(Axis::times_over_decades("time of one operation", (low, high), 0.0, SPAN))
}

/// The median of a part and its 99th percentile.
fn times(part: &CheckupPart) -> Option<(Middle, u64)> {
    let outcome = measured(part)?;
    let median = outcome.median?;
    Some((median, outcome.p99_ns.unwrap_or(median.ns)))
}

fn measured(part: &CheckupPart) -> Option<&CheckupOutcome> {
    part.outcome.as_ref().filter(|outcome| outcome.error.is_none())
}

fn stands(part: &CheckupPart) -> bool {
    measured(part).is_none_or(|outcome| Trust::of(&outcome.validity).is_full())
}

/// The server, how it stands, and what it adds or why it is not judged.
fn heading(server: &Server<'_>) -> Markup {
    let verdict = server.verdict;
    let said = match (verdict.and_then(|it| it.why.clone()), &server.busy) {
        (Some(_), Some(who)) => Some(format!("{who} was busy with other work")),
        (None, _) => remarks::added_briefly(server),
        (why, None) => why,
    };
    html! {
        (server.name) " " span class="state" { (server.word()) }
        @if let Some(said) = &said { " " span class="about" { (typeset(said)) } }
    }
}

/// The class that carries the colour of a server; what is only valid has none.
fn tone(server: &Server<'_>) -> &'static str {
    match server.verdict.map_or(LayerState::Open, |verdict| verdict.state) {
        LayerState::NotValid | LayerState::NotMeasured => "fault",
        LayerState::Judged if server.faulty => "fault",
        LayerState::Judged if server.verdict.is_some_and(|verdict| verdict.slowest) => "slowest",
        LayerState::Judged => "judged",
        LayerState::NotChecked | LayerState::Open => "unjudged",
    }
}

fn row(axis: Option<&Axis>, part: &CheckupPart, href: &dyn Fn(&str) -> Option<String>) -> Markup {
    let name = format!("{}, {}", part.operation, part.how);
    let folder = part.outcome.as_ref().and_then(|outcome| outcome.folder.as_deref());
    html! {
        tr class=[(!stands(part)).then_some("doubt")] {
            th scope="row" class="name" {
                @match folder.and_then(href) {
                    Some(link) => { a href=(link) { (name) } },
                    None => { (name) },
                }
            }
            td class="plot" {
                @if let (Some(axis), Some(times)) = (axis, times(part)) {
                    @if let Some(all) = measured(part).and_then(|it| it.times()?.decode().ok()) {
                        (mound(&all, axis, SPAN))
                    }
                    (marks(axis, times))
                }
            }
            td class="said" { (said(part)) }
        }
    }
}

fn marks(axis: &Axis, (median, far): (Middle, u64)) -> Markup {
    let at = |ns: u64| percent(axis.at_int(ns));
    html! {
        svg aria-hidden="true" {
            @for tick in &axis.ticks {
                line class="grid" x1=(percent(tick.at)) x2=(percent(tick.at)) y1="0" y2="100%" {}
            }
            line class="reach" x1=(at(median.ns)) x2=(at(far)) y1=(LEVEL) y2=(LEVEL) {}
            line class="whisker" x1=(at(median.low_ns)) x2=(at(median.high_ns)) y1=(LEVEL) y2=(LEVEL) {}
            circle class="far" cx=(at(far)) cy=(LEVEL) r="3.4" {}
            circle cx=(at(median.ns)) cy=(LEVEL) r="4.6" {}
        }
    }
}

/// The figures of a row, or why it has none.
fn said(part: &CheckupPart) -> Markup {
    let Some(outcome) = measured(part) else {
        let not_offered = part.outcome.as_ref().is_some_and(|outcome| outcome.not_offered);
        let word = match &part.outcome {
            None => "not finished",
            Some(_) if not_offered => "not offered",
            Some(_) => "not measured",
        };
        return html! { span class="verdict" { (word) } };
    };
    let trust = Trust::of(&outcome.validity);
    html! {
        @match (outcome.median, outcome.p99_ns) {
            (Some(median), Some(far)) => {
                strong { (typeset(&show_ns(median.ns))) }
                " " span class="far" { (typeset(&show_ns(far))) }
            },
            _ => { strong {} " " span class="far" { "no times" } },
        }
        " " span class="rate" { (typeset(&tables::rate(outcome))) }
        @if outcome.failed > 0 {
            " " span class="verdict" { (grouped(outcome.failed)) " failed" }
        }
        @if !trust.is_full() { " " span class="verdict" { (trust.short()) } }
    }
}

/// A coordinate of the axis in percent of the width.
fn percent(at: f64) -> String {
    format!("{:.2}%", at / SPAN * 100.0)
}
