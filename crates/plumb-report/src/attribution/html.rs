//! The parts as bars, each as long as its whole.

use maud::{Markup, html};
use plumb_measure::{PartKind, RunRecord, Split, show_ns};

use super::{KINDS, findings, name, parts, readings, sentences, tables, times};
use crate::figures::typeset;
use crate::html::sheet;
use crate::points::Points;
use crate::trust::Trust;

/// The styles of the bars, for a page that has some.
pub(crate) fn styles(record: &RunRecord) -> &'static str {
    let any = record.results.iter().any(|result| result.attribution.is_some());
    if any { include_str!("stack.css") } else { "" }
}

/// Width and height of a bar, in its own units.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 26.0;

/// Everything about where the time went; nothing when nothing was looked into.
pub(crate) fn section(record: &RunRecord) -> Markup {
    let Some(table) = parts(record) else { return html! {} };
    let points = Points::of(record);
    let hows = hows(record);
    let sentences = sentences(record);
    html! {
        section {
            h2 { "Where the time went" }
            ul class="legend" {
                @for kind in tables::kinds(record) {
                    li { span class={ "key stacked " (class(kind)) } {} (name(kind)) }
                }
            }
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
                            (bar(&account.split, Trust::of(&result.validity)))
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
    KINDS
        .into_iter()
        .filter_map(|kind| {
            let part = all().flat_map(tables::every_part).find(|part| part.kind == kind)?;
            Some((kind, part.how.as_str()))
        })
        .collect()
}

/// One bar, as long as all shares together.
fn bar(split: &Split<PartKind>, trust: Trust) -> Markup {
    let ordered = KINDS.into_iter().flat_map(|kind| split.all().filter(move |it| it.of == kind));
    let mut at = 0.0;
    let rects: Vec<(f64, f64, PartKind, String)> = ordered
        .filter(|part| part.share > 0.0)
        .map(|part| {
            let width = part.share * WIDTH;
            let from = at;
            at += width;
            let shown = show_ns(part.time.mean_ns.unsigned_abs());
            (from, width, part.of, format!("{} {shown}", name(part.of)))
        })
        .collect();
    let spoken: Vec<&str> = rects.iter().map(|(_, _, _, words)| words.as_str()).collect();
    let doubt = (trust != Trust::Full).then_some("doubt");
    html! {
        svg class=[doubt] viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none"
            role="img" aria-label=(spoken.join(", ")) {
            @for (from, width, kind, words) in &rects {
                rect class={ "part " (class(*kind)) } x=(format!("{from:.1}")) y="0"
                    width=(format!("{width:.1}")) height=(HEIGHT) {
                    title { (typeset(words)) }
                }
            }
        }
    }
}

/// The class that carries the colour of a kind.
fn class(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Server => "s0",
        PartKind::Wire => "s2",
        PartKind::Due => "s4",
        PartKind::Queue => "s1",
        PartKind::Connect => "s3",
        PartKind::Rest => "s5",
    }
}
