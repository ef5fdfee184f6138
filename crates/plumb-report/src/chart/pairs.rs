//! What happened from round to round: the effect of every pair, and beneath it both figures.

use maud::{Markup, html};
use plumb_chart::{Axis, BOTTOM, Chart, Effect, Effects, Key, LEFT, RIGHT, TOP, coordinate as n};
use plumb_comparison::{BlockFigures, Design, DesignKind, Endpoint, FigureUnit};
use plumb_measure::counted;

use super::dot;
use crate::comparison::figures::{change, interval, level, percent, value};
use crate::figures::{ABSENT, typeset};
use crate::points::spread;
use crate::trust::Trust;

/// Places that are drawn one by one; of more, as many are drawn evenly spread.
const PLACES_MAX: usize = 400;

/// The charts of one figure; nothing without a block. Separate runs have no pairs.
pub(crate) fn charts(endpoint: &Endpoint, design: &Design) -> Vec<Markup> {
    let all = &endpoint.blocks;
    let blocks: Vec<BlockFigures> =
        spread(all.len(), PLACES_MAX).into_iter().map(|at| all[at]).collect();
    let rounds = || all.iter().map(|block| block.round);
    let (Some(first), Some(last)) = (rounds().min(), rounds().max()) else { return Vec::new() };
    let paired = design.kind == DesignKind::Interleaved;
    let title = if paired { "round" } else { "interval" };
    let x = Axis::counted(title, (first, last), LEFT, RIGHT);
    let effects = if paired { effects(endpoint, &blocks, design.margin, &x) } else { None };
    let mut charts: Vec<Chart> = effects.into_iter().collect();
    charts.extend(values(endpoint, &blocks, paired, x));
    if blocks.len() < all.len() {
        let note = format!("{} of {} places are drawn, evenly spread.", blocks.len(), all.len());
        charts.iter_mut().for_each(|chart| chart.notes.push(note.clone()));
    }
    charts.iter().map(Chart::draw).collect()
}

/// The effect of every pair with the estimate and its interval.
fn effects(
    endpoint: &Endpoint,
    blocks: &[BlockFigures],
    margin: Option<f64>,
    x: &Axis,
) -> Option<Chart> {
    let pairs: Vec<(BlockFigures, Effect)> = blocks
        .iter()
        .filter_map(|block| Some((*block, Effect::of(endpoint.better, block.ratio()?)?)))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let estimate = Effect::estimate(endpoint);
    let ends = Effect::ends(endpoint);
    let margin = margin.and_then(|share| Effect::margin(endpoint.better, share));
    let bounds = [ends, margin].into_iter().flatten().flat_map(<[Effect; 2]>::from);
    let shown: Vec<Effect> =
        pairs.iter().map(|(_, effect)| *effect).chain(bounds).chain(estimate).collect();
    let y = Effects::of(&shown, (BOTTOM, TOP));
    let marks = html! {
        @if let Some(ends) = margin { (band("margin", &y, ends)) }
        @if let Some(ends) = ends { (band("band", &y, ends)) }
        (level_line("none", y.at(Effect::none())))
        @if let Some(estimate) = estimate { (level_line("estimate", y.at(estimate))) }
        @for (block, effect) in &pairs {
            (dot("s0", Trust::Full, (x.at_int(block.round), y.at(*effect)),
                 &typeset(&said(endpoint, block))))
        }
    };
    let mut keys = vec![Key::new("round s0", "pair")];
    if estimate.is_some() {
        keys.push(Key::new("estimate", typeset(&format!("estimate {}", change(endpoint)))));
    }
    if ends.is_some() {
        let words = format!("{} interval {}", level(endpoint), interval(endpoint));
        keys.push(Key::new("band", typeset(&words)));
    }
    if margin.is_some() {
        keys.push(Key::new("margin", "equivalence margin"));
    }
    let title = format!("Effect of every pair, {}", endpoint.name);
    let with_zero =
        blocks.iter().filter(|it| it.effect().is_some() && it.ratio().is_none()).count();
    let note = format!("Not drawn: {} with a figure of 0.", counted(with_zero as u64, "pair"));
    let notes = (with_zero > 0).then_some(note).into_iter().collect();
    Some(Chart { title, keys, x: x.clone(), y: y.axis, marks, notes })
}

