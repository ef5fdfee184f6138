//! What streams carried over time.

use maud::{Markup, html};
use plumb_chart::{Axis, BOTTOM, Chart, Key, LEFT, LINES_MAX, RIGHT, TOP, coordinate as n, line};
use plumb_measure::{Portion, RunRecord, StreamInterval, bits_per_s, show_ns};

use crate::figures::{real, typeset, with_unit};
use crate::points::{Points, spread};

/// A direction: its name, and what came of it in an interval.
type Way = (&'static str, fn(&StreamInterval) -> Option<Portion>);

const WAYS: [Way; 2] = [("to server", |it| it.to_server), ("from server", |it| it.from_server)];

/// One direction of one result.
struct Course {
    name: String,
    /// Start and length, nanoseconds, and bits a second.
    parts: Vec<(u64, u64, f64)>,
}

/// The rates of all streams over time, each from its own start; nothing below two intervals.
pub(crate) fn chart(record: &RunRecord) -> Option<Markup> {
    let courses = courses(record);
    let all = || courses.iter().flat_map(|course| &course.parts);
    let end_ns = all().map(|(start_ns, length_ns, _)| start_ns.saturating_add(*length_ns)).max()?;
    let high = all().map(|(_, _, rate)| *rate).max_by(f64::total_cmp)?;
    let x = Axis::since_start(end_ns, LEFT, RIGHT);
    let y = Axis::rates("bit/s", (0.0, high), BOTTOM, TOP);
    let chosen = spread(courses.len(), LINES_MAX);
    let middle =
        |(start_ns, length_ns, _): &(u64, u64, f64)| real(*start_ns) + real(*length_ns) / 2.0;
    let marks = html! {
        @for (colour, at) in chosen.iter().enumerate() {
            @let parts = &courses[*at].parts;
            @let points: Vec<(f64, f64)> =
                parts.iter().map(|part| (x.at(middle(part)), y.at(part.2))).collect();
            path class={ "line s" (colour) } d=(line(&points)) {}
        }
        @for course in &courses {
            @for (start_ns, length_ns, rate) in &course.parts {
                @let (from, to) = (x.at_int(*start_ns), x.at_int(start_ns.saturating_add(*length_ns)));
                rect class="touch" x=(n(from)) y=(n(TOP)) width=(n((to - from).max(0.5)))
                    height=(n(BOTTOM - TOP)) {
                    title { (typeset(&said(&course.name, (*start_ns, *length_ns), *rate))) }
                }
            }
        }
    };
    let keys = chosen.iter().enumerate();
    let keys = keys.map(|(colour, at)| Key::new(format!("s{colour}"), courses[*at].name.clone()));
    let keys: Vec<Key> = keys.collect();
    let left_out = courses.len() - chosen.len();
    let notes = (left_out > 0).then(|| format!("{} of {} are drawn.", chosen.len(), courses.len()));
    Some(
        Chart {
            title: "Received over time".into(),
            keys,
            x,
            y,
            marks,
            notes: notes.into_iter().collect(),
        }
        .draw(),
    )
}

fn courses(record: &RunRecord) -> Vec<Course> {
    let points = Points::of(record);
    let mut courses = Vec::new();
    for result in &points.results {
        let Some(stream) = &result.stream else { continue };
        for (way, of) in WAYS {
            let parts: Vec<(u64, u64, f64)> = stream
                .intervals
                .iter()
                .filter_map(|interval| {
                    let portion = of(interval).filter(|it| it.duration_ns > 0)?;
                    let rate = bits_per_s(portion.bytes, portion.duration_ns);
                    Some((interval.start_ns, portion.duration_ns, rate))
                })
                .collect();
            let own = points.name(result);
            let name = if own.is_empty() { way.to_owned() } else { format!("{own}, {way}") };
            if parts.len() > 1 {
                courses.push(Course { name, parts });
            }
        }
    }
    courses
}

fn said(name: &str, (start_ns, length_ns): (u64, u64), rate: f64) -> String {
    let end_ns = start_ns.saturating_add(length_ns);
    let rate = with_unit(rate, "bit/s");
    format!("{name}, {} to {}: {rate}", show_ns(start_ns), show_ns(end_ns))
}
