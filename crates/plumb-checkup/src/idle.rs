//! What it costs a machine that its processors idle between two messages.

use serde::{Deserialize, Serialize};

use plumb_measure::statistics::{Interval, hodges_lehmann, interval, median};
use plumb_measure::{
    ForeignLimit, Program, RecordError, read_versioned, real, rounded, show_above, show_ns, written,
};

/// Version of the form of [`IdleCost`].
pub const IDLE_SCHEMA: &str = "plumb.idle/1";
/// Rounds below which no exact interval reaches 95 %.
pub const IDLE_ROUNDS_MIN: u64 = 6;
/// Rounds beyond which the exact distribution takes longer than the measurement.
pub const IDLE_ROUNDS_MAX: u64 = 500;
/// The least probability of the interval.
const LEVEL: f64 = 0.95;

/// Round trips of the same message between the same two threads, with the tick left alone and held,
/// in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleRound {
    /// Median round trip with the tick left alone, nanoseconds.
    pub free_ns: u64,
    /// Median round trip with the tick held on both sides, nanoseconds.
    pub held_ns: u64,
}

/// What the machine is set to do when a processor has no work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleSetting {
    /// The driver of idle states, such as `intel_idle`; absent when the kernel does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver: Option<String>,
    /// The governor that chooses among them, such as `menu`; absent when the kernel does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub governor: Option<String>,
    /// The idle states of the first processor, the lightest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub states: Vec<String>,
    /// Words of the kernel's command line about ticks and idling; absent when it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub boot: Option<Vec<String>>,
    /// The hypervisor; absent on bare metal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hypervisor: Option<String>,
}

/// What others did while it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IdleCompany {
    /// Processor time that other processes took, percent of all processors; absent when the
    /// measurement was too short to tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign_pct: Option<f64>,
    /// Processor time that the hypervisor withheld, percent of all processors; as absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steal_pct: Option<f64>,
    /// What each of the two may be before nothing is concluded, percent.
    pub limit_pct: f64,
}

/// What the rounds say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleFinding {
    /// The whole interval of the cost lies above zero.
    Shown,
    /// It does not.
    NotShown,
    /// The circumstances allow no conclusion.
    Open,
}

/// The difference that holding the tick makes to a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleEffect {
    /// What a round trip takes longer with the tick left alone, nanoseconds: the Hodges-Lehmann
    /// estimate over the rounds.
    pub ns: f64,
    /// Lower end of its exact interval, nanoseconds.
    pub low_ns: f64,
    /// Upper end, nanoseconds.
    pub high_ns: f64,
    /// Probability, from 0 to 1, with which such an interval covers the difference.
    pub level: f64,
}

/// What the sleep of idle processors costs a round trip on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleCost {
    /// [`IDLE_SCHEMA`].
    pub schema: String,
    /// Who measured.
    pub plumb: Program,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The processors of the two threads.
    pub processors: [u64; 2],
    /// Round trips that were recorded.
    pub round_trips: u64,
    /// The rounds, in order of time.
    pub rounds: Vec<IdleRound>,
    /// Median over the rounds with the tick left alone, nanoseconds.
    pub free_ns: u64,
    /// Median over the rounds with the tick held, nanoseconds.
    pub held_ns: u64,
    /// The cost; absent with too few rounds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<IdleEffect>,
    /// What others did meanwhile.
    pub company: IdleCompany,
    /// What the machine is set to.
    pub setting: IdleSetting,
    /// What the rounds say.
    pub finding: IdleFinding,
    /// The same as a sentence.
    pub sentence: String,
}

/// What was measured, before it is judged.
#[derive(Clone, Debug)]
pub struct IdleSample {
    /// Who measured.
    pub plumb: Program,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The processors of the two threads.
    pub processors: [u64; 2],
    /// Round trips that were recorded.
    pub round_trips: u64,
    /// The rounds, in order of time.
    pub rounds: Vec<IdleRound>,
    /// What others did meanwhile.
    pub company: IdleCompany,
    /// What the machine is set to.
    pub setting: IdleSetting,
}

