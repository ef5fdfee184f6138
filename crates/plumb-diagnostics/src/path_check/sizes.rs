//! The round trip by the size of the message, drawn: what one packet more costs, and what gets lost.

use maud::{Markup, html};
use plumb_chart::{Axis, BOTTOM, Chart, Key, LEFT, Mark, RIGHT, TOP, line, mark};
use plumb_checkup::{PathCheck, PathPart, PathTest};
use plumb_measure::show_ns;

use plumb_page::figures::{self, grouped, typeset};
use plumb_page::trust::Trust;

/// The two times of a size that are drawn, with the class of each.
const FIGURES: [(&str, &str); 2] = [("p50", "s0"), ("longest", "s3")];

/// The chart; nothing below two sizes with an answer.
pub(super) fn chart(check: &PathCheck) -> Option<Markup> {
    let mut parts: Vec<&PathPart> = check.parts.iter().filter(|part| is_of_sizes(part)).collect();
    parts.sort_by_key(|part| part.size_bytes);
    parts.dedup_by_key(|part| part.size_bytes);
    let times = |part: &PathPart| {
        let outcome = part.outcome.as_ref()?;
        Some([outcome.p50_ns?, outcome.max_ns?])
    };
    let answered: Vec<(&PathPart, [u64; 2])> =
        parts.iter().filter_map(|part| Some((*part, times(part)?))).collect();
    if answered.len() < 2 {
        return None;
    }
    let silent: Vec<&PathPart> = parts
        .iter()
        .copied()
        .filter(|part| part.outcome.as_ref().is_some_and(|it| it.failed() > 0 || it.unanswered))
        .collect();
    let names: Vec<String> = parts.iter().map(|part| grouped(part.size_bytes)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // the sizes of packets lie close together: each has a place of its own
    let numbers: Vec<f64> = (0..parts.len()).map(figures::place).collect();
    let x = Axis::values("bytes of a message", &names, &numbers, (LEFT, RIGHT));
    let low = answered.iter().map(|(_, [p50, _])| *p50).min()?;
    let high = answered.iter().map(|(_, [_, max])| *max).max()?;
    let y = Axis::times("round trip", (low, high), BOTTOM, TOP);
    let place = |part: &PathPart| {
        let before = parts.iter().take_while(|it| it.size_bytes < part.size_bytes);
        x.at(figures::place(before.count()))
    };
    let marks = html! {
        @for (at, (figure, class)) in FIGURES.iter().enumerate() {
            @let points: Vec<(f64, f64)> =
                answered.iter().map(|(part, times)| (place(part), y.at_int(times[at]))).collect();
            path class={ "line " (class) } d=(line(&points)) {}
            @for ((part, times), point) in answered.iter().zip(points) {
                @let words = format!("{} bytes: {figure} {}", grouped(part.size_bytes), show_ns(times[at]));
                (mark(class, shape(part), point, &typeset(&words)))
            }
        }
        @for part in &silent {
            @let words = format!("{} bytes: messages without an answer", grouped(part.size_bytes));
            (mark("lost", Mark::Cross, (place(part), TOP), &words))
        }
    };
    let mut keys = FIGURES.map(|(figure, class)| Key::new(class, figure)).to_vec();
    if !silent.is_empty() {
        keys.push(Key::new("lost", "messages without an answer"));
    }
    let doubted = answered.iter().any(|(part, _)| shape(part) == Mark::Cross);
    let notes = doubted.then(|| "A cross: this figure is not valid.".to_owned());
    let (title, notes) = ("Round trip by size".into(), notes.into_iter().collect());
    Some(Chart { title, keys, x, y, marks, notes }.draw())
}

/// True of a part whose messages follow each other, so that their times compare.
fn is_of_sizes(part: &PathPart) -> bool {
    matches!(part.test, PathTest::Throughput | PathTest::RoundTrip | PathTest::Sizes)
}

fn shape(part: &PathPart) -> Mark {
    let valid =
        part.outcome.as_ref().is_some_and(|outcome| super::tables::trust(outcome) == Trust::Full);
    if valid { Mark::Dot } else { Mark::Cross }
}
