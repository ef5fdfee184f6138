//! Latency by percentile, on an axis that gives every further nine the same room.

use maud::{Markup, html};
use plumb_chart::{Axis, BOTTOM, Chart, Key, LEFT, LINES_MAX, RIGHT, TOP, line};
use plumb_measure::{Distribution, ResultRecord, RunRecord, show_ns};

use super::dot;
use crate::figures::{place, real, total, typeset};
use crate::notes::{in_pieces, waited};
use crate::parts;
use crate::points::{Points, spread};
use crate::trust::Trust;

/// Charts of one run that are still read.
const CHARTS_MAX: usize = 4;
/// Places at which a curve is drawn; more than a screen has room for.
const STEPS: usize = 150;

/// One distribution to draw.
pub(crate) struct Curve<'a> {
    pub(crate) name: String,
    pub(crate) times: &'a Distribution,
    pub(crate) trust: Trust,
    /// Its colour, where that means the same in several charts; absent: that of its place.
    pub(crate) colour: Option<usize>,
}

impl<'a> Curve<'a> {
    fn new(name: impl Into<String>, times: &'a Distribution, trust: Trust) -> Self {
        Self { name: name.into(), times, trust, colour: None }
    }
}

/// Curves that share a chart.
pub(crate) struct Panel<'a> {
    pub(crate) title: String,
    pub(crate) curves: Vec<Curve<'a>>,
}

/// The curves of all results, or of as many as can be read, and whether that was all.
pub(crate) fn charts(record: &RunRecord) -> Vec<Markup> {
    let points = Points::of(record);
    if let [only] = points.results[..] {
        let (title, parts) = parts::curves(record);
        let parts = parts.into_iter().map(|(name, times, trust)| Curve::new(name, times, trust));
        let response = ("Response time by percentile".into(), times_of(only));
        return draw_all(record, vec![response, (title, parts.collect())]);
    }
    let Some(sweep) = points.sweep() else {
        let named = points.results.iter().map(|result| (points.name(result), *result));
        let curves = named.filter_map(|(name, result)| response(name, result)).collect();
        return draw_all(record, vec![("Response time by percentile".into(), curves)]);
    };
    let panels: Vec<(String, Vec<Curve<'_>>)> = sweep
        .series
        .iter()
        .map(|series| {
            let curves = sweep.values.iter().zip(&series.places).filter_map(|(value, result)| {
                response(format!("{} {value}", sweep.label), (*result)?)
            });
            let title = if series.name.is_empty() {
                "Response time by percentile".into()
            } else {
                format!("Response time by percentile, {}", series.name)
            };
            (title, curves.collect())
        })
        .collect();
    draw_all(record, panels)
}

fn response(name: String, result: &ResultRecord) -> Option<Curve<'_>> {
    let times = result.response_ns.as_ref()?;
    Some(Curve::new(name, times, Trust::of(&result.validity)))
}

/// The times of a single result that differ from each other.
fn times_of(result: &ResultRecord) -> Vec<Curve<'_>> {
    let trust = Trust::of(&result.validity);
    [
        ("response time", result.response_ns.as_ref()),
        ("service time", result.service_ns.as_ref().filter(|_| waited(result))),
        ("first byte", result.first_byte_ns.as_ref().filter(|_| in_pieces(result))),
    ]
    .into_iter()
    .filter_map(|(name, times)| Some(Curve::new(name, times?, trust)))
    .collect()
}

