//! What happened when: throughput and response time over the run.

use maud::{Markup, html};
use plumb_chart::{Axis, BOTTOM, Chart, Key, LEFT, LINES_MAX, RIGHT, TOP, coordinate as n, line};
use plumb_measure::{Interval, ResultRecord, RunRecord, Span, show_ns};

use crate::figures::{grouped, per_second, real, total, typeset};
use crate::noun::Noun;
use crate::points::{Points, spread};

/// Intervals of a run that are drawn one by one; above, neighbours are joined.
const INTERVALS_MAX: usize = 360;

/// Which time of an interval, nanoseconds.
type Pick = fn(&Interval) -> u64;

/// The intervals of one result.
struct Track {
    name: String,
    intervals: Vec<Interval>,
    /// How long the load ran before them, nanoseconds.
    warmup_ns: u64,
}

/// Throughput and response time over time; nothing when no result kept two intervals.
pub(crate) fn charts(record: &RunRecord) -> Vec<Markup> {
    within(record, INTERVALS_MAX)
}

/// When the last interval of a run ended, nanoseconds after its start: the end of the axis of its
/// charts; `None` without any.
pub(crate) fn end_ns(record: &RunRecord) -> Option<u64> {
    record.results.iter().flat_map(|result| &result.intervals).map(end_of).max()
}

/// The same charts in about so many places at most.
pub(crate) fn within(record: &RunRecord, places: usize) -> Vec<Markup> {
    let points = Points::of(record);
    let wholes: Vec<Vec<Interval>> =
        record.results.iter().map(|result| without_stub(&result.intervals)).collect();
    let all: usize = wholes.iter().map(Vec::len).sum();
    let joined = all.div_ceil(places).max(1);
    let warmup_ns = warmup_ns(record);
    let of = |(result, whole): (&ResultRecord, &Vec<Interval>)| Track {
        name: points.name(result),
        intervals: join(whole, joined),
        warmup_ns,
    };
    let measured = record.results.iter().zip(&wholes).filter(|(_, whole)| !whole.is_empty());
    let tracks: Vec<Track> = measured.map(of).collect();
    if tracks.iter().all(|track| track.intervals.len() < 2) {
        return Vec::new();
    }
    let x = Axis::since_start(end_ns(record).unwrap_or(1), LEFT, RIGHT);
    let apart = one_after_another(&tracks);
    let mut charts: Vec<Chart> = users(&tracks, apart, x.clone()).into_iter().collect();
    charts.push(throughput(record, &tracks, apart, x.clone()));
    charts.extend(latency(&tracks, apart, x));
    if joined > 1 {
        let note = format!(
            "Each place joins {joined} intervals: the largest p99 and maximum, the middle p50."
        );
        charts.iter_mut().for_each(|chart| chart.notes.push(note.clone()));
    }
    charts.iter().map(Chart::draw).collect()
}

/// How many users took part; nothing of a load without any.
fn users(tracks: &[Track], apart: bool, x: Axis) -> Option<Chart> {
    let all = || tracks.iter().flat_map(|track| &track.intervals);
    let high = all().map(|interval| interval.users).max().filter(|most| *most > 0)?;
    let y = Axis::rates("users", (0.0, real(high)), BOTTOM, TOP);
    let chosen = drawn(tracks, apart);
    let marks = html! {
        (borders(tracks, apart, &x))
        @for (colour, at) in chosen.iter().enumerate() {
            @let class = if apart { "s0".to_owned() } else { format!("s{colour}") };
            @let ends = tracks[*at].intervals.iter();
            @let points = ends.map(|it| (x.at_int(end_of(it)), y.at_int(it.users))).collect();
            (trail(&[points], &class))
        }
        (hover(tracks, &x))
    };
    let (title, notes) = ("Users over time".into(), limits(tracks, &chosen));
    let keys = if apart { Vec::new() } else { named(tracks, &chosen) };
    Some(Chart { title, keys, x, y, marks, notes })
}

/// A colour for each of the `chosen` tracks.
fn named(tracks: &[Track], chosen: &[usize]) -> Vec<Key> {
    let keyed = chosen.iter().enumerate();
    keyed.map(|(colour, at)| Key::new(format!("s{colour}"), tracks[*at].name.clone())).collect()
}

