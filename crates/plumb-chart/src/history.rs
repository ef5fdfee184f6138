//! What a host did over time: lines with their gaps, and the peaks of joined figures.

use std::fmt::Write as _;

use maud::{Markup, html};
use plumb_page::figures::{ABSENT, typeset, with_unit};

use crate::axis::Axis;
use crate::clock::{day, time_of_day};
use crate::sheet::{BOTTOM, Chart, Key, LEFT, LINES_MAX, RIGHT, TOP, coordinate as n, line};
use crate::thin::{Slots, ThinnedPoint};

/// The moments of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartTime {
    /// The host's own clock at zero, seconds since 1970 of the same clock; `None` where the clock
    /// cannot name the moments, because it was set meanwhile.
    pub clock_s: Option<i64>,
    /// The moments, seconds since the first, ascending.
    pub at_s: Vec<f64>,
}

/// Lines over time that share an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryChart {
    /// What it shows.
    pub title: String,
    /// The words above its axis.
    pub axis: String,
    /// The unit of its figures; empty for plain numbers.
    pub unit: String,
    /// The lines, the most important first; six are drawn.
    pub series: Vec<Series>,
    /// True when the lines are parts of a whole, the lowest first: they are drawn upon each other.
    pub stacked: bool,
    /// What a reader must know of it.
    pub notes: Vec<String>,
}

/// One line of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What it shows.
    pub name: String,
    /// A figure for every moment of [`ChartTime::at_s`]; not a number where it is missing.
    pub values: Vec<f64>,
}

/// How a chart over time is drawn.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// End of the axis, seconds; `None` for the last moment.
    pub end_s: Option<f64>,
    /// Strips that tell their figures when they are pointed at.
    pub strips: usize,
}

impl Default for View {
    fn default() -> Self {
        Self { end_s: None, strips: 120 }
    }
}

/// The chart of a recording; nothing without two moments or without any figure.
#[must_use]
pub fn history(chart: &HistoryChart, time: &ChartTime, view: View) -> Option<Markup> {
    let last_s = time.at_s.last().copied().filter(|last| *last > 0.0)?;
    let last_s = view.end_s.unwrap_or(last_s);
    let there: Vec<&Series> = chart.series.iter().filter(|one| largest(one).is_some()).collect();
    let high = match chart.stacked {
        // where a part is missing, those below it are drawn all the same
        true => sums(&there).iter().filter_map(largest).reduce(f64::max)?,
        false => there.iter().filter_map(|one| largest(one)).reduce(f64::max)?,
    };
    // a line along zero tells less than its name does
    let (idle, mut drawn): (Vec<&Series>, Vec<&Series>) =
        there.into_iter().partition(|one| high > 0.0 && largest(one) == Some(0.0));
    let mut notes = chart.notes.clone();
    if drawn.len() > LINES_MAX {
        notes.push(format!("{LINES_MAX} of {} lines are drawn.", drawn.len()));
        drawn.truncate(LINES_MAX);
    }
    if !idle.is_empty() {
        let names: Vec<&str> = idle.iter().map(|one| one.name.as_str()).collect();
        notes.push(format!("Zero throughout: {}.", names.join(", ")));
    }
    let x = moments(time, last_s);
    let top = match chart.stacked && chart.unit == "%" && (100.0..101.0).contains(&high) {
        true => 100.0, // shares that were rounded
        false if high > 0.0 => high,
        false => 1.0,
    };
    let y = Axis::rates(&chart.axis, (0.0, top), BOTTOM, TOP);
    let slots = Slots::of_line(&time.at_s);
    let sums = if chart.stacked { sums(&drawn) } else { Vec::new() };
    let shown: Vec<&Series> = if chart.stacked { sums.iter().collect() } else { drawn.clone() };
    let lines: Vec<Vec<Vec<ThinnedPoint>>> =
        shown.iter().map(|one| slots.stretches(&time.at_s, &one.values)).collect();
    let joined = slots.width_s().is_some() && !chart.stacked;
    let marks = html! {
        @if joined {
            @for (colour, stretches) in lines.iter().enumerate().rev() {
                @for places in stretches { (spread(places, colour, &x, &y)) }
            }
        }
        @for (colour, stretches) in lines.iter().enumerate().rev() {
            @for places in stretches {
                @if chart.stacked { (layer(places, colour, &x, &y)) } @else { (mean(places, colour, &x, &y)) }
            }
        }
        (strips(chart, &drawn, time, &x, view.strips))
    };
    let kind = if chart.stacked { "layer " } else { "" };
    let keys = drawn
        .iter()
        .enumerate()
        .map(|(at, one)| Key::new(format!("{kind}s{at}"), one.name.clone()))
        .collect();
    let title = match drawn[..] {
        // a single line has no legend
        [only] if !only.name.is_empty() => format!("{}: {}", chart.title, only.name),
        _ => chart.title.clone(),
    };
    Some(Chart { title, keys, x, y, marks, notes }.draw())
}

