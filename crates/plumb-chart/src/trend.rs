//! What became of a figure from run to run: a line a plan over calendar time.

use maud::{Markup, html};
use plumb_measure::real;
use plumb_page::trust::Trust;

use crate::axis::Axis;
use crate::scale::place;
use crate::sheet::{BOTTOM, Chart, Key, LEFT, LINES_MAX, Mark, RIGHT, TOP, line, mark};

/// Dots of a chart; of more, as many are drawn evenly spread.
const DOTS_MAX: usize = 300;

/// The figure of one run.
#[derive(Clone, Debug)]
pub struct TrendPoint {
    /// When the run began, nanoseconds since 1970.
    pub at_ns: u64,
    /// The figure, in the unit of its chart.
    pub value: f64,
    /// How far it may be used.
    pub trust: Trust,
    /// What is told when it is pointed at.
    pub words: String,
}

/// The runs of one plan.
#[derive(Clone, Debug)]
pub struct Trend {
    /// Empty for the only one.
    pub name: String,
    /// In order of time.
    pub points: Vec<TrendPoint>,
}

/// What a trend is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrendFigure {
    /// A time in nanoseconds, named by its axis.
    Time(&'static str),
    /// Operations a second.
    Rate(&'static str),
}

/// Charts of as many lines as can be told apart, `charts_max` at most; none unless runs began at two
/// moments, and where no figure is above zero. All have the same axes.
#[must_use]
pub fn trends(
    title: &str,
    figure: TrendFigure,
    mut all: Vec<Trend>,
    charts_max: usize,
) -> Vec<Markup> {
    all.retain(|trend| !trend.points.is_empty());
    let whole = all.len();
    all.truncate(LINES_MAX * charts_max);
    let Some((x, first_ns)) = moments(&all) else { return Vec::new() };
    let values = || all.iter().flat_map(|trend| &trend.points).map(|point| point.value);
    if values().all(|value| value <= 0.0) {
        return Vec::new(); // an axis of nothing would have a scale all the same
    }
    let range = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    let y = match figure {
        TrendFigure::Time(words) => Axis::times_around(words, range, BOTTOM, TOP),
        TrendFigure::Rate(words) => Axis::figures_around(words, range, BOTTOM, TOP),
    };
    let panels = all.chunks(LINES_MAX).enumerate();
    panels
        .map(|(at, lines)| {
            let mut notes = Vec::new();
            if at == 0 && all.len() < whole {
                notes.push(format!(
                    "{} of {whole} lines are drawn; the table holds all.",
                    all.len()
                ));
            }
            panel(title, lines, (&x, first_ns), &y, notes)
        })
        .collect()
}

/// The axis of time, and the moment at its beginning.
fn moments(all: &[Trend]) -> Option<(Axis, u64)> {
    let moments = || all.iter().flat_map(|trend| &trend.points).map(|point| point.at_ns);
    let first_ns = moments().min()?;
    let last_ns = moments().max().filter(|last| *last > first_ns)?;
    let start_s = i64::try_from(first_ns / 1_000_000_000).ok()?;
    let begin_ns = first_ns - first_ns % 1_000_000_000;
    let axis = Axis::clock(start_s, last_ns - begin_ns, LEFT + 4.0, RIGHT)
        .map(|axis| axis.titled("start of the run, UTC"))
        .unwrap_or_else(|| Axis::since_start(last_ns - begin_ns, LEFT, RIGHT));
    Some((axis, begin_ns))
}

fn panel(
    title: &str,
    lines: &[Trend],
    (x, begin_ns): (&Axis, u64),
    y: &Axis,
    mut notes: Vec<String>,
) -> Markup {
    let each = DOTS_MAX / lines.len().max(1);
    let at = |point: &TrendPoint| (x.at(real(point.at_ns - begin_ns)), y.at(point.value));
    if lines.iter().any(|trend| trend.points.len() > each) {
        notes.push("Of many runs some are drawn, evenly spread; the table holds all.".into());
    }
    if lines.iter().flat_map(|trend| &trend.points).any(|point| !point.trust.is_full()) {
        notes.push("A cross: this figure may not be used, and no line leads to it.".into());
    }
    let marks = html! {
        @for (colour, trend) in lines.iter().enumerate() {
            @let class = format!("s{colour}");
            @let shown: Vec<&TrendPoint> = spread(&trend.points, each);
            @let valid: Vec<(f64, f64)> =
                shown.iter().filter(|point| point.trust.is_full()).map(|point| at(point)).collect();
            path class={ "line " (class) } d=(line(&valid)) {}
            @for point in shown {
                (mark(&class, if point.trust.is_full() { Mark::Dot } else { Mark::Cross },
                      at(point), &point.words))
            }
        }
    };
    let named = lines.iter().enumerate().filter(|(_, trend)| !trend.name.is_empty());
    let keys = named.map(|(at, trend)| Key::new(format!("s{at}"), trend.name.clone())).collect();
    Chart { title: title.into(), keys, x: x.clone(), y: y.clone(), marks, notes }.draw()
}

/// As many of the points, evenly spread, the first and the last among them.
fn spread(points: &[TrendPoint], most: usize) -> Vec<&TrendPoint> {
    let (most, last) = (most.max(2), points.len().saturating_sub(1));
    if points.len() <= most {
        return points.iter().collect();
    }
    let step = place(last) / place(most - 1);
    let mut next = 0.0;
    let mut kept = Vec::with_capacity(most);
    for (at, point) in points.iter().enumerate() {
        if place(at) + 0.5 >= next || at == last {
            kept.push(point);
            next += step;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(count: u64) -> Trend {
        let point = |at: u64| TrendPoint {
            at_ns: 1_795_278_094_000_000_000 + at * 60_000_000_000,
            value: 10_000.0 + real(at),
            trust: if at == 1 { Trust::Nothing } else { Trust::Full },
            words: String::new(),
        };
        Trend { name: "size 1B".into(), points: (0..count).map(point).collect() }
    }

    fn drawn(all: Vec<Trend>) -> Vec<String> {
        let charts = trends("t", TrendFigure::Time("median"), all, 2);
        charts.into_iter().map(Markup::into_string).collect()
    }

    #[test]
    fn a_line_joins_the_runs_of_a_plan_and_leaves_out_what_may_not_be_used() {
        let page = &drawn(vec![trend(5)])[0];
        assert_eq!(page.matches("class=\"dot s0\"").count(), 5);
        let path = page.split("class=\"line s0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches('L').count(), 3, "four of five: {path}");
        assert!(page.contains("start of the run, UTC") && page.contains("A cross:"), "{page}");
        assert!(drawn(vec![trend(1)]).is_empty() && drawn(Vec::new()).is_empty());
    }

    #[test]
    fn runs_that_all_did_nothing_have_no_chart() {
        let mut nothing = trend(3);
        nothing.points.iter_mut().for_each(|point| point.value = 0.0);
        assert!(drawn(vec![nothing.clone()]).is_empty());
        assert_eq!(drawn(vec![nothing, trend(3)]).len(), 1);
    }

    #[test]
    fn of_many_runs_and_many_plans_some_are_drawn() {
        let page = &drawn(vec![trend(5_000)])[0];
        let dots = page.matches("class=\"dot s0\"").count();
        assert!((DOTS_MAX - 2..=DOTS_MAX).contains(&dots), "{dots}");
        assert!(page.contains("evenly spread"));
        let charts = drawn((0..40).map(|_| trend(2)).collect());
        assert_eq!(charts.len(), 2);
        assert!(charts[0].contains("12 of 40 lines are drawn"));
    }
}
