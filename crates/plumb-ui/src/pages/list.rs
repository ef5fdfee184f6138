//! The list of runs.

use maud::{Markup, html};
use plumb_measure::{counted, grouped, show_count};
use plumb_page::figures::typeset;
use plumb_wire::percent::form_encoded;

use super::{moment, tone};
use crate::index::{Filter, List, PAGE, Row, shown_ns};
use crate::route;

const KINDS: [(&str, &str); 6] = [
    ("", "everything"),
    ("run", "single runs"),
    ("experiment", "experiments"),
    ("ladder", "ladders"),
    ("checkup", "checkups"),
    ("check", "checks of a path"),
];

/// What the list shows.
#[derive(Debug)]
pub(crate) struct ListPage<'a> {
    pub(crate) filter: &'a Filter,
    pub(crate) list: &'a List,
    /// What has not ended.
    pub(crate) under_way: &'a [Row],
    /// What is to be said of the index.
    pub(crate) notes: &'a [String],
}

/// The page.
pub(crate) fn list(page: &ListPage<'_>) -> Markup {
    let ListPage { filter, list, under_way, notes } = page;
    html! {
        @for note in *notes { p class="note" role="status" { (note) } }
        @if !under_way.is_empty() {
            section class="now" {
                h2 { "Under way" }
                ul {
                    @for row in *under_way {
                        li {
                            a href=(route::show(&row.path)) { (name(row)) }
                            " since " (moment(row.started_ns)) " UTC"
                        }
                    }
                }
            }
        }
        (filters(filter, list))
        @if list.rows.is_empty() {
            p class="sentence" { (nothing(list)) }
        } @else {
            form method="get" action="/compare" id="choice" {
                (table(list))
                p class="compare" {
                    button { "Compare those marked" }
                    span class="note" {
                        " The earliest is the baseline. Keys: " kbd { "/" } " search, " kbd { "j" } " and "
                        kbd { "k" } " down and up, " kbd { "x" } " mark, " kbd { "Enter" } " open, "
                        kbd { "c" } " compare."
                    }
                }
            }
            (pages(filter, list))
        }
    }
}

fn nothing(list: &List) -> &'static str {
    if list.known == 0 {
        "There are no runs yet. Start one, or go to Measure."
    } else {
        "Nothing is like this. Leave out a word or a filter."
    }
}

fn filters(filter: &Filter, list: &List) -> Markup {
    html! {
        form method="get" action="/" class="fields" role="search" {
            label class="wide" { "Search " input type="search" name="q" value=(filter.text) id="search"; }
            label {
                "What "
                select name="kind" {
                    @for (word, name) in KINDS {
                        option value=(word) selected[word == filter.kind] { (name) }
                    }
                }
            }
            (choice("Command", "command", &filter.command, &list.commands))
            (choice("Verdict", "verdict", &filter.verdict, &list.verdicts))
            label {
                "Target " input type="text" name="target" value=(filter.target) list="targets";
                datalist id="targets" { @for target in &list.targets { option value=(target) {} } }
            }
            label { "From " input type="date" name="from" value=(filter.from); }
            label { "To " input type="date" name="to" value=(filter.to); }
            label class="tick" {
                input type="checkbox" name="parts" value="yes" checked[filter.parts]; " parts, too"
            }
            button { "Show" }
            @if !filter.pairs().is_empty() { a href="/" { "All" } }
        }
    }
}

fn choice(title: &str, name: &str, chosen: &str, values: &[String]) -> Markup {
    let known = chosen.is_empty() || values.iter().any(|value| value == chosen);
    html! {
        label {
            (title) " "
            select name=(name) {
                option value="" { "any" }
                @if !known { option value=(chosen) selected { (chosen) } }
                @for value in values {
                    option value=(value) selected[value == chosen] { (value) }
                }
            }
        }
    }
}

fn table(list: &List) -> Markup {
    html! {
        div class="sheet" tabindex="0" role="region" aria-label="Runs" {
            table class="runs" {
                caption { "Runs, the latest first" }
                thead {
                    tr {
                        th scope="col" { span class="unseen" { "Mark" } }
                        th scope="col" class="words" { "began (UTC)" }
                        th scope="col" class="words" { "what" }
                        th scope="col" class="words" { "target" }
                        th scope="col" class="words" { "verdict" }
                        th scope="col" { "median" }
                        th scope="col" { "p99" }
                        th scope="col" { "per s" }
                        th scope="col" { "failed" }
                    }
                }
                tbody { @for row in &list.rows { (line(row)) } }
            }
        }
    }
}

fn line(row: &Row) -> Markup {
    let time = |ns: Option<i64>| ns.map_or_else(String::new, |ns| typeset(&shown_ns(ns)));
    let failed = u64::try_from(row.failed).unwrap_or(0);
    html! {
        tr class=(tone(&row.verdict)) {
            td {
                @if row.kind == "run" && !row.is_under_way() {
                    input type="checkbox" name="run" value=(row.path) aria-label={ "Mark " (row.path) };
                }
            }
            td class="words" { (moment(row.started_ns)) }
            td class="words what" {
                a href=(route::show(&row.path)) { (name(row)) }
                span class="path" { (row.path) }
            }
            td class="words target" title=(row.target) { span { (row.target) } }
            td class="words verdict" title=(row.detail) {
                (row.verdict)
                @if !row.detail.is_empty() { span class="path" { (row.detail) } }
            }
            td class="latency" data-name="median" { (time(row.p50)) }
            td class="latency" data-name="p99" { (time(row.p99)) }
            td class="rate" data-name="per s" { @if let Some(rate) = row.rate { (show_count(rate)) } }
            td data-name="failed" { @if failed > 0 { (grouped(failed)) } }
        }
    }
}

/// What a row is called, which is never nothing: it is what one follows.
pub(super) fn name(row: &Row) -> &str {
    if row.command.is_empty() { &row.path } else { &row.command }
}

fn pages(filter: &Filter, list: &List) -> Markup {
    let last = list.found.div_ceil(PAGE);
    let address = |page: usize| {
        let mut words: Vec<String> = filter
            .pairs()
            .iter()
            .map(|(name, it)| format!("{name}={}", form_encoded(it)))
            .collect();
        words.push(format!("page={page}"));
        format!("/?{}", words.join("&"))
    };
    let page = filter.page + 1;
    html! {
        p class="pages" {
            (counted(list.found as u64, "line"))
            @if last > 1 {
                ", page " (page) " of " (last) " "
                @if page > 1 { a href=(address(page - 1)) rel="prev" { "later" } " " }
                @if page < last { a href=(address(page + 1)) rel="next" { "earlier" } }
            }
        }
    }
}