/// Baseline and candidate, joined where they are a pair.
fn values(endpoint: &Endpoint, blocks: &[BlockFigures], paired: bool, x: Axis) -> Option<Chart> {
    let usable = |figure: Option<f64>| figure.filter(|value| value.is_finite());
    let figures = || {
        blocks.iter().flat_map(|block| [usable(block.baseline), usable(block.candidate)]).flatten()
    };
    let range = (figures().min_by(f64::total_cmp)?, figures().max_by(f64::total_cmp)?);
    let title = unit_title(&endpoint.unit);
    let y = match endpoint.unit {
        FigureUnit::Ns => Axis::times_around(title, range, BOTTOM, TOP),
        FigureUnit::PerSecond | FigureUnit::KbPerSecond | FigureUnit::Bytes | FigureUnit::Plain => {
            Axis::figures_around(title, range, BOTTOM, TOP)
        }
    };
    let marks = html! {
        @for block in blocks {
            @let at = x.at_int(block.round);
            @let (baseline, candidate) = (usable(block.baseline), usable(block.candidate));
            @if let (true, Some(baseline), Some(candidate)) = (paired, baseline, candidate) {
                line class="link" x1=(n(at)) x2=(n(at)) y1=(n(y.at(baseline))) y2=(n(y.at(candidate))) {}
            }
            @let words = typeset(&said(endpoint, block));
            @if let Some(figure) = baseline { (dot("s5", Trust::Full, (at, y.at(figure)), &words)) }
            @if let Some(figure) = candidate { (dot("s0", Trust::Full, (at, y.at(figure)), &words)) }
        }
    };
    let keys = vec![Key::new("round s5", "baseline"), Key::new("round s0", "candidate")];
    let (what, notes) = if paired {
        ("Both of every pair", Vec::new())
    } else {
        let note = "The runs followed each other: what stands above one place was not measured \
                    at the same time.";
        ("Both over their own runs", vec![note.into()])
    };
    let title = format!("{what}, {}", endpoint.name);
    Some(Chart { title, keys, x, y, marks, notes })
}

fn unit_title(unit: &FigureUnit) -> &'static str {
    match unit {
        FigureUnit::Ns => "time",
        FigureUnit::PerSecond => "a second",
        FigureUnit::KbPerSecond => "kB/s",
        FigureUnit::Bytes => "bytes",
        FigureUnit::Plain => "figure",
    }
}

fn band(class: &str, y: &Effects, (worse, better): (Effect, Effect)) -> Markup {
    let (low, high) = (y.at(worse), y.at(better));
    html! {
        rect class=(class) x=(n(LEFT)) width=(n(RIGHT - LEFT)) y=(n(high))
            height=(n((low - high).max(0.5))) {}
    }
}

fn level_line(class: &str, at: f64) -> Markup {
    html! { line class=(class) x1=(n(LEFT)) x2=(n(RIGHT)) y1=(n(at)) y2=(n(at)) {} }
}

/// A block in words: both figures, and their effect where they are a pair.
fn said(endpoint: &Endpoint, block: &BlockFigures) -> String {
    let shown = |figure: Option<f64>| {
        figure.map_or_else(|| ABSENT.into(), |figure| value(&endpoint.unit, figure))
    };
    let both = format!(
        "{}: baseline {}, candidate {}",
        block.round,
        shown(block.baseline),
        shown(block.candidate)
    );
    match block.ratio().filter(|ratio| ratio.is_finite()) {
        Some(ratio) => format!("{both}, {}", percent(endpoint.improvement(ratio))),
        None => both,
    }
}
