//! The schedule of an `OpenModelThreadGroup`: `rate(10/sec) random_arrivals(5 min)`.

use plumb_draft::wait::ms;
use plumb_measure::{Rate, Span};
use plumb_scenario::file::{Arrivals, Stage};

use super::element::Element;
use super::words::Words;

/// A step from one rate to another takes a stage; this is the shortest.
const STEP: Span = Span::from_ms(1);

/// What users begin, and when.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    pub(super) arrivals: Arrivals,
    pub(super) shape: Shape,
    /// True when even and random arrivals follow each other; they become random ones.
    pub(super) is_mixed: bool,
}

/// How the rate goes on.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Nobody ever arrives.
    Nobody,
    /// The same all the time.
    Constant(Rate, Span),
    /// It changes.
    Stages(Vec<Stage>),
}

/// A part of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SchedulePart {
    /// Arrivals a second from here on, and at the end of what went before.
    Rate(f64),
    Arrivals(Arrivals, Span),
    Pause(Span),
}

/// The schedule of an `OpenModelThreadGroup`.
///
/// # Errors
/// As [`read`].
pub(super) fn of_group(group: &Element<'_>, words: &Words) -> Result<Schedule, String> {
    let text = group.text("OpenModelThreadGroup.schedule");
    read(words.known(text).as_deref().unwrap_or(text))
}

/// Reads a schedule.
///
/// # Errors
/// In words, when it is none.
fn read(text: &str) -> Result<Schedule, String> {
    let parts = parts(text)?;
    let kinds: Vec<Arrivals> = parts
        .iter()
        .filter_map(|part| match part {
            SchedulePart::Arrivals(arrivals, _) => Some(*arrivals),
            SchedulePart::Rate(_) | SchedulePart::Pause(_) => None,
        })
        .collect();
    let arrivals =
        if kinds.contains(&Arrivals::Poisson) { Arrivals::Poisson } else { Arrivals::Fixed };
    let is_mixed = kinds.iter().any(|kind| *kind != arrivals);
    let shape = shape(&legs(&parts))?;
    Ok(Schedule { arrivals, shape, is_mixed })
}

/// A stretch of time with the rates at its beginning and at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Leg {
    over: Span,
    from: f64,
    to: f64,
}

/// The stretches of a schedule. A rate that follows one at once is a step; one that follows
/// arrivals is where they lead to.
fn legs(parts: &[SchedulePart]) -> Vec<Leg> {
    let mut legs = Vec::new();
    let mut rate = 0.0;
    for (at, part) in parts.iter().enumerate() {
        match *part {
            SchedulePart::Rate(next) => rate = next,
            SchedulePart::Pause(over) => legs.push(Leg { over, from: 0.0, to: 0.0 }),
            SchedulePart::Arrivals(_, over) => {
                let to = match parts.get(at + 1) {
                    Some(SchedulePart::Rate(next)) => *next,
                    _ => rate,
                };
                legs.push(Leg { over, from: rate, to });
                rate = to;
            }
        }
    }
    legs.retain(|leg| leg.over.ns() > 0);
    legs
}

fn shape(legs: &[Leg]) -> Result<Shape, String> {
    if legs.iter().all(|leg| leg.from <= 0.0 && leg.to <= 0.0) {
        return Ok(Shape::Nobody);
    }
    if let [Leg { over, from, to }] = *legs
        && (from - to).abs() < f64::EPSILON
    {
        return Ok(Shape::Constant(per_s(from)?, over));
    }
    let mut stages = Vec::new();
    let mut rate = 0.0;
    for leg in legs {
        if (leg.from - rate).abs() >= f64::EPSILON {
            stages.push(stage(STEP, leg.from)?);
        }
        stages.push(stage(leg.over, leg.to)?);
        rate = leg.to;
    }
    Ok(Shape::Stages(stages))
}

fn stage(over: Span, rate: f64) -> Result<Stage, String> {
    let rate = format!("{}/s", rate.max(0.0)).parse();
    let rate =
        rate.map_err(|_| format!("a stage of {} s has no rate", over.ns() / 1_000_000_000))?;
    Ok(Stage { over, users: None, rate: Some(rate) })
}

/// A rate.
pub(super) fn per_s(rate: f64) -> Result<Rate, String> {
    format!("{rate}/s").parse().map_err(|_| format!("{rate} a second is no rate"))
}

