//! The charts of a kind.

use maud::{Markup, html};
use plumb_chart::{
    LINES_MAX, Rung, SpanFigure, SpanMark, Spans, Strand, Trend, TrendFigure, TrendPoint,
};
use plumb_measure::show_ns;

use super::super::cell::Cell;
use super::super::entry::{Entry, Point};
use super::super::kind::RunGroup;
use crate::figures::{per_second, real, typeset, with_unit};
use crate::points::spread;
use crate::sweep::Sweep;
use crate::trust::Trust;

/// Rows of a ladder that are taken in at once; of more, so many are drawn evenly spread.
const RUNGS_MAX: usize = 24;

/// How the figures change along the label that varies most; where that is no number, a row a point.
pub(super) fn of_kind(kind: &RunGroup) -> Markup {
    let labels = kind.labels();
    let sweep = kind.sweep(&labels);
    let along = sweep.filter(|sweep| sweep.numbers.is_some() && joins_points(sweep));
    match along {
        Some(sweep) => {
            let charts = along_label(kind, &sweep);
            html! { div class="charts" { @for chart in &charts { (chart) } } }
        }
        None => html! { @if let Some(ladder) = ladder(kind) { (ladder) } },
    }
}

/// True when some points differ in nothing but the label of the sweep.
fn joins_points(sweep: &Sweep<'_, &Cell>) -> bool {
    sweep.series.iter().any(|series| series.places.iter().flatten().count() > 1)
}

fn along_label(kind: &RunGroup, sweep: &Sweep<'_, &Cell>) -> Vec<Markup> {
    const QUARTILES: &str = "Whiskers: 25th to 75th percentile of the samples.";
    let label = sweep.label;
    let median = |cell: &Cell| {
        let times = cell.figures.times?;
        Some((real(times.p25), real(times.p50), real(times.p75), show_ns(times.p50)))
    };
    let far = |cell: &Cell| {
        let times = real(cell.figures.times?.p99);
        Some((times, times, times, show_ns(cell.figures.times?.p99)))
    };
    let rate = |cell: &Cell| {
        let rate = cell.figures.rate?;
        let (low, high) = cell.figures.rates.unwrap_or((rate, rate));
        Some((low, rate, high, per_second(rate)))
    };
    let bits = |cell: &Cell| {
        let ways = cell.figures.measures.iter().filter(|figure| figure.unit == "bit/s");
        let both: f64 = ways.map(|way| way.value).sum();
        (both > 0.0).then(|| (both, both, both, with_unit(both, "bit/s")))
    };
    let draw =
        |title: String, quantity, notes: &[&str], figure: &dyn Fn(&Cell) -> Option<Figure>| {
            let (strands, left_out) = longest(strands(sweep, quantity, figure));
            let notes = notes.iter().map(|note| (*note).to_owned());
            plumb_chart::spans(Spans {
                title,
                label,
                values: &sweep.values,
                numbers: sweep.numbers.as_deref().unwrap_or_default(),
                quantity,
                strands,
                notes: notes.chain(left_out).collect(),
            })
        };
    let lowest: &[&str] =
        if kind.repeats() { &["Whiskers: the lowest and the highest run."] } else { &[] };
    let times = SpanFigure::Times("response time");
    let carried = if kind.is_stream() {
        draw(format!("Bits carried by {label}"), SpanFigure::Rates("bit/s"), &[], &bits)
    } else {
        draw(format!("Throughput by {label}"), SpanFigure::Rates(kind.noun().rate), lowest, &rate)
    };
    let charts = [
        draw(format!("Median response time by {label}"), times, &[QUARTILES], &median),
        carried,
        draw(format!("99th percentile by {label}"), times, &[], &far),
    ];
    charts.into_iter().flatten().collect()
}

/// Low end, figure, high end, and the figure in words.
type Figure = (f64, f64, f64, String);