impl IdleCost {
    /// Judges what was measured.
    #[must_use]
    pub fn of(sample: IdleSample) -> Self {
        let cost = effect(&sample.rounds);
        let middle = |of: fn(&IdleRound) -> u64| {
            let all: Vec<f64> = sample.rounds.iter().map(|round| real(of(round))).collect();
            rounded(median(&all).unwrap_or(0.0))
        };
        let (free_ns, held_ns) = (middle(|round| round.free_ns), middle(|round| round.held_ns));
        let doubt = doubt(&sample, cost);
        let finding = match (&doubt, cost) {
            (None, Some(cost)) if cost.low_ns > 0.0 => IdleFinding::Shown,
            (None, Some(_)) => IdleFinding::NotShown,
            _ => IdleFinding::Open,
        };
        let sentence = match (doubt, cost) {
            (None, Some(cost)) => {
                let said = said(finding, cost, (free_ns, held_ns), &sample.setting);
                said + &under(sample.company)
            }
            (Some(doubt), _) => {
                format!("Whether idle processors cost a round trip is open: {doubt}.")
            }
            (None, None) => String::new(), // too few rounds are a doubt
        };
        Self {
            schema: IDLE_SCHEMA.into(),
            plumb: sample.plumb,
            started: sample.started,
            processors: sample.processors,
            round_trips: sample.round_trips,
            rounds: sample.rounds,
            free_ns,
            held_ns,
            cost,
            company: sample.company,
            setting: sample.setting,
            finding,
            sentence,
        }
    }

    /// The cost as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        written(self)
    }

    /// Reads a cost back.
    ///
    /// # Errors
    /// [`RecordError`] when `text` is none, or one of another version.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        read_versioned(text, IDLE_SCHEMA)
    }
}

fn effect(rounds: &[IdleRound]) -> Option<IdleEffect> {
    let effects: Vec<f64> =
        rounds.iter().map(|round| real(round.free_ns) - real(round.held_ns)).collect();
    let Interval { low, high, level } = interval(&effects, LEVEL)?;
    Some(IdleEffect { ns: hodges_lehmann(&effects)?, low_ns: low, high_ns: high, level })
}

/// Why nothing can be concluded, and what to do.
fn doubt(sample: &IdleSample, cost: Option<IdleEffect>) -> Option<String> {
    let IdleCompany { foreign_pct, steal_pct, limit_pct } = sample.company;
    let limit = (limit_pct * 1e6).round() / 1e6; // as it was given, without the rounding of a share
    let again = "measure again when the machine is quiet";
    if sample.processors[0] == sample.processors[1] {
        return Some(
            "both threads ran on one processor, which is never idle while a message is under way; \
             it takes two processors"
                .into(),
        );
    }
    if cost.is_none() {
        let rounds = match sample.rounds.len() {
            1 => "1 round is".to_owned(),
            n => format!("{n} rounds are"),
        };
        return Some(format!("{rounds} too few for an interval; measure longer with --for"));
    }
    match (foreign_pct, steal_pct) {
        (Some(pct), _) if pct > limit => Some(format!(
            "other processes took {} % of the processor time meanwhile, more than {limit} %, \
             and a busy processor does not idle; {again}",
            show_above(pct, limit)
        )),
        (_, Some(pct)) if pct > limit => Some(format!(
            "the hypervisor withheld {} % of the processor time meanwhile, more than \
             {limit} %; {again}",
            show_above(pct, limit)
        )),
        (Some(_), Some(_)) => None,
        _ => Some(
            "what others took of the processors meanwhile could not be told; measure longer with \
             --for"
                .into(),
        ),
    }
}

/// Under which limit it was concluded, where that was raised.
fn under(company: IdleCompany) -> String {
    let IdleCompany { foreign_pct, steal_pct, limit_pct } = company;
    let usual = ForeignLimit::default();
    if limit_pct <= usual.percent() + 1e-6 {
        return String::new();
    }
    format!(
        " Others took {:.1} % of all processors meanwhile, the hypervisor {:.1} %: the limit was raised \
         from {usual} to {} %.",
        foreign_pct.unwrap_or(0.0),
        steal_pct.unwrap_or(0.0),
        (limit_pct * 1e6).round() / 1e6
    )
}