fn parts(text: &str) -> Result<Vec<SchedulePart>, String> {
    let text = without_comments(text);
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let wrong = || {
            format!(
                "`{}` is no schedule: rate(10/sec), random_arrivals(5 min), even_arrivals(..) and \
                 pause(..) are",
                rest.chars().take(40).collect::<String>()
            )
        };
        let (name, behind) = rest.split_once('(').ok_or_else(wrong)?;
        let (argument, behind) = behind.split_once(')').ok_or_else(wrong)?;
        parts.push(part(name.trim(), argument.trim()).ok_or_else(wrong)?);
        rest = behind.trim_start();
    }
    Ok(parts)
}

fn part(name: &str, argument: &str) -> Option<SchedulePart> {
    match name {
        "rate" => {
            let (number, unit) = argument.split_once('/').unwrap_or((argument, "sec"));
            let number: f64 = number.trim().parse().ok()?;
            let per = unit_ms(unit.trim())? / 1000.0;
            (number.is_finite() && number >= 0.0).then(|| SchedulePart::Rate(number / per))
        }
        "random_arrivals" => Some(SchedulePart::Arrivals(Arrivals::Poisson, span(argument)?)),
        "even_arrivals" => Some(SchedulePart::Arrivals(Arrivals::Fixed, span(argument)?)),
        "pause" => Some(SchedulePart::Pause(span(argument)?)),
        _ => None,
    }
}

fn span(text: &str) -> Option<Span> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim();
    let unit = if unit.is_empty() { 1000.0 } else { unit_ms(unit)? };
    Some(ms(number * unit))
}

/// Milliseconds of a unit.
fn unit_ms(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 1.0,
        "s" | "sec" | "second" | "seconds" => 1000.0,
        "m" | "min" | "minute" | "minutes" => 60_000.0,
        "h" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        _ => return None,
    })
}

/// Without `// to the end of the line` and `/* between */`.
fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        out += &rest[..at];
        let behind = &rest[at + 2..];
        let (end, skip) = match rest[at..].starts_with("//") {
            true => (behind.find('\n'), 0),
            false => (behind.find("*/"), 2),
        };
        out.push(' ');
        rest = end.map_or("", |end| &behind[end + skip..]);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::RateOrNone;
    use proptest::prelude::*;

    fn stages(text: &str) -> Vec<(u64, f64)> {
        let Shape::Stages(stages) = read(text).unwrap().shape else { panic!("constant: {text}") };
        stages
            .iter()
            .map(|stage| (stage.over.ns() / 1_000_000, stage.rate.map_or(0.0, RateOrNone::per_s)))
            .collect()
    }

    fn close(got: &[(u64, f64)], expected: &[(u64, f64)]) {
        let same = got.len() == expected.len()
            && got.iter().zip(expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-6);
        assert!(same, "{got:?} {expected:?}");
    }

    #[test]
    fn a_constant_rate_is_no_stage() {
        let schedule = read("rate(120/min) random_arrivals(10 sec)").unwrap();
        assert_eq!(schedule.arrivals, Arrivals::Poisson);
        assert_eq!(schedule.shape, Shape::Constant("2/s".parse().unwrap(), "10s".parse().unwrap()));
        let even = read("rate(5) even_arrivals(1 min)").unwrap();
        assert_eq!((even.arrivals, even.is_mixed), (Arrivals::Fixed, false));
    }

    #[test]
    fn rates_lead_from_one_to_the_next() {
        close(
            &stages("rate(0/s) random_arrivals(1 min) rate(10/s) random_arrivals(2 min)"),
            &[(60_000, 10.0), (120_000, 10.0)],
        );
        close(
            &stages(
                "rate(1/s) even_arrivals(10 s) // up\n rate(3/s) pause(5s) /* x */ even_arrivals(10s)",
            ),
            &[(1, 1.0), (10_000, 3.0), (1, 0.0), (5_000, 0.0), (1, 3.0), (10_000, 3.0)],
        );
        assert!(read("rate(1/s) even_arrivals(1s) random_arrivals(1s)").unwrap().is_mixed);
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for text in ["rate(1/week) pause(1s)", "rate(x)", "rate(1", "hello()"] {
            assert!(read(text).is_err(), "{text}");
        }
        for text in ["random_arrivals(1s)", "rate(0/s) even_arrivals(1s)", "pause(1s)", ""] {
            assert_eq!(read(text).unwrap().shape, Shape::Nobody, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            text in "(\\PC|rate\\(|random_arrivals\\(|pause\\(|[0-9]| sec|\\)|/|\\*){0,30}"
        ) {
            if let Ok(Schedule { shape: Shape::Stages(stages), .. }) = read(&text) {
                prop_assert!(!stages.is_empty());
            }
        }
    }
}