fn throughput(record: &RunRecord, tracks: &[Track], apart: bool, x: Axis) -> Chart {
    let rates = tracks.iter().flat_map(|track| &track.intervals).map(rate_of);
    let high = rates.max_by(f64::total_cmp).unwrap_or(1.0);
    let y = Axis::rates(Noun::of(record).rate, (0.0, high), BOTTOM, TOP);
    let failures = tracks.iter().flat_map(|track| &track.intervals).any(|i| i.failures > 0);
    let chosen = drawn(tracks, apart);
    let marks = html! {
        (borders(tracks, apart, &x))
        @for (colour, at) in chosen.iter().enumerate() {
            @let class = if apart { "s0".to_owned() } else { format!("s{colour}") };
            @let points: Vec<(f64, f64)> = tracks[*at].intervals.iter()
                .map(|interval| (x.at(middle(interval)), y.at(rate_of(interval)))).collect();
            (trail(&[points], &class))
        }
        @for interval in tracks.iter().flat_map(|track| &track.intervals).filter(|i| i.failures > 0) {
            (failed(interval, &x))
        }
        (hover(tracks, &x))
    };
    let mut keys: Vec<Key> =
        if apart { vec![Key::new("s0", "correct answers")] } else { named(tracks, &chosen) };
    if failures {
        keys.push(Key::new("failed", "failures in this interval"));
    }
    let notes = limits(tracks, &chosen);
    Chart { title: "Throughput over time".into(), keys, x, y, marks, notes }
}

fn latency(tracks: &[Track], apart: bool, x: Axis) -> Option<Chart> {
    const FIGURES: [(&str, Pick); 3] = [("max", |i| i.max), ("p99", |i| i.p99), ("p50", |i| i.p50)];
    let busy = || tracks.iter().flat_map(|track| &track.intervals).filter(|i| i.operations > 0);
    let low = busy().map(|interval| interval.p50).min()?;
    let chosen = drawn(tracks, apart);
    // of several results at once only the two figures that can still be told apart
    let figures = if apart { &FIGURES[..] } else { &FIGURES[1..] };
    let high = busy().flat_map(|i| figures.iter().map(|(_, pick)| pick(i))).max()?;
    let y = Axis::times("response time", (low, high), BOTTOM, TOP);
    let mut keys = Vec::new();
    let mut lines = Vec::new();
    for (colour, at) in chosen.iter().enumerate() {
        for (figure, pick) in figures {
            let class = match (apart, *figure) {
                (true, "max") => "s3".into(),
                (true, "p99") => "s1".into(),
                (true, _) => "s0".to_owned(),
                (false, "p99") => format!("s{colour} p99"),
                (false, _) => format!("s{colour}"),
            };
            if !apart {
                keys.push(Key::new(class.clone(), format!("{figure}, {}", tracks[*at].name)));
            } else if colour == 0 {
                keys.push(Key::new(class.clone(), *figure));
            }
            lines.push(trail(&stretches(&tracks[*at].intervals, *pick, &x, &y), &class));
        }
    }
    let marks = html! {
        (borders(tracks, apart, &x))
        @for line in &lines { (line) }
        (hover(tracks, &x))
    };
    let notes = limits(tracks, &chosen);
    Some(Chart { title: "Response time over time".into(), keys, x, y, marks, notes })
}

/// The stretches of intervals that had operations, in coordinates.
fn stretches(intervals: &[Interval], pick: Pick, x: &Axis, y: &Axis) -> Vec<Vec<(f64, f64)>> {
    intervals
        .split(|interval| interval.operations == 0)
        .map(|part| part.iter().map(|i| (x.at(middle(i)), y.at_int(pick(i)))).collect())
        .collect()
}

/// A line for every stretch, a dot for a stretch of one.
fn trail(stretches: &[Vec<(f64, f64)>], class: &str) -> Markup {
    html! {
        @for points in stretches {
            @match points[..] {
                [] => {},
                [(x, y)] => g class={ "dot " (class) } { circle cx=(n(x)) cy=(n(y)) r="1.8" {} },
                _ => path class={ "line " (class) } d=(line(points)) {},
            }
        }
    }
}

/// A mark on the base line where operations failed.
fn failed(interval: &Interval, x: &Axis) -> Markup {
    let at = x.at(middle(interval));
    let words = format!("{} failures at {}", grouped(interval.failures), span(interval));
    html! {
        path class="failed" d=(format!("M{} {}l4 7h-8z", n(at), n(BOTTOM - 8.0))) {
            title { (typeset(&words)) }
        }
    }
}

