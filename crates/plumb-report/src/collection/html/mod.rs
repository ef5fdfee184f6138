//! Many runs as one self-contained page: styles, charts and their script inline, nothing fetched.

mod figures;
mod repeat;

use maud::{Markup, html};
use plumb_folder::{EXPERIMENT, FoundExperiment};

use super::claim::{self, Claim};
use super::kind::RunGroup;
use super::look::RunTimeline;
use super::tables::{self, Cut};
use super::{Collection, counted, definitions, sketch};
use crate::comparison;
use crate::figures::{grouped, typeset};
use crate::trust::Trust;
use crate::verdict;
use crate::{page, sheet};

const STYLE: &str = include_str!("collection.css");

/// Rows of a table above which it is folded away at first.
const FOLD_ABOVE: usize = 24;
/// Runs that are not valid and are spelled out at once; further ones unfold.
const INVALID_MAX: usize = 5;
/// Of these, so many are named at all.
const INVALID_LISTED: usize = 300;
/// Findings of one run that are spelled out.
const FINDINGS_MAX: usize = 3;

/// The collection as an HTML document.
#[must_use]
pub fn render(collection: &Collection) -> String {
    let looks = RunTimeline::all(&collection.kinds, &collection.entries);
    let alone = collection.experiments.len() == 1
        && collection.entries.iter().all(|run| run.block.is_some());
    let content = html! {
        (head(collection))
        main {
            (summary(collection))
            (validity(collection))
            (unread(collection))
            @for (number, found) in collection.experiments.iter().enumerate() {
                (experiment(number, found, alone))
            }
            @for (number, kind) in collection.kinds.iter().enumerate() {
                (of_kind(collection, kind, number))
            }
            (over_time(collection, &looks))
            (runs(collection))
            (repeat::section(collection))
            (page::how_to_read(&definitions::of(collection)))
        }
        footer { "plumb " (collection.version) ", " (super::SCHEMA) }
    };
    page::styled(&collection.title(), tone(collection), &[STYLE], &content)
}

/// The class that carries the colours of the verdict over all.
fn tone(collection: &Collection) -> &'static str {
    let [(_, valid), _, _, (_, invalid)] = collection.verdicts();
    match (valid == collection.entries.len(), invalid) {
        (true, _) => "good",
        (false, 0) => "part",
        (false, _) => "bad",
    }
}

fn head(collection: &Collection) -> Markup {
    html! {
        header {
            h1 { (collection.title()) }
            p class="about" {
                (collection.period())
                @if collection.plans.len() > 1 { " \u{b7} " (counted(collection.plans.len(), "plan")) }
            }
        }
    }
}

fn summary(collection: &Collection) -> Markup {
    html! {
        section class="summary" id="summary" {
            h2 { "In short" }
            ul {
                @for Claim { text, anchor } in Claim::all(collection) {
                    li {
                        (typeset(&text)) " "
                        a href={ "#" (anchor) } aria-label={ "figures of: " (text) } { "figures" }
                    }
                }
            }
        }
    }
}

/// Which runs may be used, before any figure.
fn validity(collection: &Collection) -> Markup {
    let [(_, valid), (_, throughput), (_, unchecked), (_, invalid)] = collection.verdicts();
    let doubtful: Vec<usize> = (0..collection.entries.len())
        .filter(|at| collection.entries[*at].trust != Trust::Full)
        .collect();
    let listed = &doubtful[..doubtful.len().min(INVALID_LISTED)];
    let (first, further) = listed.split_at(listed.len().min(INVALID_MAX));
    html! {
        section id=(claim::VALIDITY) class={ "validity " (tone(collection)) } aria-label="Validity" {
            p {
                strong { (grouped(valid as u64)) " VALID" }
                @if throughput > 0 { ", " (grouped(throughput as u64)) " with throughput only" }
                @if unchecked > 0 { ", " strong { (grouped(unchecked as u64)) " NOT CHECKED" } }
                @if invalid > 0 { ", " strong { (grouped(invalid as u64)) " INVALID" } }
                " of " (counted(collection.entries.len(), "run"))
                @if let Some(raised) = collection.raised() { ", " (raised) }
                "."
                @if valid < collection.entries.len() {
                    " " (claim::NO_PART) "."
                }
            }
            @if !first.is_empty() { (doubts(collection, first)) }
            @if !further.is_empty() {
                details {
                    summary { (grouped(further.len() as u64)) " more" }
                    (doubts(collection, further))
                    @if listed.len() < doubtful.len() {
                        p class="note" { "And " (grouped((doubtful.len() - listed.len()) as u64)) " more." }
                    }
                }
            }
        }
    }
}

fn doubts(collection: &Collection, runs: &[usize]) -> Markup {
    html! {
        ul {
            @for at in runs {
                @let run = &collection.entries[*at];
                @let word = run.trust.short();
                li {
                    span class={ "takes " (word.replace(' ', "-")) } { (word) } " "
                    (run.name()) ": " (typeset(&why(run)))
                }
            }
        }
    }
}

/// Why a run is not valid, in a line.
fn why(run: &super::entry::Entry) -> String {
    let mut words: Vec<String> = run
        .findings
        .iter()
        .filter(|finding| finding.scope != plumb_measure::Scope::Nothing)
        .take(FINDINGS_MAX)
        .map(|finding| verdict::reason(finding).1.to_owned())
        .collect();
    if words.is_empty() {
        words.push(run.heading.to_lowercase());
    }
    let more = run.findings.len() + run.findings_left_out;
    if more > FINDINGS_MAX {
        words.push("and more, see its own report".into());
    }
    words.join("; ")
}

