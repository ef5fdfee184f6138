//! Timers that keep a throughput, where a rate of scripts is the same.

use plumb_draft::DraftStep;
use plumb_draft::wait::ms;
use plumb_measure::{Rate, Span};
use plumb_scenario::file::{Arrivals, Scenario};

use super::element::Element;
use super::schedule::per_s;
use super::words::Words;

/// `calcMode` of a `ConstantThroughputTimer`: each user by itself.
const EACH_USER: &str = "0";
/// All users of all groups.
const ALL: [&str; 2] = ["1", "3"];
/// All users of the group.
const GROUP: [&str; 2] = ["2", "4"];

/// What a timer makes of a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Paced {
    /// Scripts a second.
    pub(super) rate: Rate,
    pub(super) arrivals: Arrivals,
    /// How long as many scripts take as were wanted.
    pub(super) length: Option<Span>,
    /// Requests of a script.
    pub(super) requests: u64,
}

/// The rate of scripts that keeps the throughput of `timer`, for a scenario with its steps in a
/// plan of so many groups.
///
/// # Errors
/// In words, when there is none.
pub(super) fn rate(
    timer: &Element<'_>,
    words: &Words,
    (scenario, steps, groups): (&Scenario, &[DraftStep], usize),
) -> Result<Paced, String> {
    let users = scenario.users.as_ref().map(|users| *users.get_ref());
    let users = users.ok_or("its group has a rate of its own")?;
    let requests = requests(steps)
        .ok_or("its script has loops, shares or conditions: how many requests it makes varies")?;
    let (throughput_s, arrivals) = match timer.kind() {
        "ConstantThroughputTimer" => (constant(timer, words, users, groups)?, Arrivals::Fixed),
        _ => (precise(timer, words)?, Arrivals::Poisson),
    };
    let rate = throughput_s / as_f64(requests);
    let length = scenario
        .iterations
        .as_ref()
        .map(|times| ms(as_f64(users.saturating_mul(*times.get_ref())) / rate * 1000.0));
    Ok(Paced { rate: per_s(rate)?, arrivals, length, requests })
}

fn constant(timer: &Element<'_>, words: &Words, users: u64, groups: usize) -> Result<f64, String> {
    let a_minute = number(timer, "throughput", words)?;
    let factor = match timer.text("calcMode").trim() {
        "" | EACH_USER => as_f64(users),
        mode if GROUP.contains(&mode) => 1.0,
        mode if ALL.contains(&mode) && groups == 1 => 1.0,
        mode if ALL.contains(&mode) => return Err("all groups keep its throughput together".into()),
        mode => return Err(format!("its calcMode `{mode}` is not known")),
    };
    Ok(a_minute * factor / 60.0)
}

fn precise(timer: &Element<'_>, words: &Words) -> Result<f64, String> {
    if timer.given("batchSize").is_some_and(|_| number(timer, "batchSize", words) != Ok(1.0)) {
        return Err("its arrivals come in batches".into());
    }
    Ok(number(timer, "throughput", words)? / number(timer, "throughputPeriod", words)?)
}

/// A number above 0.
fn number(timer: &Element<'_>, name: &str, words: &Words) -> Result<f64, String> {
    let text = timer.text(name);
    words.number(text).filter(|number| *number > 0.0).ok_or_else(|| {
        format!("its {name} is `{text}`, which is no number above 0 before the load")
    })
}

/// The requests of a script that always makes as many; groups are part of it.
fn requests(steps: &[DraftStep]) -> Option<u64> {
    let mut sum = 0;
    for DraftStep { step, steps, .. } in steps {
        let varies = step.share.is_some() || step.condition.is_some() || step.holds.is_some();
        if varies || step.each.is_some() || step.repeat.is_some() {
            return None;
        }
        let holds_others = step.group.is_some() || step.parallel.is_some();
        sum += if holds_others { requests(steps)? } else { 1 };
    }
    Some(sum)
}

#[expect(clippy::cast_precision_loss, reason = "users and requests are far below 2^52")]
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use plumb_scenario::file::Step;
    use plumb_scenario::file::placed;

    use super::*;
    use crate::tree::read as tree;

    fn of(
        kind: &str,
        properties: &str,
        steps: &[DraftStep],
        groups: usize,
    ) -> Result<Paced, String> {
        let text = format!("<hashTree><{kind} testname='t'>{properties}</{kind}></hashTree>");
        let tree = tree(&text).unwrap();
        let scenario = Scenario {
            users: Some(placed(10)),
            iterations: Some(placed(6)),
            ..Scenario::default()
        };
        rate(&Element::of_tree(&tree)[0], &Words::default(), (&scenario, steps, groups))
    }

    fn constant(mode: &str, groups: usize) -> Result<Paced, String> {
        let properties = format!(
            "<doubleProp><name>throughput</name><value>120.0</value></doubleProp>\
             <intProp name='calcMode'>{mode}</intProp>"
        );
        let steps = [DraftStep::default(), DraftStep::default()];
        of("ConstantThroughputTimer", &properties, &steps, groups)
    }

    #[test]
    fn a_constant_throughput_is_a_rate_of_scripts() {
        // 120 requests a minute, 2 a script
        let paced = constant("2", 3).unwrap();
        assert_eq!((paced.rate, paced.arrivals), ("1/s".parse().unwrap(), Arrivals::Fixed));
        // 60 scripts
        assert_eq!((paced.length, paced.requests), (Some("60s".parse().unwrap()), 2));
        assert_eq!(constant("0", 3).unwrap().rate, "10/s".parse().unwrap());
        assert_eq!(constant("1", 1).unwrap().rate, "1/s".parse().unwrap());
        assert!(constant("1", 2).is_err() && constant("9", 1).is_err());
    }

    #[test]
    fn a_precise_one_is_random() {
        let properties = "<doubleProp><name>throughput</name><value>100</value></doubleProp>\
                          <intProp name='throughputPeriod'>50</intProp>\
                          <intProp name='batchSize'>1</intProp>";
        let paced = of("PreciseThroughputTimer", properties, &[DraftStep::default()], 1).unwrap();
        assert_eq!((paced.rate, paced.arrivals), ("2/s".parse().unwrap(), Arrivals::Poisson));
        let batches = properties.replace("'batchSize'>1", "'batchSize'>5");
        assert!(of("PreciseThroughputTimer", &batches, &[DraftStep::default()], 1).is_err());
    }

    #[test]
    fn requests_that_are_made_at_the_same_time_count_each() {
        let together = Step::at_once("page", Vec::new());
        let steps = [DraftStep::around(together, vec![DraftStep::default(); 5])];
        let properties = "<stringProp name='throughput'>60</stringProp>\
                          <intProp name='calcMode'>2</intProp>";
        let paced = of("ConstantThroughputTimer", properties, &steps, 1).unwrap();
        assert_eq!((paced.rate, paced.requests), ("0.2/s".parse().unwrap(), 5));
    }

    #[test]
    fn a_script_that_varies_has_none() {
        let repeated = Step { repeat: Some(placed(2)), ..Step::default() };
        let polled = Step { holds: Some(placed("${x} != 'done'".into())), ..Step::default() };
        let properties = "<stringProp name='throughput'>60</stringProp>";
        for step in [repeated, polled] {
            let steps = [DraftStep::around(step, vec![DraftStep::default()])];
            assert!(of("ConstantThroughputTimer", properties, &steps, 1).is_err());
        }
    }
}