/// How long each load ran before what counts, nanoseconds.
fn warmup_ns(record: &RunRecord) -> u64 {
    let said = record.plan.options.get("warmup").and_then(|value| value.as_str());
    said.and_then(|said| said.parse::<Span>().ok()).map_or(0, Span::ns)
}

/// Width of a warm-up from which it has its name in it, user units.
const NAMED_FROM: f64 = 52.0;

/// The warm-ups, of which nothing is drawn.
fn warm_ups(tracks: &[Track], x: &Axis) -> Markup {
    let firsts = tracks.iter().filter_map(|track| Some((track.intervals.first()?.start_ns, track)));
    let parts =
        firsts.map(|(start_ns, track)| (start_ns.saturating_sub(track.warmup_ns), start_ns));
    html! {
        @for (from_ns, to_ns) in parts.filter(|(from_ns, to_ns)| from_ns < to_ns) {
            @let (from, to) = (x.at_int(from_ns), x.at_int(to_ns));
            rect class="warm-up" x=(n(from)) y=(n(TOP)) width=(n(to - from)) height=(n(BOTTOM - TOP)) {
                title { "warm-up: not counted" }
            }
            @if to - from > NAMED_FROM {
                text class="mid" x=(n(f64::midpoint(from, to))) y=(n(TOP + 14.0)) { "warm-up" }
            }
        }
    }
}

/// A stroke where one result ends and the next begins, and what was not counted before each.
fn borders(tracks: &[Track], apart: bool, x: &Axis) -> Markup {
    let starts = tracks.iter().skip(1).filter_map(|track| track.intervals.first());
    html! {
        (warm_ups(if apart { tracks } else { &tracks[..tracks.len().min(1)] }, x))
        @if apart {
            @for first in starts {
                @let at = n(x.at_int(first.start_ns));
                line class="border" x1=(at) x2=(at) y1=(n(TOP)) y2=(n(BOTTOM)) {}
            }
        }
    }
}

/// A strip over every interval that tells its figures when it is pointed at.
fn hover(tracks: &[Track], x: &Axis) -> Markup {
    html! {
        @for track in tracks {
            @for interval in &track.intervals {
                @let (from, to) = (x.at_int(interval.start_ns), x.at_int(end_of(interval)));
                rect class="touch" x=(n(from)) y=(n(TOP)) width=(n((to - from).max(0.5)))
                    height=(n(BOTTOM - TOP - 9.0)) { title { (typeset(&said(track, interval))) } }
            }
        }
    }
}

fn said(track: &Track, interval: &Interval) -> String {
    let name = if track.name.is_empty() { String::new() } else { format!("{}, ", track.name) };
    let mut words = format!("{name}{}: {}", span(interval), per_second(rate_of(interval)));
    if interval.users > 0 {
        words += &format!(", {} users", grouped(interval.users));
    }
    if interval.operations > 0 {
        words += &format!(
            ", p50 {}, p99 {}, max {}",
            show_ns(interval.p50),
            show_ns(interval.p99),
            show_ns(interval.max)
        );
    }
    if interval.failures > 0 {
        words += &format!(", {} failures", grouped(interval.failures));
    }
    words
}

fn span(interval: &Interval) -> String {
    format!("{} to {}", show_ns(interval.start_ns), show_ns(end_of(interval)))
}

/// Which tracks are drawn: all that follow each other, or as many at once as can be read.
fn drawn(tracks: &[Track], apart: bool) -> Vec<usize> {
    if apart { (0..tracks.len()).collect() } else { spread(tracks.len(), LINES_MAX) }
}

fn limits(tracks: &[Track], chosen: &[usize]) -> Vec<String> {
    let note = || format!("{} of {} results are drawn.", chosen.len(), tracks.len());
    (chosen.len() < tracks.len()).then(note).into_iter().collect()
}

/// True when every result ended before the next began.
fn one_after_another(tracks: &[Track]) -> bool {
    let ends = |track: &Track| track.intervals.last().map_or(0, end_of);
    let starts = |track: &Track| track.intervals.first().map_or(0, |first| first.start_ns);
    tracks.windows(2).all(|pair| ends(&pair[0]) <= starts(&pair[1]))
}