fn said(
    finding: IdleFinding,
    cost: IdleEffect,
    (free_ns, held_ns): (u64, u64),
    setting: &IdleSetting,
) -> String {
    let medians =
        format!("{} with the tick left alone, {} with it held", show_ns(free_ns), show_ns(held_ns));
    let range = format!(
        "{} to {} at {:.1} %",
        signed(cost.low_ns),
        signed(cost.high_ns),
        100.0 * cost.level
    );
    match finding {
        IdleFinding::Shown => format!(
            "Stopping and starting the tick of idle processors costs a round trip {} here ({range}; \
             {medians}): {} are where to look.",
            signed(cost.ns),
            places(setting)
        ),
        IdleFinding::NotShown | IdleFinding::Open if cost.high_ns < 0.0 => format!(
            "No cost of idle processors was shown: a round trip takes {} less with the tick left \
             alone (difference {range}; {medians}).",
            show_ns(rounded(cost.ns.abs())),
        ),
        IdleFinding::NotShown | IdleFinding::Open => format!(
            "No cost of idle processors was shown: the difference of a round trip with the tick left \
             alone is {range}, which holds zero ({medians})."
        ),
    }
}

/// Where what idling costs can be changed.
fn places(setting: &IdleSetting) -> String {
    let fixed = setting.boot.iter().flatten().any(|word| word == "nohz=off");
    let driver = setting.driver.as_deref().filter(|driver| *driver != "none");
    let mut places = Vec::new();
    if !fixed {
        places.push("a fixed tick (nohz=off at boot)".to_owned());
    }
    places.push(match (driver, &setting.governor) {
        (Some(driver), Some(governor)) => {
            format!("the idle states (driver {driver}, governor {governor})")
        }
        (Some(driver), None) => format!("the idle states (driver {driver})"),
        (None, _) => "the idle states".to_owned(),
    });
    if setting.hypervisor.is_some() {
        places.push("the halt polling of the hypervisor".to_owned());
    }
    match places.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => places.concat(),
    }
}

