//! The effect of a change along a label: where it helps, and where it does not.

use std::collections::BTreeMap;

use maud::{Markup, html};
use plumb_chart::{
    Axis, BOTTOM, Chart, Effect, Effects, Key, LEFT, LINES_MAX, RIGHT, TOP, coordinate as n, line,
};
use plumb_comparison::{Contrast, Endpoint};

use super::dot;
use crate::comparison::figures::{change, interval, level};
use crate::figures::{ABSENT, place, typeset};
use crate::labels::{LabelMap, Labels};
use crate::points::spread;
use crate::sweep::Sweep;
use crate::trust::Trust;

/// Candidates stand beside each other, so that no interval hides another: user units between two.
const BESIDE: f64 = 5.0;

/// Each effect with its interval over the label that varies most; `None` when that is no number.
/// `margin` is a share of the baseline.
pub(crate) fn draw(effects: &[(&Contrast, &Endpoint)], margin: Option<f64>) -> Option<Markup> {
    let maps: Vec<LabelMap> =
        effects.iter().map(|(contrast, of)| labels_of(contrast, of)).collect();
    let labels = Labels::of(&maps.iter().collect::<Vec<_>>());
    let drawable = maps
        .iter()
        .zip(effects)
        .filter_map(|(map, (_, endpoint))| Some((map, (*endpoint, Effect::estimate(endpoint)?))));
    let sweep = Sweep::of(&labels, &drawable.collect::<Vec<_>>())?;
    let numbers = sweep.numbers.as_deref().filter(|numbers| numbers.len() > 1)?;
    let series: Vec<_> =
        spread(sweep.series.len(), LINES_MAX).into_iter().map(|at| &sweep.series[at]).collect();
    let shown = || series.iter().flat_map(|series| series.places.iter().flatten());
    let better = shown().next()?.0.better;
    let bounds = margin.and_then(|share| Effect::margin(better, share));
    let held: Vec<Effect> = shown()
        .flat_map(|(endpoint, estimate)| {
            let ends = Effect::ends(endpoint).into_iter().flat_map(<[Effect; 2]>::from);
            ends.chain([*estimate])
        })
        .chain(bounds.into_iter().flat_map(<[Effect; 2]>::from))
        .collect();
    let x = Axis::values(sweep.label, &sweep.values, numbers, (LEFT, RIGHT));
    let y = Effects::of(&held, (BOTTOM, TOP));
    let middle = place(series.len().saturating_sub(1)) / 2.0;
    let none = n(y.at(Effect::none()));
    let marks = html! {
        @if let Some((worse, better)) = bounds {
            @let (low, high) = (y.at(worse), y.at(better));
            rect class="margin" x=(n(LEFT)) width=(n(RIGHT - LEFT)) y=(n(high))
                height=(n((low - high).max(0.5))) {}
        }
        line class="none" x1=(n(LEFT)) x2=(n(RIGHT)) y1=(none) y2=(none) {}
        @for (colour, series) in series.iter().enumerate() {
            @let shift = (place(colour) - middle) * BESIDE;
            @let places = numbers.iter().zip(&series.places);
            @let spots: Vec<(f64, &Endpoint, Effect)> = places
                .filter_map(|(number, found)| {
                    found.map(|(endpoint, effect)| (x.at(*number) + shift, endpoint, effect))
                })
                .collect();
            (of_series(&spots, &format!("s{colour}"), &y))
        }
    };
    let named = series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
    let mut keys: Vec<Key> =
        named.map(|(at, series)| Key::new(format!("s{at}"), series.name.clone())).collect();
    if margin.is_some() {
        keys.push(Key::new("margin", "equivalence margin"));
    }
    let title = match labels.constant.iter().find(|(label, _)| *label == "figure") {
        Some((_, figure)) => format!("Effect by {}: {figure}", sweep.label),
        None => format!("Effect by {}: primary figures", sweep.label),
    };
    let mut notes = vec!["Better is up. Whiskers are intervals at their own level.".to_owned()];
    if series.len() < sweep.series.len() {
        notes.push(format!(
            "{} of {} series are drawn, evenly spread.",
            series.len(),
            sweep.series.len()
        ));
    }
    Some(Chart { title, keys, x, y: y.axis, marks, notes }.draw())
}

fn of_series(spots: &[(f64, &Endpoint, Effect)], class: &str, y: &Effects) -> Markup {
    let points: Vec<(f64, f64)> =
        spots.iter().map(|(at, _, effect)| (*at, y.at(*effect))).collect();
    html! {
        path class={ "line " (class) } d=(line(&points)) {}
        @for ((at, endpoint, _), point) in spots.iter().zip(&points) {
            @if let Some((worse, better)) = Effect::ends(endpoint) {
                g class=(class) {
                    line class="whisker" x1=(n(*at)) x2=(n(*at)) y1=(n(y.at(worse)))
                        y2=(n(y.at(better))) {}
                }
            }
            (dot(class, Trust::Full, *point, &typeset(&said(endpoint))))
        }
    }
}

fn said(endpoint: &Endpoint) -> String {
    match interval(endpoint) {
        absent if absent == ABSENT => format!("{}, no interval", change(endpoint)),
        ends => format!("{}, {ends} at {}", change(endpoint), level(endpoint)),
    }
}

/// The labels of a contrast with what may differ, too: its candidate, and the figure it is judged by.
fn labels_of(contrast: &Contrast, endpoint: &Endpoint) -> BTreeMap<String, String> {
    let mut labels = contrast.labels.clone();
    labels.insert("variant".into(), contrast.candidate.clone());
    labels.insert("figure".into(), endpoint.name.clone());
    labels
}
