//! Every effect on one axis: better to the right, no effect as a line.
//!
//! The plot is a column of a table, so that names wrap and a phone puts them above their row.
//! Every row is an image without a view box: places are in percent of its width, and strokes and
//! marks keep their size however wide it is.

use maud::{Markup, html};
use plumb_chart::{Effect, Effects};
use plumb_comparison::{Endpoint, Role};

use crate::comparison::figures::{change, interval, level, tone, value, verdict};
use crate::figures::{ABSENT, typeset};
use crate::noun::capitalised;

/// The rows of one contrast.
pub(crate) struct Group<'a> {
    /// What tells it from the others; empty for the only one.
    pub(crate) name: String,
    pub(crate) endpoints: Vec<&'a Endpoint>,
}

/// Width of the axis in user units: a phone's, so that its labels have room there.
const SPAN: f64 = 300.0;
/// Height of the axis in pixels.
const AXIS: u32 = 22;
/// How far an effect that is not tested may widen the axis, in spans of those that are.
const WIDER_MAX: f64 = 2.0;

/// The plot; nothing without any effect. `margin` is a share of the baseline.
pub(crate) fn draw(caption: &str, groups: &[Group<'_>], margin: Option<f64>) -> Option<Markup> {
    let endpoints = || groups.iter().flat_map(|group| group.endpoints.iter().copied());
    endpoints().find_map(Effect::estimate)?;
    let axis = axis_of(endpoints(), margin);
    let any = |wanted: Role| endpoints().any(|endpoint| endpoint.role == wanted);
    let rows = rows(groups);
    Some(html! {
        figure class="forest" {
            figcaption { (caption) }
            ul class="legend" {
                @if any(Role::Primary) { li { span class="key round primary" {} "primary" } }
                @if any(Role::Tested) { li { span class="key round" {} "tested" } }
                @if any(Role::Described) { li { span class="key round hollow" {} "described" } }
                @if any(Role::Approximate) { li { span class="key dashed" {} "approximate" } }
                @if margin.is_some() { li { span class="key margin" {} "equivalence margin" } }
            }
            table {
                thead {
                    tr {
                        th scope="col" class="name" { "figure" }
                        th scope="col" class="plot" { (ticks(&axis)) }
                        th scope="col" class="said" { "change, interval and its level" }
                    }
                }
                @for part in &rows {
                    tbody {
                        @if !part.title.is_empty() {
                            tr class="group" { th colspan="3" scope="rowgroup" { (part.title) } }
                        }
                        @for (name, endpoint) in &part.rows { (row(&axis, name, endpoint, margin)) }
                    }
                }
            }
            p class="note" {
                (typeset(&capitalised(&axis.axis.title))) "; better is on the right. Whiskers are intervals at \
                 their own level, not adjusted for several tests; verdicts use the adjusted p."
            }
        }
    })
}

/// Rows under one title.
struct ForestSection<'a> {
    title: &'a str,
    rows: Vec<(&'a str, &'a Endpoint)>, // with their names
}

/// A part a group; one part where a group is a single row, which then has the name of its group.
fn rows<'a>(groups: &'a [Group<'a>]) -> Vec<ForestSection<'a>> {
    let single = |group: &Group<'_>| group.endpoints.len() == 1;
    if groups.len() > 1 && groups.iter().all(single) {
        let rows = groups
            .iter()
            .flat_map(|group| group.endpoints.iter().map(|one| (group.name.as_str(), *one)));
        return vec![ForestSection { title: "", rows: rows.collect() }];
    }
    let part = |group: &'a Group<'a>| ForestSection {
        title: if groups.len() > 1 { &group.name } else { "" },
        rows: group.endpoints.iter().map(|one| (one.name.as_str(), *one)).collect(),
    };
    groups.iter().map(part).collect()
}

/// The axis holds what is tested; what is not may widen it, but not hide the rest.
fn axis_of<'a>(endpoints: impl Iterator<Item = &'a Endpoint>, margin: Option<f64>) -> Effects {
    let (mut tested, mut others) = (Vec::new(), Vec::new());
    for endpoint in endpoints {
        let list = match endpoint.role {
            Role::Primary | Role::Tested => &mut tested,
            Role::Described | Role::Approximate => &mut others,
        };
        list.extend(Effect::estimate(endpoint));
        list.extend(Effect::ends(endpoint).into_iter().flat_map(<[Effect; 2]>::from));
        let ends = margin.and_then(|share| Effect::margin(endpoint.better, share));
        list.extend(ends.into_iter().flat_map(<[Effect; 2]>::from));
    }
    if tested.is_empty() {
        return Effects::of(&others, (0.0, SPAN));
    }
    let narrow = Effects::of(&tested, (0.0, SPAN));
    others.retain(|effect| narrow.near(*effect, WIDER_MAX));
    tested.append(&mut others);
    Effects::of(&tested, (0.0, SPAN))
}