/// The intervals with a last one of less than half the usual length added to the one before: in
/// it a single answer would pass for a high rate, and none for a standstill.
fn without_stub(intervals: &[Interval]) -> Vec<Interval> {
    match intervals {
        [whole @ .., before, stub] if stub.duration_ns < before.duration_ns / 2 => {
            let last = Interval {
                duration_ns: end_of(stub).saturating_sub(before.start_ns),
                operations: before.operations.saturating_add(stub.operations),
                failures: before.failures.saturating_add(stub.failures),
                p50: if before.operations == 0 { stub.p50 } else { before.p50 },
                p99: before.p99.max(stub.p99),
                max: before.max.max(stub.max),
                users: stub.users,
                ..*before
            };
            whole.iter().copied().chain([last]).collect()
        }
        _ => intervals.to_vec(),
    }
}

fn join(intervals: &[Interval], joined: usize) -> Vec<Interval> {
    intervals.chunks(joined).filter_map(as_one).collect()
}

/// Neighbouring intervals as one: counts added, the largest p99 and maximum, the middle p50.
fn as_one(part: &[Interval]) -> Option<Interval> {
    let (first, last) = (part.first()?, part.last()?);
    let mut medians: Vec<u64> =
        part.iter().filter(|i| i.operations > 0).map(|interval| interval.p50).collect();
    medians.sort_unstable();
    Some(Interval {
        start_ns: first.start_ns,
        duration_ns: end_of(last).saturating_sub(first.start_ns),
        operations: total(part.iter().map(|interval| interval.operations)),
        failures: total(part.iter().map(|interval| interval.failures)),
        p50: medians.get(medians.len() / 2).copied().unwrap_or(0),
        p99: part.iter().map(|interval| interval.p99).max().unwrap_or(0),
        max: part.iter().map(|interval| interval.max).max().unwrap_or(0),
        users: last.users,
    })
}

fn end_of(interval: &Interval) -> u64 {
    interval.start_ns.saturating_add(interval.duration_ns)
}

fn middle(interval: &Interval) -> f64 {
    real(interval.start_ns) + real(interval.duration_ns) / 2.0
}

fn rate_of(interval: &Interval) -> f64 {
    real(interval.operations) / (real(interval.duration_ns.max(1)) / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start: u64, operations: u64, p50: u64) -> Interval {
        let failures = u64::from(operations == 0);
        Interval {
            start_ns: start,
            duration_ns: 10,
            operations,
            failures,
            p50,
            p99: p50 * 2,
            max: p50 * 3,
            users: 0,
        }
    }

    #[test]
    fn joined_intervals_keep_every_count_and_the_worst_time() {
        let joined = join(&[interval(0, 5, 7), interval(10, 0, 0), interval(20, 5, 9)], 3);
        let [one] = joined[..] else { panic!("{joined:?}") };
        assert_eq!((one.start_ns, one.duration_ns), (0, 30));
        assert_eq!((one.operations, one.failures), (10, 1));
        assert_eq!((one.p50, one.p99, one.max), (9, 18, 27));
    }

    #[test]
    fn a_short_last_interval_is_added_to_the_one_before() {
        let stub = Interval { duration_ns: 4, operations: 1, ..interval(20, 1, 50) };
        let whole = without_stub(&[interval(0, 5, 7), interval(10, 5, 9), stub]);
        let [_, last] = whole[..] else { panic!("{whole:?}") };
        assert_eq!((last.duration_ns, last.operations, last.p50, last.max), (14, 6, 9, 150));
        let silent = without_stub(&[interval(0, 5, 7), interval(10, 0, 0), stub]);
        assert_eq!(silent.last().map(|last| (last.operations, last.p50)), Some((1, stub.p50)));
        let even = [interval(0, 5, 7), interval(10, 5, 9)];
        assert_eq!(without_stub(&even), even);
    }

    #[test]
    fn results_that_ran_at_once_are_told_from_those_in_turn() {
        let track = |from: u64| Track {
            name: String::new(),
            intervals: vec![interval(from, 1, 1)],
            warmup_ns: 0,
        };
        assert!(one_after_another(&[track(0), track(10), track(30)]));
        assert!(!one_after_another(&[track(0), track(5)]));
    }

    #[test]
    fn an_interval_without_operations_breaks_the_line() {
        let x = Axis::since_start(30, 0.0, 30.0);
        let y = Axis::times("time", (1, 10), 10.0, 0.0);
        let intervals = [interval(0, 5, 7), interval(10, 0, 0), interval(20, 5, 9)];
        assert_eq!(stretches(&intervals, |i| i.p50, &x, &y).len(), 2);
    }
}
