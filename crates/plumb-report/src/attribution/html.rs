//! The parts of each result as bars, and what they say.

use maud::{Markup, html};
use plumb_measure::{Account, Attribution, PartKind, ResultRecord, RunRecord, show_ns};

use super::{advice, name, parts, readings, sentence, stack, steps, tables, times};
use crate::figures::{real, typeset};
use crate::parts::waterfall;
use crate::points::Points;
use crate::round_trip;
use crate::sheet;
use crate::trust::Trust;

/// The styles of the bars, for a page that has some.
pub(crate) fn styles(record: &RunRecord) -> &'static str {
    let any = record.results.iter().any(|result| result.attribution.is_some());
    let any = any || round_trip::are_in(record);
    if any || steps::are_in(record) || waterfall::is_for(record) { stack::STYLES } else { "" }
}

/// Everything about where the time went; nothing when nothing was looked into.
pub(crate) fn section(record: &RunRecord) -> Markup {
    let Some(table) = parts(record) else { return html! {} };
    let hows = hows(record);
    html! {
        section {
            h2 { "Where the time went" }
            (bars(record))
            (advice::section(record))
            details {
                summary { "The figures of the bars, with half of the 95 % interval" }
                (sheet::table("Means of the parts, one row a result", &table))
                dl class="formulas" {
                    @for (kind, how) in &hows { dt { (name(*kind)) } dd { (how) } }
                }
            }
            @if let Some((table, sources)) = readings(record) {
                h3 { "What the server says of its own time" }
                (sheet::table("One row a source", &table))
                dl class="formulas" {
                    @for (source, about) in &sources { dt { (source) } dd { (typeset(about)) } }
                }
            }
            @if let Some(table) = times(record) {
                details {
                    summary { "The times behind the parts" }
                    (sheet::table("Distributions; their medians do not add up", &table))
                }
            }
        }
    }
}

/// A result that was looked into.
struct Looked<'a> {
    /// What tells it from the others; empty for the only one.
    name: String,
    result: &'a ResultRecord,
    attribution: &'a Attribution,
    /// Its parts, or why it has none.
    account: Result<Account, String>,
}

impl Looked<'_> {
    /// The time that its bar stands for, nanoseconds.
    fn whole_ns(&self) -> u64 {
        let client = self.attribution.client.mean_ns;
        let whole = self.account.as_ref().map_or(client, |it| it.split.whole.mean_ns);
        u64::try_from(whole).unwrap_or(0)
    }
}

/// Longer bars than this many times others would leave nothing to see of them: each such group has a
/// scale of its own.
const SPREAD_MAX: u64 = 12;

/// A bar a result, the longest first, as long as its time on the scale that it shares.
fn bars(record: &RunRecord) -> Markup {
    let points = Points::of(record);
    let several = points.results.len() > 1;
    let looked = points.results.iter().filter_map(|result| {
        let attribution = result.attribution.as_ref()?;
        let name = if several { points.name(result) } else { String::new() };
        let account = attribution.account().map_err(|reason| reason.to_string());
        Some(Looked { name, result, attribution, account })
    });
    let mut looked: Vec<Looked<'_>> = looked.collect();
    looked.sort_by_key(|it| std::cmp::Reverse(it.whole_ns()));
    let groups = groups(&looked);
    html! {
        (stack::legend(&tables::kinds(record)))
        @for group in &groups {
            @let scale_ns = group.first().map_or(1, Looked::whole_ns).max(1);
            div class="stack common" {
                @for one in *group { (bar(one, scale_ns)) }
                @if looked.len() > 1 {
                    p class="about" { "The whole width is " (typeset(&show_ns(scale_ns))) "." }
                }
            }
        }
        p class="about" {
            "Means, because means add up and medians do not."
            @if groups.len() > 1 { " Every box has one scale of its own." }
            @if tables::any_faster(record) {
                " Where the time of all calls cannot be split, the bar is that of the faster nine "
                "tenths of the calls."
            }
        }
        @if let [only] = &looked[..] {
            p { (typeset(&sentence(only.attribution))) }
        } @else {
            details {
                summary { "Every bar in words" }
                @for one in &looked {
                    p { strong { (one.name) } ": " (typeset(&sentence(one.attribution))) }
                }
            }
        }
    }
}

/// Neighbours of which none is many times as long as another.
fn groups<'a, 'r>(looked: &'a [Looked<'r>]) -> Vec<&'a [Looked<'r>]> {
    let mut groups = Vec::new();
    let mut rest = looked;
    while let Some(first) = rest.first() {
        let close = |it: &Looked<'_>| it.whole_ns().saturating_mul(SPREAD_MAX) >= first.whole_ns();
        let end = rest.iter().position(|it| !close(it)).unwrap_or(rest.len()).max(1);
        let (group, further) = rest.split_at(end);
        groups.push(group);
        rest = further;
    }
    groups
}

fn bar(one: &Looked<'_>, scale_ns: u64) -> Markup {
    let doubt = !Trust::of(&one.result.validity).is_full();
    let wide = real(one.whole_ns()) / real(scale_ns);
    match &one.account {
        Ok(account) => stack::bar_within(&one.name, &account.split, doubt, wide),
        Err(reason) => {
            let whole_ns = one.attribution.client.mean_ns;
            stack::unsplit(&one.name, whole_ns, reason, wide)
        }
    }
}

/// How each kind of part was measured, once.
fn hows(record: &RunRecord) -> Vec<(PartKind, &str)> {
    let all = || record.results.iter().filter_map(|it| it.attribution.as_ref());
    PartKind::ALL
        .into_iter()
        .filter_map(|kind| {
            let part = all().flat_map(tables::every_part).find(|part| part.kind == kind)?;
            Some((kind, part.how.as_str()))
        })
        .collect()
}