fn strands(
    sweep: &Sweep<'_, &Cell>,
    quantity: SpanFigure,
    figure: &dyn Fn(&Cell) -> Option<Figure>,
) -> Vec<Strand> {
    let numbers = sweep.numbers.as_deref().unwrap_or_default();
    let strand = |name: &str, places: &[Option<&Cell>]| {
        let values = sweep.values.iter().zip(numbers).zip(places);
        let marks = values.filter_map(|((value, number), cell)| {
            let cell = (*cell)?;
            let (low, middle, high, said) = figure(cell)?;
            let whose = if name.is_empty() { String::new() } else { format!("{name}, ") };
            let words = typeset(&format!("{whose}{} {value}: {said}", sweep.label));
            Some(SpanMark {
                number: *number,
                low,
                middle,
                high,
                trust: trust(cell, quantity),
                words,
            })
        });
        Strand { name: name.to_owned(), marks: marks.collect() }
    };
    sweep.series.iter().map(|series| strand(&series.name, &series.places)).collect()
}

/// As many strands as can be told apart, those of most points first; a note when that is not all.
fn longest(mut strands: Vec<Strand>) -> (Vec<Strand>, Option<String>) {
    strands.retain(|strand| !strand.marks.is_empty());
    let all = strands.len();
    if all <= LINES_MAX {
        return (strands, None);
    }
    strands.sort_by_key(|strand| std::cmp::Reverse(strand.marks.len()));
    strands.truncate(LINES_MAX);
    let note = format!("{LINES_MAX} of {all} series are drawn, those of most points.");
    (strands, Some(note))
}

/// A throughput stands although the latency does not.
fn trust(cell: &Cell, quantity: SpanFigure) -> Trust {
    match (quantity, cell.trust()) {
        (SpanFigure::Rates(_), Trust::Throughput) => Trust::Full,
        (_, trust) => trust,
    }
}

/// One row a point.
fn ladder(kind: &RunGroup) -> Option<Markup> {
    let labels = kind.labels();
    let timed: Vec<&Cell> = kind.cells.iter().filter(|cell| cell.figures.times.is_some()).collect();
    let rungs: Vec<Rung> = spread(timed.len(), RUNGS_MAX)
        .into_iter()
        .filter_map(|at| {
            let cell = timed[at];
            let times = cell.figures.times?;
            Some(Rung {
                name: labels.name(&cell.labels),
                low: times.p25,
                middle: times.p50,
                high: times.p75,
                far: times.p99,
                trust: cell.trust(),
                said: format!("{}, {}", show_ns(times.p50), show_ns(times.p99)),
            })
        })
        .collect();
    let caption = if rungs.len() < timed.len() {
        format!("{} of {} points, evenly spread", rungs.len(), timed.len())
    } else {
        "Every point".to_owned()
    };
    plumb_chart::ladder(&caption, &rungs)
}

/// Charts of trends of a kind.
const TRENDS_MAX: usize = 4;

/// What became of every point that was repeated, over the time at which its runs began.
pub(super) fn trends(kind: &RunGroup, entries: &[Entry]) -> Vec<Markup> {
    let labels = kind.labels();
    let several = kind.cells.len() > 1;
    let timed = kind.cells.iter().any(|cell| cell.repeated() && cell.figures.times.is_some());
    let lines = kind.cells.iter().filter(|cell| cell.repeated()).map(|cell| {
        let points = cell.members.iter().filter_map(|(run, at)| {
            let (entry, point) = (&entries[*run], &entries[*run].points[*at]);
            let (value, said, trust) = match (timed, point.trust) {
                (true, trust) => {
                    let median = point.times?.p50;
                    (real(median), show_ns(median), trust)
                }
                (false, Trust::Throughput) => rate(point, Trust::Full),
                (false, trust) => rate(point, trust),
            };
            let words = typeset(&format!("{}, {}: {said}", entry.started, entry.name()));
            Some(TrendPoint { at_ns: entry.started_ns?, value, trust, words })
        });
        let name = if several { labels.name(&cell.labels) } else { String::new() };
        Trend { name, points: points.collect() }
    });
    let lines = lines.collect();
    let (title, figure) = match timed {
        true => ("Median of every run", TrendFigure::Time("median response time")),
        false => ("Throughput of every run", TrendFigure::Rate(kind.noun().rate)),
    };
    plumb_chart::trends(title, figure, lines, TRENDS_MAX)
}

fn rate(point: &Point, trust: Trust) -> (f64, String, Trust) {
    (point.throughput_per_s, per_second(point.throughput_per_s), trust)
}