/// A difference of times.
fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "" };
    format!("{sign}{}", show_ns(rounded(ns.abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rounds: &[(u64, u64)]) -> IdleSample {
        let round =
            |(free_ns, held_ns): &(u64, u64)| IdleRound { free_ns: *free_ns, held_ns: *held_ns };
        IdleSample {
            plumb: Program { version: "0.0.0".into() },
            started: "2026-11-21T08:30:48Z".into(),
            processors: [0, 1],
            round_trips: 1_000,
            rounds: rounds.iter().map(round).collect(),
            company: IdleCompany { foreign_pct: Some(1.0), steal_pct: Some(0.0), limit_pct: 5.0 },
            setting: IdleSetting {
                driver: Some("haltpoll".into()),
                governor: Some("haltpoll".into()),
                boot: Some(Vec::new()),
                hypervisor: Some("KVM".into()),
                ..IdleSetting::default()
            },
        }
    }

    /// Ten rounds whose differences are 15 us to 24 us.
    fn slower() -> IdleSample {
        let rounds: Vec<(u64, u64)> = (0..10).map(|n| (73_000 + 1_000 * n, 58_000)).collect();
        sample(&rounds)
    }

    #[test]
    fn a_raised_limit_is_part_of_what_is_said() {
        let company =
            IdleCompany { foreign_pct: Some(83.9), steal_pct: Some(7.0), limit_pct: 100.0 };
        let cost = IdleCost::of(IdleSample { company, ..slower() });
        let end = " Others took 83.9 % of all processors meanwhile, the hypervisor 7.0 %: the limit was raised from 5 % to 100 %.";
        assert!(cost.sentence.ends_with(end), "{}", cost.sentence);
        assert!(!IdleCost::of(slower()).sentence.contains("raised"));
    }

    #[test]
    fn a_cost_above_zero_is_shown_with_its_interval_and_where_to_look() {
        let found = IdleCost::of(slower());
        let cost = found.cost.unwrap();
        assert_eq!(found.finding, IdleFinding::Shown);
        assert_eq!((found.free_ns, found.held_ns), (77_500, 58_000));
        assert!((cost.ns - 19_500.0).abs() < 1e-6, "{}", cost.ns);
        // by hand: of the 55 averages of pairs the ninth from either end, at 1 - 2 * 25 / 1024
        assert!((cost.low_ns - 17_000.0).abs() < 1e-6, "{}", cost.low_ns);
        assert!((cost.high_ns - 22_000.0).abs() < 1e-6, "{}", cost.high_ns);
        assert!((cost.level - (1.0 - 50.0 / 1024.0)).abs() < 1e-9, "{}", cost.level);
        assert_eq!(
            found.sentence,
            "Stopping and starting the tick of idle processors costs a round trip 19.5 us here \
             (17.0 us to 22.0 us at 95.1 %; 77.5 us with the tick left alone, 58.0 us with it held): \
             a fixed tick (nohz=off at boot), the idle states (driver haltpoll, governor haltpoll) \
             and the halt polling of the hypervisor are where to look."
        );
    }

    #[test]
    fn an_interval_around_zero_shows_no_cost() {
        let rounds: Vec<(u64, u64)> = (0..10).map(|n| (60_000 + 10 * n, 60_045)).collect();
        let found = IdleCost::of(sample(&rounds));
        assert_eq!(found.finding, IdleFinding::NotShown);
        assert!(found.sentence.starts_with("No cost of idle processors was shown"));
        let said = &found.sentence;
        assert!(!said.contains("where to look") && said.contains("which holds zero"), "{said}");
        assert!(!said.contains(" less ") && !said.contains(" longer "), "{said}");
        let rounds: Vec<(u64, u64)> = (0..10).map(|n| (60_000 + 10 * n, 60_117)).collect();
        let less = IdleCost::of(sample(&rounds)).sentence;
        assert!(
            less.contains("takes 72 ns less with the tick left alone (difference -97 ns to"),
            "{less}"
        );
    }

    #[test]
    fn nothing_is_concluded_on_a_busy_machine_nor_where_that_is_not_known() {
        let company = |foreign_pct, steal_pct| {
            let company = IdleCompany { foreign_pct, steal_pct, limit_pct: 5.0 };
            IdleCost::of(IdleSample { company, ..slower() })
        };
        for (found, why) in [
            (company(Some(31.2), Some(0.0)), "other processes took 31.2 %"),
            (
                company(Some(5.04), Some(0.0)),
                "took 5.04 % of the processor time meanwhile, more than 5 %",
            ),
            (company(Some(0.0), Some(7.0)), "the hypervisor withheld 7.0 %"),
            (company(None, Some(0.0)), "could not be told"),
            (company(Some(0.0), None), "could not be told"),
        ] {
            assert_eq!(found.finding, IdleFinding::Open);
            assert!(found.sentence.contains(why), "{}", found.sentence);
            assert!(!found.sentence.contains("costs a round trip"), "{}", found.sentence);
        }
    }

    #[test]
    fn one_processor_and_few_rounds_are_no_answer() {
        let alone = IdleCost::of(IdleSample { processors: [1, 1], ..slower() });
        assert_eq!(alone.finding, IdleFinding::Open);
        assert!(alone.sentence.contains("two processors"), "{}", alone.sentence);
        let few = IdleCost::of(sample(&[(73_000, 56_000); 5]));
        assert_eq!((few.finding, few.cost), (IdleFinding::Open, None));
        assert!(few.sentence.contains("5 rounds are too few"), "{}", few.sentence);
    }

    #[test]
    fn a_fixed_tick_is_not_advised_where_there_is_one() {
        let mut sample = slower();
        sample.setting.boot = Some(vec!["nohz=off".into()]);
        sample.setting.hypervisor = None;
        let said = IdleCost::of(sample).sentence;
        assert!(!said.contains("a fixed tick") && !said.contains("hypervisor"), "{said}");
    }

    #[test]
    fn a_cost_is_read_back() {
        let found = IdleCost::of(slower());
        assert_eq!(IdleCost::from_json(&found.to_json()).unwrap(), found);
        let other = found.to_json().replace("plumb.idle/1", "plumb.idle/9");
        assert!(IdleCost::from_json(&other).is_err());
    }
}
