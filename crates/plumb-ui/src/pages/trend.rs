//! The figures of a series over time, and where they change.

use std::collections::BTreeMap;

use maud::{Markup, html};
use plumb_chart::{Axis, BOTTOM, Chart, Key, LEFT, Mark, RIGHT, TOP, coordinate, mark};
use plumb_comparison::{Better, CONVENTION, signed};
use plumb_measure::statistics::{CHANGE_LEVEL, CHANGE_SIDE_MIN, ChangePoint, change_points};
use plumb_measure::{counted, real, rounded, show_count, show_ns, show_plain};
use plumb_page::figures::typeset;

use super::moment;
use crate::index::{SeriesPoint, SeriesRow};
use crate::route;

/// Figures that are drawn of one series.
const FIGURES_MAX: usize = 60;

/// One figure of one result over time.
struct Line<'a> {
    result: &'a str,
    name: &'a str,
    unit: &'a str,
    points: Vec<&'a SeriesPoint>,
}

/// The page of all series.
pub(crate) fn trends(all: &[SeriesRow]) -> Markup {
    html! {
        p class="sentence" {
            "Runs of the same command, options, target and machine make a series, also those of \
             checkups; blocks of experiments do not, as they are varied on purpose."
        }
        @if all.is_empty() {
            p { "There are no runs with figures yet." }
        } @else {
            div class="sheet" tabindex="0" role="region" aria-label="Series" {
                table {
                    caption { "Series, those with most runs first" }
                    thead {
                        tr {
                            th scope="col" class="words" { "series" } th scope="col" { "runs" }
                            th scope="col" class="words" { "first" } th scope="col" class="words" { "last" }
                        }
                    }
                    tbody {
                        @for it in all {
                            tr {
                                td class="words" { a href=(route::trend(&it.series)) { (it.name) } }
                                td { (it.runs) }
                                td class="words" { (moment(it.first_ns)) }
                                td class="words" { (moment(it.last_ns)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The page of one series.
pub(crate) fn trend(name: &str, points: &[SeriesPoint]) -> Markup {
    let lines = lines(points);
    let judged: Vec<(&Line<'_>, Vec<ChangePoint>, Vec<&SeriesPoint>)> = lines
        .iter()
        .map(|line| {
            let usable: Vec<&SeriesPoint> =
                line.points.iter().filter(|point| point.usable).copied().collect();
            let values: Vec<f64> = usable.iter().map(|point| point.value).collect();
            (line, change_points(&values), usable)
        })
        .collect();
    let changes: usize = judged.iter().map(|(_, changes, _)| changes.len()).sum();
    html! {
        p class="about" { (name) }
        p class="sentence" { (said(changes, lines.len())) }
        @if changes > 0 { (table(&judged)) }
        section class="charts" {
            @for (line, changes, usable) in &judged { (chart(line, changes, usable)) }
        }
        (method())
    }
}

/// The figures, each in the order of time; those that stand first in the records first.
fn lines(points: &[SeriesPoint]) -> Vec<Line<'_>> {
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut lines: Vec<Line<'_>> = Vec::new();
    for point in points {
        let place = *places.entry((&point.result, &point.name)).or_insert_with(|| {
            let (result, name, unit) = (&point.result, &point.name, &point.unit);
            lines.push(Line { result, name, unit, points: Vec::new() });
            lines.len() - 1
        });
        lines[place].points.push(point);
    }
    // where nothing ever failed there is nothing to see
    lines.retain(|line| line.points.iter().any(|point| point.value != 0.0));
    lines.truncate(FIGURES_MAX);
    lines
}

fn said(changes: usize, figures: usize) -> String {
    let of = counted(figures as u64, "figure");
    match changes {
        0 => format!("No change of level is shown in {of}."),
        _ => format!("{} in {of}.", counted(changes as u64, "change point")),
    }
}

/// A change of level as an improvement in percent of the level before. Nothing where there was nothing
/// before.
fn improvement(change: ChangePoint, unit: &str) -> String {
    let better = if unit == "/s" { Better::Higher } else { Better::Lower };
    let words = signed(better.improvement(change.after / change.before));
    words.map_or_else(String::new, |words| format!("{words} %"))
}

fn table(judged: &[(&Line<'_>, Vec<ChangePoint>, Vec<&SeriesPoint>)]) -> Markup {
    html! {
        div class="sheet" tabindex="0" role="region" aria-label="Change points" {
            table {
                caption { "Change points" }
                thead {
                    tr {
                        th scope="col" class="words" { "figure" }
                        th scope="col" class="words" { "between" }
                        th scope="col" { "before" } th scope="col" { "after" }
                        th scope="col" { "change, " (CONVENTION) } th scope="col" { "p" }
                        th scope="col" class="words" { span class="unseen" { "Compare" } }
                    }
                }
                tbody {
                    @for (line, changes, usable) in judged {
                        @for change in changes { (row(line, *change, usable)) }
                    }
                }
            }
        }
    }
}

fn row(line: &Line<'_>, change: ChangePoint, usable: &[&SeriesPoint]) -> Markup {
    let (last, first) = (usable[change.at - 1], usable[change.at]);
    let compare = format!(
        "/compare?run={}&run={}",
        plumb_wire::percent::form_encoded(&last.path),
        plumb_wire::percent::form_encoded(&first.path)
    );
    html! {
        tr {
            td class="words" { (line.name) @if !line.result.is_empty() { span class="path" { (line.result) } } }
            td class="words" {
                a href=(route::show(&last.path)) { (moment(last.started_ns)) } " and "
                a href=(route::show(&first.path)) { (moment(first.started_ns)) }
            }
            td { (shown(change.before, line.unit)) }
            td { (shown(change.after, line.unit)) }
            td { (improvement(change, line.unit)) }
            td { (format!("{:.4}", change.p)) }
            td class="words" { a href=(compare) { "side by side" } }
        }
    }
}

fn chart(line: &Line<'_>, changes: &[ChangePoint], usable: &[&SeriesPoint]) -> Markup {
    let title = match line.result {
        "" => line.name.to_owned(),
        result => format!("{}, {result}", line.name),
    };
    let (Some(first), Some(last)) = (line.points.first(), line.points.last()) else {
        return html! {};
    };
    let start_s = first.started_ns.div_euclid(1_000_000_000);
    let since =
        |ns: i64| real(u64::try_from(ns - start_s.saturating_mul(1_000_000_000)).unwrap_or(0));
    let span = rounded(since(last.started_ns)).max(1_000_000_000);
    let Some(mut x) = Axis::clock(start_s, span, LEFT, RIGHT) else { return html! {} };
    x.title = x.title.replace("clock of the host", "UTC");
    let values = || line.points.iter().map(|point| point.value);
    let range = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let y = match line.unit {
        "ns" => Axis::times_around(line.name, range, BOTTOM, TOP),
        unit => Axis::figures_around(&format!("{} ({unit})", line.name), range, BOTTOM, TOP),
    };
    let marks = html! {
        @for (from, until, level) in levels(changes, usable) {
            line class="level" x1=(coordinate(x.at(since(from)))) x2=(coordinate(x.at(since(until))))
                y1=(coordinate(y.at(level))) y2=(coordinate(y.at(level))) {}
        }
        @for change in changes {
            @let at = x.at(since(usable[change.at].started_ns));
            line class="change" x1=(coordinate(at)) x2=(coordinate(at)) y1=(coordinate(TOP)) y2=(coordinate(BOTTOM)) {}
        }
        @for point in &line.points {
            @let kind = if point.usable { Mark::Dot } else { Mark::Cross };
            @let words = format!("{}: {}{}", moment(point.started_ns), shown(point.value, line.unit), doubt(point));
            a href=(route::show(&point.path)) aria-label=(words) {
                (mark("s0", kind, (x.at(since(point.started_ns)), y.at(point.value)), &words))
            }
        }
    };
    let refused = line.points.len() - usable.len();
    let notes = if refused == 0 {
        Vec::new()
    } else {
        vec![format!(
            "{} (crosses) may not be used, and count for nothing.",
            counted(refused as u64, "run")
        )]
    };
    let keys = if changes.is_empty() {
        Vec::new()
    } else {
        vec![
            Key::new("s0", "a run"),
            Key::new("s1", "median of a level"),
            Key::new("s3", "change point"),
        ]
    };
    Chart { title, keys, x, y, marks, notes }.draw()
}

/// The levels between change points: from when to when, and their medians.
fn levels(changes: &[ChangePoint], usable: &[&SeriesPoint]) -> Vec<(i64, i64, f64)> {
    let mut levels = Vec::new();
    for (place, change) in changes.iter().enumerate() {
        let from = if place == 0 { 0 } else { changes[place - 1].at };
        levels.push((usable[from].started_ns, usable[change.at - 1].started_ns, change.before));
    }
    if let (Some(last), Some(end)) = (changes.last(), usable.last()) {
        levels.push((usable[last.at].started_ns, end.started_ns, last.after));
    }
    levels
}

fn doubt(point: &SeriesPoint) -> &'static str {
    if point.usable { "" } else { ", may not be used" }
}

fn shown(value: f64, unit: &str) -> String {
    match unit {
        "ns" => typeset(&show_ns(rounded(value))),
        "/s" => format!("{}/s", show_count(value)),
        _ => format!("{} {unit}", show_plain(value)),
    }
}

fn method() -> Markup {
    html! {
        section {
            details {
                summary { "How change points are found" }
                p {
                    "Of a figure's usable runs in the order of time, the place is sought at which the \
                     ranks on both sides differ most (Pettitt's statistic, standardised). It is a \
                     change point when at most " (format!("{:.0} %", 100.0 * CHANGE_LEVEL)) " of 2,000 \
                     random orders of the same values differ as much; both sides are then searched \
                     alike. So at most 1 of 100 figures in which nothing changed shows any change \
                     point by chance: of many figures, expect some. At least "
                    (2 * CHANGE_SIDE_MIN) " runs are needed, " (CHANGE_SIDE_MIN) " on either side."
                }
                p {
                    "This holds for runs that do not depend on each other. A machine that is slow for a \
                     day makes runs that do, and shows as a change, which it is. What changed cannot be \
                     told from the figures: compare in turns (" code { "plumb ab" } ") to find out."
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(failed: impl Iterator<Item = f64>) -> Vec<SeriesPoint> {
        points_of("failed", "%", failed)
    }

    fn points_of(name: &str, unit: &str, values: impl Iterator<Item = f64>) -> Vec<SeriesPoint> {
        let point = |(day, value): (i64, f64)| SeriesPoint {
            path: format!("run-{day}"),
            started_ns: day * 86_400_000_000_000,
            result: String::new(),
            name: name.into(),
            unit: unit.into(),
            value,
            usable: true,
        };
        (1..).zip(values).map(point).collect()
    }

    #[test]
    fn a_change_that_is_worse_has_a_minus_whichever_way_its_figure_is_good() {
        let from = |(a, b): (f64, f64)| (0..80).map(move |day| if day < 40 { a } else { b });
        for (name, unit, levels, change) in [
            ("median response time", "ns", (40e6, 70e6), "-75.0 %"),
            ("median response time", "ns", (40e6, 480e6), "-1,100 %"),
            ("throughput", "/s", (125.0, 75.0), "-40.0 %"),
            ("throughput", "/s", (75.0, 90.0), "+20.0 %"),
            ("failed", "%", (0.5, 0.25), "+50.0 %"),
        ] {
            let page = trend("net ping", &points_of(name, unit, from(levels))).into_string();
            assert!(page.contains(&format!("<td>{change}</td>")), "{name}: {change}");
            assert!(page.contains("<th scope=\"col\">change, + is better</th>"), "{name}");
        }
        // where nothing was before there is no percentage
        let page = trend("net ping", &points(from((0.0, 0.5)))).into_string();
        assert!(page.contains("<td>0 %</td><td>0.50 %</td><td></td>"), "no percentage of nothing");
    }

    #[test]
    fn failures_that_begin_are_a_change_and_where_there_are_none_there_is_no_line() {
        let day = |number| if number < 40 { 0.0 } else { 0.5 };
        let page = trend("net ping", &points((0..80).map(day))).into_string();
        assert!(page.contains("1 change point in 1 figure."), "{page}");
        let page = trend("net ping", &points((0..80).map(|_| 0.0))).into_string();
        assert!(page.contains("No change of level is shown in 0 figures."), "{page}");
    }
}