fn draw_all(record: &RunRecord, panels: Vec<(String, Vec<Curve<'_>>)>) -> Vec<Markup> {
    let floor = record.floor.as_ref().map(|floor| &floor.service_ns);
    draw(floor, panels.into_iter().map(|(title, curves)| Panel { title, curves }).collect())
}

/// Draws the panels on the same axes, with the floor in each.
pub(crate) fn draw(floor: Option<&Distribution>, mut panels: Vec<Panel<'_>>) -> Vec<Markup> {
    panels.retain(|panel| !panel.curves.is_empty());
    let drawn = spread(panels.len(), CHARTS_MAX);
    let note = (drawn.len() < panels.len()).then(|| {
        format!(
            "{} of {} groups of curves are drawn; the table holds every result.",
            drawn.len(),
            panels.len()
        )
    });
    let shown: Vec<&Distribution> =
        panels.iter().flat_map(|panel| panel.curves.iter().map(|curve| curve.times)).collect();
    let Some(samples) = shown.iter().map(|times| times.count).max() else { return Vec::new() };
    let bounds = shown.iter().copied().chain(floor);
    let low = bounds.clone().map(|times| times.min).min().unwrap_or(1);
    let high = bounds.map(|times| times.max).max().unwrap_or(1);
    let x = Axis::percentiles(real(samples.max(1)).log10(), LEFT, RIGHT);
    let y = Axis::times("time", (low, high), BOTTOM, TOP);
    drawn
        .into_iter()
        .enumerate()
        .map(|(at, panel)| {
            let Panel { title, curves } = &panels[panel];
            let mut chart = chart_of(title, curves, floor, (x.clone(), y.clone()));
            chart.notes.extend(note.clone().filter(|_| at == 0));
            chart.draw()
        })
        .collect()
}

fn chart_of(
    title: &str,
    curves: &[Curve<'_>],
    floor: Option<&Distribution>,
    (x, y): (Axis, Axis),
) -> Chart {
    let mut keys = Vec::new();
    let mut notes = Vec::new();
    let mut marks = Vec::new();
    if let Some(floor) = floor {
        let (points, _) = trace(floor, &x, &y);
        marks
            .push(html! { path class="line floor" d=(line(&points)) { title { "tool's floor" } } });
    }
    let chosen = spread(curves.len(), LINES_MAX);
    if chosen.len() < curves.len() {
        notes.push(format!(
            "{} of {} curves are drawn, evenly spread; the table holds every result.",
            chosen.len(),
            curves.len()
        ));
    }
    for (colour, at) in chosen.into_iter().enumerate() {
        let curve = &curves[at];
        let colour = curve.colour.unwrap_or(colour);
        let doubt = if curve.trust == Trust::Full { "" } else { " doubt" };
        let class = format!("s{colour}{doubt}");
        let (points, whole) = trace(curve.times, &x, &y);
        if !whole {
            notes.push(format!(
                "{}: the histogram cannot be read; the curve joins the stored percentiles.",
                curve.name
            ));
        }
        marks.push(html! {
            path class={ "line " (class) } d=(line(&points)) { title { (curve.name) } }
            (named_percentiles(curve, &class, &x, &y))
        });
        let suffix = match curve.trust {
            _ if doubt.is_empty() => String::new(),
            trust => format!(" ({})", trust.denial()),
        };
        keys.push(Key::new(class, format!("{}{suffix}", curve.name)));
    }
    if floor.is_some() {
        keys.push(Key::floor("tool's floor"));
    }
    Chart {
        title: title.into(),
        keys,
        x,
        y,
        marks: html! { @for mark in &marks { (mark) } },
        notes,
    }
}

/// The percentiles that the tables name, as dots.
fn named_percentiles(curve: &Curve<'_>, class: &str, x: &Axis, y: &Axis) -> Markup {
    let times = curve.times;
    let end = real(times.count.max(1)).log10();
    let named = [
        ("p50", std::f64::consts::LOG10_2, times.p50),
        ("p90", 1.0, times.p90),
        ("p99", 2.0, times.p99),
        ("p99.9", 3.0, times.p999),
        ("max", end, times.max),
    ];
    html! {
        @for (name, decades, ns) in named {
            @if decades < end - 0.05 || name == "max" {
                (dot(class, curve.trust, (x.at(decades), y.at_int(ns)),
                     &typeset(&format!("{}: {name} {}", curve.name, show_ns(ns)))))
            }
        }
    }
}

/// The curve of a distribution in coordinates, and whether its whole histogram could be read.
fn trace(times: &Distribution, x: &Axis, y: &Axis) -> (Vec<(f64, f64)>, bool) {
    let histogram = times.decode().ok().filter(|histogram| !histogram.is_empty());
    let whole = histogram.is_some();
    let steps = match histogram {
        Some(histogram) => sampled(&histogram.buckets().collect::<Vec<_>>(), times),
        None => stored(times),
    };
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(steps.len());
    for (decades, ns) in steps.into_iter().take_while(|(decades, _)| x.holds(*decades)) {
        let next = (x.at(decades), y.at_int(ns));
        // in the middle of a flat stretch only its ends matter
        if let [.., (_, before), (_, last)] = points[..]
            && (before - last).abs() < 0.05
            && (last - next.1).abs() < 0.05
        {
            points.pop();
        }
        points.push(next);
    }
    (points, whole)
}

/// The curve at evenly spread places: decades of `1 / (1 - q)` and nanoseconds. The sample of rank
/// `r` among `n` stands at `q = (r - 1) / n`, so that the largest has a place of its own.
fn sampled(buckets: &[(u64, u64)], times: &Distribution) -> Vec<(f64, u64)> {
    let total = total(buckets.iter().map(|(_, count)| *count));
    let end = real(total.max(1)).log10();
    let mut steps = Vec::with_capacity(STEPS + 2);
    let mut rest = buckets.iter();
    let (mut seen, mut value) = (0, times.min);
    for at in 0..=STEPS {
        let decades = end * place(at) / place(STEPS);
        let before = real(total) * (1.0 - 10f64.powf(-decades)); // samples below this place
        while real(seen) <= before + 1e-6
            && let Some((upper, count)) = rest.next()
        {
            seen = count.saturating_add(seen);
            value = *upper;
        }
        steps.push((decades, value.max(times.min).min(times.max)));
    }
    steps.push((end, times.max));
    steps
}

/// The stored percentiles, where the histogram cannot be read.
fn stored(times: &Distribution) -> Vec<(f64, u64)> {
    let end = real(times.count.max(1)).log10();
    let quantiles = [
        (0.0_f64, times.min),
        (0.25, times.p25),
        (0.5, times.p50),
        (0.75, times.p75),
        (0.9, times.p90),
        (0.95, times.p95),
        (0.99, times.p99),
        (0.999, times.p999),
    ];
    let inside = quantiles.into_iter().map(|(q, ns)| (-(1.0 - q).log10(), ns));
    inside.filter(|(decades, _)| *decades < end).chain([(end, times.max)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::Histogram;

    #[test]
    fn a_curve_rises_from_the_smallest_to_the_largest_sample() {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|value| histogram.record(value * 1000));
        let times = Distribution::of(&histogram).unwrap();
        let steps = sampled(&histogram.buckets().collect::<Vec<_>>(), &times);
        assert!(steps.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
        assert!(steps[0].1.abs_diff(1_000) <= 1);
        assert_eq!(steps.last(), Some(&(3.0, 1_000_000)));
        let median = steps.iter().find(|(decades, _)| *decades > 0.295).unwrap().1;
        assert!(median.abs_diff(500_000) <= 10_000, "{median}");
    }

    #[test]
    fn a_damaged_histogram_falls_back_to_the_stored_percentiles() {
        let mut histogram = Histogram::new();
        histogram.record_n(5_000, 10_000);
        let mut times = Distribution::of(&histogram).unwrap();
        times.histogram = "damaged".into();
        let x = Axis::percentiles(4.0, 0.0, 100.0);
        let y = Axis::times("time", (5_000, 5_000), 100.0, 0.0);
        let (points, whole) = trace(&times, &x, &y);
        assert!(!whole && points.len() >= 2);
    }
}