/// What a reader must know of figures that were joined; `None` when every one is drawn.
#[must_use]
pub fn joined(time: &ChartTime) -> Option<String> {
    let width_s = Slots::of_line(&time.at_s).width_s()?;
    let width = if width_s < 100.0 {
        format!("{width_s:.1} s")
    } else {
        format!("{:.1} min", width_s / 60.0)
    };
    Some(typeset(&format!(
        "Each place joins the moments of {width}: the line is their mean, the shade reaches from \
         the smallest to the largest figure."
    )))
}

/// The largest figure of a line; `None` without any.
fn largest(series: &Series) -> Option<f64> {
    series.values.iter().copied().filter(|value| value.is_finite()).reduce(f64::max)
}

/// The axis of time; its places are nanoseconds.
fn moments(time: &ChartTime, last_s: f64) -> Axis {
    let last_ns = nanoseconds(last_s);
    let clock = time.clock_s.and_then(|start| Axis::clock(start, last_ns, LEFT, RIGHT));
    clock.unwrap_or_else(|| Axis::since_start(last_ns, LEFT, RIGHT))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cast to the nearest integer in range"
)]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

fn at(x: &Axis, seconds: f64) -> f64 {
    x.at(seconds * 1e9)
}

/// The line of the means; a dot for a stretch of one place.
fn mean(places: &[ThinnedPoint], colour: usize, x: &Axis, y: &Axis) -> Markup {
    let points: Vec<(f64, f64)> =
        places.iter().map(|place| (at(x, place.at_s()), y.at(place.mean))).collect();
    html! {
        @match points[..] {
            [] => {},
            [(x, y)] => g class={ "dot s" (colour) } { circle cx=(n(x)) cy=(n(y)) r="1.8" {} },
            _ => path class={ "line s" (colour) } d=(line(&points)) {},
        }
    }
}

/// What a part and those below it come to, from the base up: those of the parts above are drawn
/// first, and this one upon them.
fn layer(places: &[ThinnedPoint], colour: usize, x: &Axis, y: &Axis) -> Markup {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return html! {} };
    let above = places.iter().map(|place| (at(x, place.at_s()), y.at(place.mean)));
    let points: Vec<(f64, f64)> = std::iter::once((at(x, first.at_s()), BOTTOM))
        .chain(above)
        .chain([(at(x, last.at_s()), BOTTOM)])
        .collect();
    html! { path class={ "area s" (colour) } d={ (line(&points)) "Z" } {} }
}

/// Every part with those below it.
fn sums(parts: &[&Series]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for part in parts {
        let below = all.last().map(|it: &Series| it.values.as_slice()).unwrap_or_default();
        let below = below.iter().copied().chain(std::iter::repeat(0.0));
        let values = part.values.iter().zip(below).map(|(own, below)| own + below).collect();
        all.push(Series { name: part.name.clone(), values });
    }
    all
}

/// The shade from the smallest to the largest figure of every place.
fn spread(places: &[ThinnedPoint], colour: usize, x: &Axis, y: &Axis) -> Markup {
    let mut path = String::new();
    let upper = places.iter().map(|place| (place, place.max));
    let lower = places.iter().rev().map(|place| (place, place.min));
    for (index, (place, value)) in upper.chain(lower).enumerate() {
        let step = if index == 0 { "M" } else { "L" };
        // writing to a String does not fail
        let _ = write!(path, "{step}{} {}", n(at(x, place.at_s())), n(y.at(value)));
    }
    html! { @if !path.is_empty() { path class={ "spread s" (colour) } d={ (path) "Z" } {} } }
}

