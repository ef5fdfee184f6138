//! Runs in the order in which they were taken: what changed from one to the next.

use maud::{Markup, html};
use plumb_chart::{Axis, BOTTOM, Chart, Key, LEFT, LINES_MAX, RIGHT, TOP};

use super::dot;
use crate::points::spread;
use crate::trust::Trust;

/// Dots of a chart; of more, as many are drawn evenly spread.
const DOTS_MAX: usize = 300;

/// The figure of one run.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// When the run began, nanoseconds since 1970.
    pub(crate) at_ns: u64,
    /// Nanoseconds.
    pub(crate) time_ns: u64,
    pub(crate) trust: Trust,
    /// What is told when it is pointed at.
    pub(crate) words: String,
}

/// The runs at one point of their plan.
#[derive(Clone, Debug)]
pub(crate) struct RunsOverTime {
    /// Empty for the only one.
    pub(crate) name: String,
    pub(crate) moments: Vec<Moment>,
}

/// The chart; nothing unless runs began at two moments.
pub(crate) fn draw(title: String, figure: &str, mut courses: Vec<RunsOverTime>) -> Option<Markup> {
    courses.retain(|course| !course.moments.is_empty());
    let chosen = spread(courses.len(), LINES_MAX);
    let drawn: Vec<&RunsOverTime> = chosen.iter().map(|at| &courses[*at]).collect();
    let moments = || drawn.iter().flat_map(|course| &course.moments);
    let first_ns = moments().map(|moment| moment.at_ns).min()?;
    let last_ns = moments().map(|moment| moment.at_ns).max().filter(|last| *last > first_ns)?;
    let low = moments().map(|moment| moment.time_ns).min()?;
    let high = moments().map(|moment| moment.time_ns).max()?;
    let start_s = i64::try_from(first_ns / 1_000_000_000).ok()?;
    let lead_ns = first_ns % 1_000_000_000;
    let span_ns = last_ns - first_ns + lead_ns;
    let x = Axis::clock(start_s, span_ns, LEFT + 4.0, RIGHT)
        .map(|axis| axis.titled("start of the run, UTC"))
        .unwrap_or_else(|| Axis::since_start(span_ns, LEFT, RIGHT));
    let y = Axis::times(figure, (low, high), BOTTOM, TOP);
    let each = DOTS_MAX / drawn.len().max(1);
    let mut notes = Vec::new();
    if chosen.len() < courses.len() || drawn.iter().any(|course| course.moments.len() > each) {
        notes.push("Of many runs some are drawn, evenly spread; the table holds all.".to_owned());
    }
    if moments().any(|moment| moment.trust != Trust::Full) {
        notes.push("A cross: the latency of this run is not valid.".to_owned());
    }
    let marks = html! {
        @for (colour, course) in drawn.iter().enumerate() {
            @for at in spread(course.moments.len(), each) {
                @let moment = &course.moments[at];
                @let place = x.at_int(moment.at_ns - first_ns + lead_ns);
                (dot(&format!("s{colour}"), moment.trust, (place, y.at_int(moment.time_ns)),
                     &moment.words))
            }
        }
    };
    let named = drawn.iter().enumerate().filter(|(_, course)| !course.name.is_empty());
    let keys =
        named.map(|(at, course)| Key::new(format!("round s{at}"), course.name.clone())).collect();
    Some(Chart { title, keys, x, y, marks, notes }.draw())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(count: u64) -> RunsOverTime {
        let moment = |at: u64| Moment {
            at_ns: 1_795_278_094_000_000_000 + at * 60_000_000_000,
            time_ns: 10_000 + at,
            trust: if at == 1 { Trust::Nothing } else { Trust::Full },
            words: String::new(),
        };
        RunsOverTime { name: "size 1B".into(), moments: (0..count).map(moment).collect() }
    }

    #[test]
    fn runs_stand_at_the_moments_they_began_and_one_alone_is_no_course() {
        let page = draw("t".into(), "median", vec![course(5)]).unwrap().into_string();
        assert_eq!(page.matches("class=\"dot s0\"").count(), 5);
        assert!(page.contains("start of the run, UTC") && page.contains("A cross:"), "{page}");
        assert!(draw("t".into(), "median", vec![course(1)]).is_none());
        assert!(draw("t".into(), "median", Vec::new()).is_none());
    }

    #[test]
    fn of_many_runs_some_are_drawn() {
        let page = draw("t".into(), "median", vec![course(5_000)]).unwrap().into_string();
        assert_eq!(page.matches("class=\"dot s0\"").count(), DOTS_MAX);
        assert!(page.contains("evenly spread"));
    }
}
