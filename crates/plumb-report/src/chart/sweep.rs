//! Latency and throughput along the label that varies most.

use maud::{Markup, html};
use plumb_chart::{Axis, BOTTOM, Chart, Key, LEFT, LINES_MAX, RIGHT, TOP, coordinate as n, line};
use plumb_measure::{ResultRecord, RunRecord, show_ns};

use super::dot;
use crate::figures::{Pick, per_second, typeset};
use crate::noun::Noun;
use crate::points::{Points, spread};
use crate::sweep::{Series, Sweep};
use crate::trust::Trust;

/// The results of one series at their places along the axis.
struct Row<'a> {
    name: String,
    spots: Vec<Spot<'a>>,
}

/// One result at its place along the axis.
struct Spot<'a> {
    x: f64,
    name: String,
    result: &'a ResultRecord,
}

/// Latency and throughput along the sweep; nothing when its values are words or fewer than two.
pub(crate) fn charts(record: &RunRecord) -> Vec<Markup> {
    let points = Points::of(record);
    let Some(sweep) = points.sweep().filter(|sweep| sweep.values.len() > 1) else {
        return Vec::new();
    };
    let Some(numbers) = &sweep.numbers else { return Vec::new() };
    let x = Axis::values(sweep.label, &sweep.values, numbers, (LEFT, RIGHT));
    let rows: Vec<Row<'_>> = spread(sweep.series.len(), LINES_MAX)
        .into_iter()
        .map(|at| row(&sweep, &sweep.series[at], numbers, &x))
        .collect();
    let mut charts: Vec<Chart> = latency(record, sweep.label, &rows, x.clone())
        .into_iter()
        .chain(throughput(record, sweep.label, &rows, x))
        .collect();
    if rows.len() < sweep.series.len() {
        let note = format!(
            "{} of {} series are drawn, evenly spread; the table holds every result.",
            rows.len(),
            sweep.series.len()
        );
        charts.iter_mut().for_each(|chart| chart.notes.push(note.clone()));
    }
    charts.iter().map(Chart::draw).collect()
}

fn row<'a>(
    sweep: &Sweep<'a, &'a ResultRecord>,
    series: &Series<&'a ResultRecord>,
    numbers: &[f64],
    x: &Axis,
) -> Row<'a> {
    let places = sweep.values.iter().zip(numbers).zip(&series.places);
    let spots = places.filter_map(|((value, number), result)| {
        let own = format!("{} {value}", sweep.label);
        let name = if series.name.is_empty() { own } else { format!("{}, {own}", series.name) };
        result.map(|result| Spot { x: x.at(*number), name, result })
    });
    Row { name: series.name.clone(), spots: spots.collect() }
}

fn latency(record: &RunRecord, label: &str, rows: &[Row<'_>], x: Axis) -> Option<Chart> {
    let times = || results(rows).filter_map(|result| result.response_ns.as_ref());
    let floor = record.floor.as_ref().map(|floor| floor.service_ns.p50).filter(|ns| *ns > 0);
    let high = times().map(|times| times.p99).max()?;
    let low = times().map(|times| times.p50).chain(floor).min()?;
    let y = Axis::times("response time", (low, high), BOTTOM, TOP);
    let marks = html! {
        @if let Some(ns) = floor {
            line class="line floor" x1=(n(LEFT)) x2=(n(RIGHT)) y1=(n(y.at_int(ns)))
                y2=(n(y.at_int(ns))) {
                title { (typeset(&format!("tool's floor, p50 {}", show_ns(ns)))) }
            }
        }
        @for (colour, row) in rows.iter().enumerate() {
            (time_line(&row.spots, &y, &format!("s{colour} p99"), ("p99", |times| times.p99)))
            (time_line(&row.spots, &y, &format!("s{colour}"), ("p50", |times| times.p50)))
        }
    };
    let mut keys = keys(rows);
    keys.push(Key::new("plain", "p50"));
    keys.push(Key::new("plain p99", "p99"));
    if floor.is_some() {
        keys.push(Key::floor("tool's floor, p50"));
    }
    let doubted = results(rows).any(|result| Trust::of(&result.validity) != Trust::Full);
    let note = doubted.then(|| "A cross: the latency of this result is not valid.".to_owned());
    let title = format!("Response time by {label}");
    Some(Chart { title, keys, x, y, marks, notes: note.into_iter().collect() })
}

fn time_line(spots: &[Spot<'_>], y: &Axis, class: &str, (figure, pick): (&str, Pick)) -> Markup {
    let timed: Vec<(&Spot<'_>, u64)> = spots
        .iter()
        .filter_map(|spot| Some((spot, pick(spot.result.response_ns.as_ref()?))))
        .collect();
    let points: Vec<(f64, f64)> = timed.iter().map(|(spot, ns)| (spot.x, y.at_int(*ns))).collect();
    html! {
        path class={ "line " (class) } d=(line(&points)) {}
        @for ((spot, ns), place) in timed.iter().zip(points) {
            (dot(class, Trust::of(&spot.result.validity), place,
                 &typeset(&format!("{}: {figure} {}", spot.name, show_ns(*ns)))))
        }
    }
}

fn throughput(record: &RunRecord, label: &str, rows: &[Row<'_>], x: Axis) -> Option<Chart> {
    let rates = || results(rows).map(|result| result.throughput_per_s);
    let range = (rates().min_by(f64::total_cmp)?, rates().max_by(f64::total_cmp)?);
    let y = Axis::rates(Noun::of(record).rate, range, BOTTOM, TOP);
    let marks = html! {
        @for (colour, row) in rows.iter().enumerate() {
            @let class = format!("s{colour}");
            @let points: Vec<(f64, f64)> =
                row.spots.iter().map(|spot| (spot.x, y.at(spot.result.throughput_per_s))).collect();
            path class={ "line " (class) } d=(line(&points)) {}
            @for (spot, place) in row.spots.iter().zip(points) {
                @let trust = if spot.result.validity.valid { Trust::Full } else { Trust::of(&spot.result.validity) };
                @let rate = per_second(spot.result.throughput_per_s);
                (dot(&class, trust, place, &format!("{}: {rate}", spot.name)))
            }
        }
    };
    let title = format!("Throughput by {label}");
    Some(Chart { title, keys: keys(rows), x, y, marks, notes: Vec::new() })
}

fn results<'a>(rows: &[Row<'a>]) -> impl Iterator<Item = &'a ResultRecord> {
    rows.iter().flat_map(|row| row.spots.iter().map(|spot| spot.result))
}

/// One entry for each row; none where the only row needs no name.
fn keys(rows: &[Row<'_>]) -> Vec<Key> {
    let named = rows.iter().enumerate().filter(|(_, row)| !row.name.is_empty());
    named.map(|(colour, row)| Key::new(format!("s{colour}"), row.name.clone())).collect()
}
