//! A run as one self-contained page: styles, charts and their script inline, nothing fetched.

mod front;

use maud::{Markup, html};
use plumb_folder::HostTrack;
use plumb_measure::RunRecord;

use crate::chart;
use crate::definitions;
use crate::facts;
use crate::figures::typeset;
use crate::points::Points;
use crate::scenarios;
use crate::section::Section;
use crate::trust::Trust;
use crate::verdict;
use crate::{
    attribution, clients, delivery, host, niping, notes, parts, round_trip, slowest, streams,
    tables,
};
use crate::{page, sheet};

/// The record as an HTML document.
#[must_use]
pub fn render(record: &RunRecord) -> String {
    watched(record, &[])
}

/// The same with what the machines did under the load, on its axis of time.
#[must_use]
pub fn watched(record: &RunRecord, tracks: &[HostTrack]) -> String {
    let content = html! {
        (front::head(record))
        main { (sections(record, tracks)) }
        footer { "plumb " (record.plumb.version) ", " (record.schema) }
    };
    let title = format!("{}: {}", verdict::title(record), verdict::heading(record));
    page::styled(
        &title,
        front::tone(Trust::of_run(record)),
        &[attribution::styles(record)],
        &content,
    )
}

/// The run within the page of something else: an element that a link finds by `id`.
#[must_use]
pub fn within(id: &str, record: &RunRecord, tracks: &[HostTrack]) -> Markup {
    html! {
        article class={ "run " (front::tone(Trust::of_run(record))) } id=(id) {
            (front::head(record))
            (sections(record, tracks))
        }
    }
}

fn sections(record: &RunRecord, tracks: &[HostTrack]) -> Markup {
    // what was demanded comes before what was found
    let all = parts::sections(record).into_iter();
    let all = all.filter(|section| !parts::is_drawn(record, section));
    let (demands, further): (Vec<Section>, Vec<Section>) =
        all.partition(|section| section.title == scenarios::THRESHOLDS);
    html! {
        (front::verdict(record))
        (front::keys(record))
        @for section in &demands { (titled(section)) }
        (drawn(&[("How it scales", chart::sweeps(record))], &[]))
        (delivery::section(record))
        (attribution::section(record))
        (round_trip::section(record))
        (attribution::steps::section(record))
        (parts::waterfall::section(record))
        (charts(record, tracks))
        (results(record))
        (pages(record, &further))
        @if !record.results.is_empty() { (details(record)) }
        (repeat(record))
        (page::how_to_read(&definitions::of(record)))
    }
}

fn results(record: &RunRecord) -> Markup {
    if let [only] = &record.results[..]
        && verdict::is_figure(only)
        && !streams::are_in(record)
    {
        return html! {}; // it has no times, and stands at the top
    }
    let remarks = notes::of(record);
    let shared = Points::of(record).shared();
    html! {
        @if !record.results.is_empty() {
            section {
                h2 { "Results" }
                @match &record.results[..] {
                    _ if streams::are_in(record) => {
                        @if record.results.len() > 1 && !shared.is_empty() {
                            p class="about" { "Every result: " (shared) "." }
                        }
                        (sheet::table("Streams, one row a result", &tables::results(record)))
                        @if let Some((intervals, more)) = streams::intervals(record) {
                            details class="more" {
                                summary { "By interval" }
                                (sheet::table("What was received when", &intervals))
                                @if !more.is_empty() { p class="about" { (more) } }
                            }
                        }
                    },
                    [only] => { (sheet::table("Every time measured", &tables::times(record, only))) },
                    _ => {
                        @if !shared.is_empty() { p class="about" { "Every result: " (shared) "." } }
                        (sheet::table("Response times, one row a result", &tables::results(record)))
                    },
                }
                @if let Some(table) = clients::table(record) {
                    h3 { "Clients" }
                    (sheet::table("One row a client, and all together", &table))
                }
                @if !remarks.is_empty() {
                    ul class="notes" { @for remark in &remarks { li { (typeset(remark)) } } }
                }
            }
        }
    }
}

/// The parts of the loads, and how their URLs were resolved.
fn pages(record: &RunRecord, sections: &[Section]) -> Markup {
    let facts = parts::facts(record);
    html! {
        @for section in sections.iter().chain(&parts::errors(record)) {
            (titled(section))
        }
        @if !facts.is_empty() {
            section {
                h2 { "Before the measurement" }
                (facts_list(&facts))
            }
        }
    }
}

fn titled(section: &Section) -> Markup {
    html! {
        section {
            h2 { (section.title) }
            p class="about" { (section.about) }
            (sheet::table(section.title, &section.table))
        }
    }
}

fn charts(record: &RunRecord, tracks: &[HostTrack]) -> Markup {
    let mut distributions = chart::percentiles(record);
    if let [only] = &record.results[..]
        && let Some(figures) = &only.niping
    {
        distributions.push(html! {
            figure class="chart" {
                figcaption {
                    "As niping prints it"
                    @let trust = Trust::of(&only.validity);
                    @if !trust.is_full() { " (" (trust.denial()) ")" }
                }
                pre { (niping::block(figures)) }
            }
        });
    }
    let (load, notes) = over_time(record, tracks);
    drawn(&[("Over time", load), ("Distribution", distributions)], &notes)
}

