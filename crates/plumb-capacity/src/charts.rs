//! The figures at the top of a capacity report, and its charts.

use plumb_chart::{CurveChart, CurvePoint, MeasuredPoint, Quantity};
use plumb_measure::show_rate;

use crate::page::KeyFigure;
use plumb_size::Bounded;
use plumb_size::analysis::Figure;
use plumb_size::ladder::Step;
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
            let end = within.value + 1.0 > sizing.users_max();
            let (value, about) = match within {
                _ if end => (format!("\u{2265} {:.0} users", within.value.floor()), String::new()),
                _ => (format!("{:.0} users", within.value), range(within, whole) + ", "),
            };
            add("fit within the target", value, about + &target_words(target));
        }
        let asked = format!("with {} users", sizing.question.users);
        let p95 = answer.p95_s;
        add(&format!("p95 {asked}"), time(p95.value), range(p95, time));
        let x = answer.throughput_per_s;
        add(&format!("a second {asked}"), show_rate(x.value), range(x, show_rate));
    }
    let knee = &sizing.knee;
    let about = format!("{} {}", range(knee.users, whole), knee.bottleneck);
    let shown = if knee.shown { about } else { format!("{about}, not measured") };
    if knee.explained {
        add("knee of the ladder", format!("{:.0} users", knee.users.value), shown);
    }
    if let Some(held_out) = &sizing.held_out {
        let (name, it) = match sizing.question.target.map(|target| target.figure) {
            Some(Figure::Mean) => ("mean", &held_out.mean_s),
            Some(Figure::P95) | None => ("p95", &held_out.p95_s),
        };
        let held = if it.held { "within its interval" } else { "outside its interval" };
        let about = format!("{name} of {:.0} users, {held}", held_out.users);
        add("error of the held-out step", format!("{:+.1} %", it.error * 100.0), about);
    }
    figures
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
        let knee = sizing.knee.users;
        CurveChart {
            title: title.into(),
            figure: figure.into(),
            quantity,
            curve: sizing.curve.iter().map(|it| point(it, modelled(it))).collect(),
            steps: Vec::new(),
            knee: sizing.knee.explained.then_some((knee.value, knee.low, knee.high)),
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
