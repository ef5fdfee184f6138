//! Recordings as one self-contained page: styles, charts and their script inline, nothing fetched.

use maud::{Markup, html};

use plumb_chart::{ChartTime, HistoryChart, View, history, joined};
use plumb_page::figures::typeset;
use plumb_page::tile::{self, Tile};
use plumb_page::{Definition, page, sheet};

use super::{Recording, Recordings, Remark, SCHEMA, counted, tables};

const STYLE: &str = include_str!("recording.css");

/// Remarks that are spelled out at once; further ones unfold.
const REMARKS_MAX: usize = 5;

const DEFINITIONS: [Definition; 4] = [
    Definition {
        term: "Average, minimum, maximum",
        meaning: "The average weighs every figure by the seconds for which it stands, so that \
                  intervals of different length count as long as they are. Minimum and maximum \
                  are those of single intervals: within one, the machine may have done more.",
    },
    Definition {
        term: "Cores busy, processor time",
        meaning: "Processors that were at work, by the rule that is named beside them; processor \
                  time is their sum over time. A share of a partition that lends its processors is \
                  no measure of work, therefore the rule differs between systems.",
    },
    Definition { term: "KB, MB", meaning: "As nmon counts them: 1,024 bytes and 1,024 KB." },
    Definition {
        term: "Missing",
        meaning: "A figure that was not recorded, or that the recorder marked as unknown. It is \
                  left out of every statistic and is a gap in a chart, never a zero.",
    },
];

/// The recordings as an HTML document.
#[must_use]
pub fn render(recordings: &Recordings) -> String {
    let list = &recordings.list;
    let content = html! {
        (head(recordings))
        main {
            @if let Some(together) = &recordings.together {
                section {
                    h2 { "Side by side" }
                    @for doubt in &together.doubts {
                        p class="validity bad" { strong { "NOT CONSISTENT" } " " (doubt) "." }
                    }
                    (sheet::table("Counters that several recordings have", &tables::together(together)))
                }
            }
            @for recording in list { (one(recording, list.len() > 1)) }
            (page::how_to_read(&DEFINITIONS))
        }
        footer { "plumb " (recordings.version) ", " (SCHEMA) }
    };
    page::styled(&recordings.title(), "recordings", &[STYLE], &content)
}

fn head(recordings: &Recordings) -> Markup {
    html! {
        header {
            @match &recordings.list[..] {
                [only] => {
                    h1 { (only.host) " " span class="target" { "recorded in " (only.file) } }
                    p class="about" { (typeset(&only.about)) }
                },
                several => {
                    h1 {
                        (counted(several.len() as u64, "recording"))
                        " " span class="target" { (recordings.title()) }
                    }
                },
            }
        }
    }
}

fn one(recording: &Recording, several: bool) -> Markup {
    html! {
        div class="recording" {
            @if several {
                h2 class="host" { (recording.host) }
                p class="about" { (recording.file) " \u{b7} " (typeset(&recording.about)) }
            }
            (check(recording))
            (troubles(recording))
            (keys(recording))
            (charts(recording))
            (commands(recording))
            (counters(recording))
            (facts(recording))
        }
    }
}

fn check(recording: &Recording) -> Markup {
    let (word, tone, meaning) = recording.check.verdict();
    html! {
        section class={ "validity " (tone) } aria-label="Figures that must agree" {
            p { strong { (word) } " " (meaning) }
            (remarks(&recording.check.findings, recording.check.left_out))
        }
    }
}

fn troubles(recording: &Recording) -> Markup {
    let all = recording.troubles_all();
    html! {
        @if all > 0 {
            section class="validity part" aria-label="Troubles of the file" {
                p {
                    strong { "TROUBLES" } " " (counted(all, "remark"))
                    " on the file; whatever could be read around them was."
                }
                (remarks(&recording.troubles, recording.troubles_left_out))
            }
        }
    }
}

fn remarks(all: &[Remark], left_out: u64) -> Markup {
    let (first, further) = all.split_at(all.len().min(REMARKS_MAX));
    html! {
        @if !first.is_empty() { (remark_list(first)) }
        @if !further.is_empty() {
            details {
                summary { (further.len()) " more" }
                (remark_list(further))
            }
        }
        @if left_out > 0 { p class="note" { "And " (counted(left_out, "message")) " more." } }
    }
}

fn remark_list(remarks: &[Remark]) -> Markup {
    html! {
        ul {
            @for remark in remarks {
                li { span class="takes line-of" { "line " (remark.line) } " " (remark.text) }
            }
        }
    }
}

fn keys(recording: &Recording) -> Markup {
    let tiles: Vec<Tile> = recording
        .keys
        .iter()
        .map(|key| Tile::new(key.name.clone(), key.value.clone(), key.about.clone()))
        .collect();
    html! { @if !tiles.is_empty() { (tile::tiles(&tiles)) } }
}

fn counters(recording: &Recording) -> Markup {
    html! {
        @if !recording.counters.is_empty() {
            section {
                h2 { "Counters" }
                (sheet::table("One row a counter", &tables::counters(recording)))
                @if !recording.totals.is_empty() {
                    dl class="formulas" {
                        @for total in &recording.totals {
                            dt { (total.name) } dd { (typeset(&total.value)) }
                        }
                    }
                }
            }
        }
    }
}

fn charts(recording: &Recording) -> Markup {
    let time = &recording.time;
    let (first, further) = (drawn(&recording.charts, time), drawn(&recording.further, time));
    html! {
        @if !first.is_empty() || !further.is_empty() || !recording.notes.is_empty() {
            section {
                h2 { "Over time" }
                @if let Some(words) = joined(time) { p class="about" { (words) } }
                @if !first.is_empty() { div class="charts" { @for figure in &first { (figure) } } }
                @if !recording.notes.is_empty() {
                    ul class="notes" { @for note in &recording.notes { li { (note) } } }
                }
                @if !further.is_empty() {
                    details {
                        summary { (counted(further.len() as u64, "further section")) }
                        div class="charts" { @for figure in &further { (figure) } }
                    }
                }
            }
        }
    }
}

fn drawn(charts: &[HistoryChart], time: &ChartTime) -> Vec<Markup> {
    charts.iter().filter_map(|one| history(one, time, View::default())).collect()
}

fn commands(recording: &Recording) -> Markup {
    html! {
        @if !recording.commands.is_empty() {
            section {
                h2 { "Commands" }
                (sheet::table("The most processor time first", &tables::commands(recording)))
            }
        }
    }
}

fn facts(recording: &Recording) -> Markup {
    html! {
        @if !recording.facts.is_empty() {
            section {
                h2 { "The host and its recording" }
                dl class="facts" {
                    @for fact in &recording.facts {
                        dt { (fact.name) } dd { (typeset(&fact.value)) }
                    }
                }
            }
        }
    }
}