/// Strips over the chart that tell their figures when they are pointed at.
fn strips(
    chart: &HistoryChart,
    drawn: &[&Series],
    time: &ChartTime,
    x: &Axis,
    most: usize,
) -> Markup {
    let slots = Slots::new(&time.at_s, most, most);
    let moments: Vec<ThinnedPoint> =
        slots.stretches(&time.at_s, &time.at_s).into_iter().flatten().collect();
    let lines: Vec<Vec<ThinnedPoint>> = drawn
        .iter()
        .map(|one| slots.stretches(&time.at_s, &one.values).into_iter().flatten().collect())
        .collect();
    let centres: Vec<f64> = moments.iter().map(|place| at(x, place.at_s())).collect();
    let middles = centres.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
    let borders: Vec<f64> = std::iter::once(LEFT).chain(middles).chain([RIGHT]).collect();
    html! {
        @for (moment, border) in moments.iter().zip(borders.windows(2)) {
            @let words = said(chart, drawn, &lines, time, moment);
            rect class="hover" x=(n(border[0])) y=(n(TOP)) width=(n(border[1] - border[0]))
                height=(n(BOTTOM - TOP)) { title { (typeset(&words)) } }
        }
    }
}

fn said(
    chart: &HistoryChart,
    drawn: &[&Series],
    lines: &[Vec<ThinnedPoint>],
    time: &ChartTime,
    moment: &ThinnedPoint,
) -> String {
    let mut words = span(time, moment);
    for (series, places) in drawn.iter().zip(lines) {
        let found = places
            .binary_search_by(|place| place.slot.total_cmp(&moment.slot))
            .ok()
            .map(|index| &places[index]);
        let figure = match found {
            None => ABSENT.to_owned(),
            Some(one) if one.from_s < one.to_s => format!(
                "{} ({} to {})",
                with_unit(one.mean, &chart.unit),
                with_unit(one.min, &chart.unit),
                with_unit(one.max, &chart.unit)
            ),
            Some(one) => with_unit(one.mean, &chart.unit),
        };
        words += if words.ends_with(':') { " " } else { ", " };
        words += &format!("{} {figure}", series.name);
    }
    words
}