fn unread(collection: &Collection) -> Markup {
    html! {
        @if let Some(cut) = tables::unread(collection) {
            section id=(claim::UNREAD) class="unread" {
                h2 { "Not shown" }
                p class="about" { "These lie in the folders that were named, and are in no figure." }
                (folded("Not shown", &cut))
            }
        }
    }
}

/// What an experiment came to: the page of its comparison, in short; folded unless it is `alone`.
fn experiment(number: usize, found: &FoundExperiment, alone: bool) -> Markup {
    let place = super::naming::place_of(&found.folder);
    let body = match &found.comparison {
        Some(compared) => html! {
            p class="about" { (place) }
            (comparison::section(compared))
            p class="about" { "To measure all of it again:" }
            pre class="command" {
                "plumb lab run " (super::naming::place_of(&found.folder.join(EXPERIMENT)))
            }
        },
        None => html! {
            p { "It was not evaluated, or what came of it cannot be read. Its blocks are "
                "among the runs below. To evaluate it: " }
            pre class="command" { "plumb compare " (place) }
        },
    };
    let said =
        found.comparison.as_ref().map(|it| comparison::counted(&it.contrasts, it.accepted_load));
    html! {
        section id=(claim::of_experiment(number)) class="experiment" {
            @if alone {
                h2 { "Experiment " (found.variants.join(", ")) }
                (body)
            } @else {
                details class="long" {
                    summary {
                        "Experiment " (found.variants.join(", "))
                        span class="about" { ", " (place) @if let Some(said) = &said { ": " (said) } }
                    }
                    (body)
                }
            }
        }
    }
}

/// The charts and tables of the runs that can stand in one chart.
fn of_kind(collection: &Collection, kind: &RunGroup, number: usize) -> Markup {
    let id = |part: &str| claim::of_kind(number, part);
    let drawn = kind.beside_experiments(&collection.plans);
    let (curves, notes) = sketch::charts(&drawn, &collection.entries);
    let plans: Vec<_> = kind.plans.iter().map(|at| &collection.plans[*at]).collect();
    let taken_apart = kind.plans.len() > 1 && collection.experiments.is_empty();
    html! {
        section id=(id("all")) class="kind" {
            h2 { (kind.name()) }
            p class="about" { (typeset(&tables::about(kind, collection))) }
            div id=(id("table")) { (folded("Response times and rates, one row a point", &tables::cells(kind))) }
            @if taken_apart {
                p class="note" {
                    "These plans were not measured in turns: what differs between them includes "
                    "whatever else changed from one run to the next. plumb ab measures in turns."
                }
            }
            @let trends = figures::trends(&drawn, &collection.entries);
            @if !trends.is_empty() {
                h3 { "From run to run" }
                div class="charts" { @for chart in &trends { (chart) } }
            }
            div id=(id("times")) { (figures::of_kind(&drawn)) }
            @if !curves.is_empty() {
                details class="long" id=(id("curves")) {
                    summary { "Distributions" }
                    div class="charts" { @for chart in &curves { (chart) } }
                    (remarks(&notes))
                }
            }
            @if let Some(cut) = tables::machine(kind) {
                details class="long" id=(id("machine")) {
                    summary { "The machine meanwhile" }
                    (sheet::table("Shares of all processors of the machine that drove the load", &cut.table))
                    @if !cut.note().is_empty() { p class="note" { (cut.note()) } }
                }
            }
            @if let Some(table) = tables::differences(&plans) {
                details class="long" {
                    summary { "What the plans differ in" }
                    (sheet::table("What the plans differ in, with the number of runs of each value", &table))
                }
            }
        }
    }
}

fn remarks(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            ul class="notes" { @for note in notes { li { (typeset(note)) } } }
        }
    }
}

/// A table that unfolds when it is long, and what it leaves out.
fn folded(caption: &str, cut: &Cut) -> Markup {
    let note = cut.note();
    let table = html! {
        (sheet::table(caption, &cut.table))
        @if !note.is_empty() { p class="note" { (note) } }
    };
    html! {
        @if cut.table.rows.len() > FOLD_ABOVE {
            details class="long" {
                summary { (counted(cut.table.rows.len(), "row")) ": " (caption) }
                (table)
            }
        } @else {
            (table)
        }
    }
}

/// Some runs over time, with what the machines did under the load.
fn over_time(collection: &Collection, looks: &[RunTimeline]) -> Markup {
    html! {
        @if !looks.is_empty() {
            section id="over-time" {
                h2 { "Over time" }
                p class="about" {
                    "Throughput and response time, and under them what the machines did, on one "
                    "axis of time."
                }
                @for look in looks {
                    @let run = &collection.entries[look.run];
                    details class="look" {
                        summary {
                            (run.name())
                            @if run.trust != Trust::Full { " (" (run.trust.short()) ")" }
                            @if !look.why.is_empty() { span class="about" { ", " (look.why) } }
                        }
                        div class="charts" { @for chart in &look.charts { (chart) } }
                        (remarks(&look.notes))
                    }
                }
            }
        }
    }
}

fn runs(collection: &Collection) -> Markup {
    html! {
        section id="runs" {
            h2 { "Runs" }
            (folded("Every run, in order of time", &tables::runs(collection)))
        }
    }
}