/// Charts under their titles, with what is to be said of those over time.
fn drawn(sections: &[(&str, Vec<Markup>)], notes: &[String]) -> Markup {
    html! {
        @for (title, figures) in sections {
            @if !figures.is_empty() {
                section {
                    h2 { (title) }
                    div class="charts" { @for figure in figures { (figure) } }
                    @if *title == "Over time" && !notes.is_empty() {
                        ul class="notes" { @for note in notes { li { (typeset(note)) } } }
                    }
                }
            }
        }
    }
}

/// The load over time, and under it what the machines did; what there is to say of them.
fn over_time(record: &RunRecord, tracks: &[HostTrack]) -> (Vec<Markup>, Vec<String>) {
    let (mut charts, mut notes) = (chart::timelines(record), Vec::new());
    charts.extend(chart::streams(record));
    let Some(end_ns) = chart::end_ns(record).filter(|_| !charts.is_empty()) else {
        return (charts, notes);
    };
    for track in tracks {
        let (drawn, said) = chart::machine(track, end_ns);
        charts.extend(drawn);
        notes.extend(said);
    }
    (charts, notes)
}

/// What came back: failures, status codes and lengths, as far as there were any.
fn answers(record: &RunRecord) -> Markup {
    let tables = [
        ("Failures by kind", tables::failures(record)),
        ("Status codes", tables::codes(record)),
        ("Content length", tables::lengths(record)),
    ];
    html! {
        @if tables.iter().any(|(_, table)| table.is_some()) {
            section {
                h2 { "Answers" }
                div class="columns" {
                    @for (title, table) in &tables {
                        @if let Some(table) = table { div { h3 { (title) } (sheet::table(title, table)) } }
                    }
                }
            }
        }
    }
}

/// The tables behind the figures.
fn details(record: &RunRecord) -> Markup {
    let formulas = tables::formulas(record);
    html! {
        (answers(record))
        section {
            @if streams::are_in(record) {
                h2 { "How the figures are made" }
            } @else {
                h2 { "Also measured" }
                (sheet::table("What else was measured", &tables::further(record)))
            }
            @if !formulas.is_empty() {
                dl class="formulas" {
                    @for (name, formula) in &formulas { dt { (name) } dd { "= " (formula) } }
                }
            }
        }
        @if let Some(table) = slowest::table(record) {
            section {
                h2 { "The slowest operations" }
                p class="about" { (slowest::ABOUT) }
                (sheet::table("One row an operation", &table))
            }
        }
        section {
            h2 { "The driver and its floor" }
            p class="about" {
                "How busy the load generator was: one that is never idle measures itself. "
                "Floor: " (typeset(&facts::floor(record))) "."
            }
            @let (driver, once) = tables::driver(record).said_once();
            (sheet::table("One row a result", &driver))
            @if !once.is_empty() {
                dl class="formulas" {
                    @for (title, said) in &once { dt { (title) } dd { (typeset(said)) } }
                }
            }
        }
        @if let Some(table) = host::table(record) {
            section {
                h2 { "The machine meanwhile" }
                p class="about" {
                    "Shares of all processors of the machine that drove the load. Others are "
                    "processes that are neither ours nor at the other end of the connection. "
                    "Receiving CPUs: (sum x)² / sum x² of the soft interrupts of receiving that "
                    "each processor handled."
                    @if record.far.is_some() {
                        " The far host tells its own shares, not whose they are, at the times of "
                        "the machine that drove the load."
                    }
                }
                (sheet::table("One row a result", &table))
            }
        }
        @if record.results.len() > 1 && record.results.iter().any(|r| r.niping.is_some()) {
            section {
                details {
                    summary { "As niping prints it" }
                    div class="blocks" {
                        @for result in Points::of(record).results {
                            @if let Some(figures) = &result.niping {
                                div { h3 { (result.name()) } pre { (niping::block(figures)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn facts_list(list: &[facts::Fact]) -> Markup {
    html! {
        dl class="facts" {
            @for known in list { dt { (known.name) } dd { (typeset(&known.value)) } }
        }
    }
}

fn repeat(record: &RunRecord) -> Markup {
    let options = facts::options(record);
    html! {
        section {
            h2 { "To repeat it" }
            pre class="command" { (facts::command(record)) }
            details class="more" {
                summary { "Circumstances and every option" }
                div class="columns wide" {
                    (facts_list(&facts::repeat(record)))
                    @if !options.is_empty() {
                        dl class="facts options" {
                            @for (name, value) in &options { dt { "--" (name) } dd { (value) } }
                        }
                    }
                }
            }
            details class="more" {
                summary { "The machines" }
                (facts_list(&facts::machines(record)))
            }
        }
    }
}