fn row(axis: &Effects, name: &str, endpoint: &Endpoint, margin: Option<f64>) -> Markup {
    let mut class = format!("{} {}", kind(endpoint.role), tone(endpoint.verdict));
    if endpoint.ratio.and_then(|ratio| Effect::of(endpoint.better, ratio)).is_none() {
        class.push_str(" empty");
    }
    let from_to = format!(
        "{} \u{2192} {}",
        value(&endpoint.unit, endpoint.baseline),
        value(&endpoint.unit, endpoint.candidate)
    );
    html! {
        tr class=(class) {
            th scope="row" class="name" {
                (name) " " span class="about" { (typeset(&from_to)) }
            }
            td class="plot" {
                svg aria-hidden="true" {
                    (ground(axis, endpoint, margin))
                    (marks(axis, endpoint))
                }
            }
            td class="said" {
                strong { (typeset(&change(endpoint))) }
                @if interval(endpoint) != ABSENT {
                    " " span class="about" {
                        (typeset(&format!("{} at {}", interval(endpoint), level(endpoint))))
                    }
                }
                " " span class="verdict" { (verdict(endpoint)) }
            }
        }
    }
}

fn kind(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Tested => "tested",
        Role::Described => "described",
        Role::Approximate => "approximate",
    }
}

/// The labels of the axis.
fn ticks(axis: &Effects) -> Markup {
    html! {
        svg height=(AXIS) aria-hidden="true" {
            @for tick in &axis.axis.ticks {
                text class="mid" x=(percent(tick.at)) y="15" { (tick.label) }
            }
        }
    }
}

/// The margin, the grid and the line of no effect.
fn ground(axis: &Effects, endpoint: &Endpoint, margin: Option<f64>) -> Markup {
    let ends = margin.and_then(|share| Effect::margin(endpoint.better, share));
    let none = percent(axis.at(Effect::none()));
    html! {
        @if let Some((worse, better)) = ends {
            rect class="margin" x=(percent(axis.at(worse))) y="0" height="100%"
                width=(percent(axis.at(better) - axis.at(worse))) {}
        }
        @for tick in &axis.axis.ticks {
            line class="grid" x1=(percent(tick.at)) x2=(percent(tick.at)) y1="0" y2="100%" {}
        }
        line class="none" x1=(none) x2=(none) y1="0" y2="100%" {}
    }
}

fn marks(axis: &Effects, endpoint: &Endpoint) -> Markup {
    let radius = if endpoint.role == Role::Primary { "5.5" } else { "4" };
    html! {
        @if let Some((worse, better)) = Effect::ends(endpoint) {
            @let (from, to) = (percent(axis.at(worse)), percent(axis.at(better)));
            line class="whisker" x1=(from) x2=(to) y1="50%" y2="50%" {}
            (end(axis, worse, "\u{ab}"))
            (end(axis, better, "\u{bb}"))
        }
        @if let Some(estimate) = Effect::estimate(endpoint) {
            @if axis.beyond(estimate) {
                @let left = axis.at(estimate) <= 0.0;
                text class={ "off " (if left { "" } else { "end" }) } y="50%" dy=".32em"
                    x=(percent(axis.at(estimate))) { (if left { "\u{ab}" } else { "\u{bb}" }) }
            } @else {
                circle cx=(percent(axis.at(estimate))) cy="50%" r=(radius) {}
            }
        }
    }
}

/// The end of a whisker: a stroke, or an arrow where it goes on beyond the axis.
fn end(axis: &Effects, effect: Effect, arrow: &str) -> Markup {
    let at = percent(axis.at(effect));
    html! {
        @if axis.beyond(effect) {
            text class="off mid" x=(at) y="50%" dy=".32em" { (arrow) }
        } @else {
            line class="whisker" x1=(at) x2=(at) y1="34%" y2="66%" {}
        }
    }
}

/// A coordinate of the axis in percent of the width.
fn percent(at: f64) -> String {
    format!("{:.2}%", at / SPAN * 100.0)
}
