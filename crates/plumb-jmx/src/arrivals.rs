//! Groups of the JMeter plugins whose users arrive at a rate that follows a plan of its own.
//!
//! # Source
//! JMeter-Plugins: `com.blazemeter.jmeter.threads.arrivals.{ArrivalsThreadGroup,
//! FreeFormArrivalsThreadGroup}`.

use plumb_measure::{RateOrNone, Span};
use plumb_scenario::file::Stage;

use super::element::Element;
use super::stages::number;
use super::words::Words;

/// A step from one rate to another takes a stage; this is the shortest, in milliseconds.
const STEP_MS: u64 = 1;
/// Steps of one group at most.
const STEPS_MAX: u64 = 500;

/// True for a group that is read here.
pub(super) fn is_arriving(group: &Element<'_>) -> bool {
    matches!(group.kind(), "ArrivalsThreadGroup" | "FreeFormArrivalsThreadGroup")
}

/// The stages of a group; none when nobody ever arrives in it.
///
/// # Errors
/// In words, when a number is not known before the load.
pub(super) fn read(group: &Element<'_>, words: &Words) -> Result<Vec<Stage>, String> {
    // minutes are what it says when it says nothing
    let unit_s = if group.text("Unit").trim() == "S" { 1.0 } else { 60.0 };
    let mut plan = Plan { unit_s, rate: 0.0, stages: Vec::new() };
    if group.kind() == "ArrivalsThreadGroup" {
        stepped(group, words, &mut plan)?;
    } else {
        let rows = group.members("Schedule");
        if rows.len() as u64 > STEPS_MAX {
            return Err(format!("it has more than {STEPS_MAX} rows"));
        }
        for row in rows {
            let cells = row.own_texts();
            let [from, to, length] = &cells[..] else {
                return Err("a row of it has no three numbers".into());
            };
            let of = |text: &str| number(text, "a number of its schedule", words);
            plan.to(of(from)?, 0.0)?;
            plan.to(of(to)?, of(length)?)?;
        }
    }
    if plan.stages.iter().all(|stage| stage.rate.is_none_or(|rate| rate.per_s() <= 0.0)) {
        return Ok(Vec::new());
    }
    Ok(plan.stages)
}

fn stepped(group: &Element<'_>, words: &Words, plan: &mut Plan) -> Result<(), String> {
    let of = |name: &str| number(group.text(name), name, words);
    let (target, ramp, hold) = (of("TargetLevel")?, of("RampUp")?, of("Hold")?);
    let steps = of("Steps")?.round();
    if steps > 500.0 {
        return Err(format!("it has more than {STEPS_MAX} steps"));
    }
    if steps < 1.0 || ramp <= 0.0 {
        plan.to(target, ramp)?;
    } else {
        let mut step = 1.0;
        while step <= steps {
            plan.to(target * step / steps, 0.0)?;
            plan.to(target * step / steps, ramp / steps)?;
            step += 1.0;
        }
    }
    plan.to(target, hold)
}

/// The rate over time.
struct Plan {
    /// Seconds of a unit of time.
    unit_s: f64,
    /// The rate so far, arrivals a unit of time.
    rate: f64,
    stages: Vec<Stage>,
}

impl Plan {
    /// Goes on to `rate` within so many units of time.
    fn to(&mut self, rate: f64, units: f64) -> Result<(), String> {
        let changes = (rate - self.rate).abs() > f64::EPSILON;
        if units <= 0.0 && !changes {
            return Ok(());
        }
        self.rate = rate;
        let text = format!("{}/s", rate / self.unit_s);
        let rate: RateOrNone = text.parse().map_err(|error| format!("its rate {text}: {error}"))?;
        let over = plumb_draft::wait::ms(units * self.unit_s * 1e3).max(Span::from_ms(STEP_MS));
        self.stages.push(Stage { over, users: None, rate: Some(rate) });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::tests::{properties, row, with_group};

    fn stages(kind: &str, properties: &str) -> Result<Vec<(u64, String)>, String> {
        let stages = with_group(kind, properties, |group| read(group, &Words::default()))?;
        let one = |it: &Stage| {
            (it.over.ns() / 1_000_000, it.rate.map_or(String::new(), |it| it.to_string()))
        };
        Ok(stages.iter().map(one).collect())
    }

    #[test]
    fn arrivals_reach_their_rate_evenly_or_in_steps() {
        let own = |steps, unit| {
            properties(&[
                ("TargetLevel", "120"),
                ("RampUp", "4"),
                ("Steps", steps),
                ("Hold", "5"),
                ("Unit", unit),
            ])
        };
        let kind = "com.blazemeter.jmeter.threads.arrivals.ArrivalsThreadGroup";
        let rate = |text: &str| text.to_owned();
        assert_eq!(
            stages(kind, &own("", "M")).unwrap(),
            [(240_000, rate("2/s")), (300_000, rate("2/s"))]
        );
        assert_eq!(
            stages(kind, &own("2", "S")).unwrap(),
            [
                (1, rate("60/s")),
                (2_000, rate("60/s")),
                (1, rate("120/s")),
                (2_000, rate("120/s")),
                (5_000, rate("120/s"))
            ]
        );
        assert_eq!(stages(kind, "").unwrap(), []);
        assert!(
            stages(kind, &properties(&[("TargetLevel", "${n}")])).unwrap_err().contains("${n}")
        );
    }

    #[test]
    fn a_free_form_is_a_line_for_each_row() {
        let rows =
            [row(&["0", "10", "5"]), row(&["10", "10", "60"]), row(&["20", "0", "1"])].concat();
        let text = format!(
            "<collectionProp name='Schedule'>{rows}</collectionProp>{}",
            properties(&[("Unit", "S")])
        );
        assert_eq!(
            stages("FreeFormArrivalsThreadGroup", &text).unwrap(),
            [
                (5_000, "10/s".into()),
                (60_000, "10/s".into()),
                (1, "20/s".into()),
                (1_000, "0/s".into())
            ]
        );
    }
}
