//! The parts as bars, each as long as its whole.

use maud::{Markup, html};
use plumb_measure::{PartKind, RunRecord};

use super::{findings, name, parts, readings, sentences, stack, steps, tables, times};
use crate::figures::typeset;
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
    let points = Points::of(record);
    let hows = hows(record);
    let sentences = sentences(record);
    html! {
        section {
            h2 { "Where the time went" }
            (stack::legend(&tables::kinds(record)))
            @for (result, (named, sentence)) in points
                .results
                .iter()
                .filter(|result| result.attribution.is_some())
                .zip(&sentences)
            {
                @if let Some(attribution) = &result.attribution {
                    div class="stack" {
                        @if !named.is_empty() { h3 { (named) } }
                        @if let Ok(account) = attribution.account() {
                            (stack::bar("", &account.split, !Trust::of(&result.validity).is_full()))
                        }
                        p { (typeset(sentence)) }
                    }
                }
            }
            p class="about" {
                "Means, because means add up and medians do not; behind +- half of the 95 % "
                "interval. Every bar is as long as its own whole."
                @if tables::any_faster(record) {
                    " Where the time of all calls cannot be split, the bar is that of the faster nine "
                    "tenths of the calls."
                }
            }
            (sheet::table("Means of the parts, one row a result", &table))
            dl class="formulas" {
                @for (kind, how) in &hows { dt { (name(*kind)) } dd { (how) } }
            }
            @if let Some(table) = findings(record) {
                h3 { "What to look at next" }
                (sheet::table("One row a finding", &table))
            }
            @if let Some(table) = readings(record) {
                h3 { "What the server says of its own time" }
                (sheet::table("One row a source", &table))
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