/// The moments of a place in words, with a colon behind.
fn span(time: &ChartTime, moment: &ThinnedPoint) -> String {
    let whole = |seconds: f64| i64::try_from(nanoseconds(seconds) / 1_000_000_000).unwrap_or(0);
    let named = |seconds: f64| match time.clock_s {
        Some(start) => {
            let moment = start.saturating_add(whole(seconds));
            if day(start) == day(moment) {
                time_of_day(moment)
            } else {
                format!("{} {}", day(moment), time_of_day(moment))
            }
        }
        None if seconds.fract() > 0.0 => format!("{seconds:.1} s"),
        None => format!("{} s", whole(seconds)),
    };
    if moment.from_s < moment.to_s {
        format!("{} to {}:", named(moment.from_s), named(moment.to_s))
    } else {
        format!("{}:", named(moment.from_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(values: &[&[f64]]) -> Option<String> {
        let series = values
            .iter()
            .zip(["one", "two", "three"])
            .map(|(values, name)| Series { name: name.into(), values: values.to_vec() })
            .collect();
        let chart = HistoryChart { unit: "%".into(), series, ..HistoryChart::default() };
        let time = ChartTime { clock_s: None, at_s: vec![0.0, 10.0, 20.0, 30.0] };
        super::history(&chart, &time, View::default()).map(Markup::into_string)
    }

    #[test]
    fn a_missing_figure_is_a_gap_and_no_zero() {
        let page = drawn(&[&[5.0, 6.0, f64::NAN, 7.0]]).unwrap();
        assert_eq!(page.matches("class=\"line s0\"").count(), 1, "{page}");
        assert_eq!(page.matches("class=\"dot s0\"").count(), 1, "{page}");
        assert!(page.contains("20\u{a0}s: one -<"), "{page}");
        assert!(page.contains("30\u{a0}s: one 7.00\u{a0}%<"), "{page}");
    }

    #[test]
    fn the_range_of_a_place_has_the_unit_of_its_mean() {
        let values = (0..6_000).map(|at| if at % 2 == 0 { 4.1e6 } else { 4.3e6 }).collect();
        let series = vec![Series { name: "in".into(), values }];
        let chart = HistoryChart { unit: "B/s".into(), series, ..HistoryChart::default() };
        let time = ChartTime { clock_s: None, at_s: (0..6_000).map(f64::from).collect() };
        let page = super::history(&chart, &time, View::default()).unwrap().into_string();
        let range = "in 4.20 MB/s (4.10 MB/s to 4.30 MB/s)";
        assert!(page.contains(range), "{page}");
    }

    #[test]
    fn a_line_along_zero_is_named_beside_others() {
        let page = drawn(&[&[0.0, 0.0, 0.0, 0.0], &[1.0, 2.0, 3.0, 4.0]]).unwrap();
        assert!(page.contains("Zero throughout: one."), "{page}");
        let alone = drawn(&[&[0.0, 0.0, 0.0, 0.0]]).unwrap();
        assert!(alone.contains("class=\"line s0\""), "{alone}");
    }

    #[test]
    fn parts_of_a_whole_stand_upon_each_other() {
        let part =
            |name: &str, values: [f64; 4]| Series { name: name.into(), values: values.to_vec() };
        let series =
            vec![part("user", [10.0, 20.0, 30.0, 20.0]), part("system", [30.0, 20.0, 50.0, 10.0])];
        let time = ChartTime { clock_s: None, at_s: vec![0.0, 10.0, 20.0, 30.0] };
        let sums = sums(&series.iter().collect::<Vec<_>>());
        assert_eq!(sums[1].values, [40.0, 40.0, 80.0, 30.0]);
        let chart =
            HistoryChart { unit: "%".into(), series, stacked: true, ..HistoryChart::default() };
        let page = super::history(&chart, &time, View::default()).unwrap().into_string();
        let (above, below) = (page.find("area s1").unwrap(), page.find("area s0").unwrap());
        assert!(above < below, "what lies below is drawn last");
        assert!(page.contains("20\u{a0}s: user 30.0\u{a0}%, system 50.0\u{a0}%"), "{page}");
    }

    #[test]
    fn a_row_that_is_not_whole_is_drawn_as_high_as_it_is() {
        let drawn = |parts: [[f64; 4]; 2]| {
            let series =
                parts.map(|values| Series { name: "part".into(), values: values.to_vec() });
            let chart = HistoryChart {
                unit: "%".into(),
                series: series.to_vec(),
                stacked: true,
                ..HistoryChart::default()
            };
            let time = ChartTime { clock_s: None, at_s: vec![0.0, 10.0, 20.0, 30.0] };
            super::history(&chart, &time, View::default()).map(Markup::into_string)
        };
        let broken = drawn([[10.0, 20.0, 20.0, 95.0], [5.0, 5.0, 10.0, f64::NAN]]).unwrap();
        // 95 is at the same height as where another part says that it is no cut
        let whole = drawn([[10.0, 20.0, 20.0, 95.0], [5.0, 5.0, 10.0, 0.0]]).unwrap();
        let base = |page: &str| {
            let (_, layer) = page.split_once("area s0\" d=\"").unwrap();
            layer.split_once('"').unwrap().0.to_owned()
        };
        assert_eq!(base(&broken), base(&whole));
        let apart = drawn([[10.0, f64::NAN, 20.0, f64::NAN], [f64::NAN, 5.0, f64::NAN, 6.0]]);
        assert!(apart.is_some(), "some parts are drawn though no row is whole");
    }

    #[test]
    fn without_figures_there_is_no_chart() {
        assert!(drawn(&[&[f64::NAN; 4]]).is_none());
        assert!(drawn(&[]).is_none());
        let chart = HistoryChart::default();
        assert!(super::history(&chart, &ChartTime::default(), View::default()).is_none());
    }
}
