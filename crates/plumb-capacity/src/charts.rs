//! The figures at the top of a capacity report, and its charts.

use plumb_chart::{CurveChart, CurvePoint, MeasuredPoint, Quantity};
use plumb_measure::statistics::Bounded;
use plumb_measure::{counted, show_rate};

use crate::page::KeyFigure;
use plumb_size::analysis::Figure;
use plumb_size::ladder::{Step, counted_users};
use plumb_size::sizing::{CurvePoint as Modelled, Sizing};

use crate::figures::{target_words, time};

/// The figures that a reader asks for first.
pub(crate) fn figures(sizing: &Sizing) -> Vec<KeyFigure> {
    let mut figures = Vec::new();
    let mut add = |name: &str, value: String, about: String| {
        figures.push(KeyFigure { name: name.into(), value, about });
    };
    if let Some(answer) = &sizing.answer {
        if let (Some(within), Some(target)) = (answer.users_within, sizing.question.target) {
            let (value, about) = largest(within, sizing.users_max());
            add("fit within the target", value, about + &target_words(target));
        }
        let asked = format!("with {}", counted(u64::from(sizing.question.users), "user"));
        let p95 = answer.p95_s;
        add(&format!("p95 {asked}"), time(p95.value), range(p95, time));
        let x = answer.throughput_per_s;
        add(&format!("a second {asked}"), show_rate(x.value), range(x, show_rate));
    }
    let knee = &sizing.knee;
    let about = format!("{} {}", range(knee.users, whole), knee.bottleneck);
    let shown = if knee.shown { about } else { format!("{about}, not measured") };
    if knee.explained && !knee.behind_failures {
        add("knee of the ladder", counted_users(knee.users.value), shown);
    }
    if let Some(held_out) = &sizing.held_out {
        let (name, it) = match sizing.question.target.map(|target| target.figure) {
            Some(Figure::Mean) => ("mean", &held_out.mean_s),
            Some(Figure::P95) | None => ("p95", &held_out.p95_s),
        };
        let held = if it.held { "within its interval" } else { "outside its interval" };
        let about = format!("{name} of {}, {held}", counted_users(held_out.users));
        add("error of the held-out step", format!("{:+.1} %", it.error * 100.0), about);
    }
    figures
}

/// How many users the target holds, of at most `most` of whom anything is said, and how sure that is.
fn largest(within: Bounded, most: f64) -> (String, String) {
    let Bounded { value, low, .. } = within;
    if value + 1.0 <= most {
        return (counted_users(value), range(within, whole) + ", ");
    }
    let model = if low + 1.0 > most {
        String::new()
    } else {
        format!("{:.0} by the model, ", value.floor())
    };
    (format!("\u{2265} {}", counted_users(low.floor())), model)
}

fn range(it: Bounded, show: fn(f64) -> String) -> String {
    format!("({} to {})", show(it.low), show(it.high))
}

fn whole(users: f64) -> String {
    format!("{users:.0}")
}

/// Throughput and response time over users: the ladder, the model of it, and what was asked.
pub(crate) fn charts(sizing: &Sizing) -> Vec<CurveChart> {
    let target = sizing.question.target;
    let mean = target.is_some_and(|target| target.figure == Figure::Mean);
    let name = if mean { "mean response time" } else { "p95 of the response time" };
    let modelled: fn(&Modelled) -> Bounded = if mean { |it| it.mean_s } else { |it| it.p95_s };
    let measured: fn(&Step) -> f64 = if mean { |it| it.mean_s } else { |it| it.p95_s };
    let think = time(sizing.model.think_s);
    let base = |title: &str, figure: &str, quantity, modelled: fn(&Modelled) -> Bounded| {
        let is_told = sizing.knee.explained && !sizing.knee.behind_failures;
        let knee = sizing.knee.users;
        CurveChart {
            title: title.into(),
            figure: figure.into(),
            quantity,
            curve: sizing.curve.iter().map(|it| point(it, modelled(it))).collect(),
            steps: Vec::new(),
            knee: is_told.then_some((knee.value, knee.low, knee.high)),
            target: None,
            asked: Some(sizing.users_of_ladder()),
            notes: vec![format!("Users who think for {think}, as those of the ladder did.")],
        }
    };
    let rates = base("Throughput", "operations a second", Quantity::Rate, |it| it.throughput_per_s);
    let times = base("Response time", name, Quantity::Time, modelled);
    vec![
        CurveChart { steps: steps(sizing, |step| step.throughput_per_s), ..rates },
        CurveChart {
            steps: steps(sizing, measured),
            target: target.map(|target| target.most_s),
            ..times
        },
    ]
}

#[expect(clippy::cast_precision_loss, reason = "at most two million users")]
fn point(of: &Modelled, it: Bounded) -> CurvePoint {
    CurvePoint { users: of.users as f64, value: it.value, low: it.low, high: it.high }
}

fn steps(sizing: &Sizing, figure: fn(&Step) -> f64) -> Vec<MeasuredPoint> {
    let held_out = sizing.held_out.as_ref().map(|it| it.users);
    let step = |step: &Step| MeasuredPoint {
        users: step.users,
        value: figure(step),
        held_out: held_out.is_some_and(|users| (users - step.users).abs() < 0.5),
    };
    sizing.ladder.steps().iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_names_the_lower_end_where_the_model_reaches_the_end_of_the_range() {
        let of = |value, low, high| {
            let (value, about) = largest(Bounded { value, low, high }, 200.0);
            format!("{value}: {about}")
        };
        assert_eq!(of(198.0, 150.0, 200.0), "198 users: (150 to 200), ");
        assert_eq!(of(200.0, 150.0, 200.0), "\u{2265} 150 users: 200 by the model, ");
        assert_eq!(of(200.0, 200.0, 200.0), "\u{2265} 200 users: ");
        assert_eq!(of(1.0, 1.0, 2.0), "1 user: (1 to 2), ");
    }
}
