//! A load ladder: one landscape under more and more load, and what its steps show.

mod step;
mod words;

use std::collections::BTreeMap;

use plumb_measure::{AcceptedLoad, LadderDrift, Program};
use serde::Serialize;

pub use step::{Figures, Step, StepRun, step_run};

/// The name of the document.
const SCHEMA: &str = "plumb.ladder/1";

/// What a ladder leaves beside its runs: `ladder.json`.
#[derive(Clone, Debug, Serialize)]
pub struct LadderRecord {
    schema: &'static str,
    /// The program that took it.
    pub plumb: Program,
    /// When, in UTC.
    pub started: String,
    /// What was stepped: `users`, `connections` or `rate`.
    pub stepped: &'static str,
    /// Places of pools by name.
    pub pools: BTreeMap<String, u32>,
    /// Servers of parts of the server's account.
    pub servers: BTreeMap<String, u32>,
    /// Every run, in the order of time.
    pub steps: Vec<Step>,
    /// The level from which on throughput was flat while the response time grew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee: Option<u32>,
    /// How far throughput and mean of the repeated step are from the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<[LadderDrift; 2]>,
    /// The limit of foreign load that was raised for steps that count, and what others took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_load: Option<AcceptedLoad>,
    /// True when somebody ended it.
    pub interrupted: bool,
}

impl LadderRecord {
    /// A ladder of which no step is taken yet.
    #[must_use]
    pub fn new(
        plumb: Program,
        started: String,
        stepped: &'static str,
        [pools, servers]: [BTreeMap<String, u32>; 2],
    ) -> Self {
        Self {
            schema: SCHEMA,
            plumb,
            started,
            stepped,
            pools,
            servers,
            steps: Vec::new(),
            knee: None,
            drift: None,
            accepted_load: None,
            interrupted: false,
        }
    }

    /// Adds `step`. Where it counts and is no repetition, those of its level before it count no more.
    pub fn add(&mut self, step: Step) {
        let replaced = step.counts && !step.repeated;
        for before in self.steps.iter_mut().filter(|it| replaced && it.level == step.level) {
            before.counts = false;
        }
        self.steps.push(step);
        let count = self.steps.iter().filter(|it| it.counts);
        self.accepted_load = AcceptedLoad::of_looks(count.filter_map(|it| it.foreign));
    }

    /// The last level with figures that count.
    #[must_use]
    pub fn last_good(&self) -> Option<(u32, Figures)> {
        let last = self.steps.iter().rev().find(|step| step.counts)?;
        Some((last.level, last.figures?))
    }

    /// The level of the last step, where it lies beyond the knee; `before` is the step below it.
    #[must_use]
    pub fn knee_after(&self, before: Option<(u32, Figures)>) -> Option<u32> {
        let ((low, before), (level, figures)) = (before?, self.last_good()?);
        let beyond =
            level > low && figures.is_beyond_knee(&before, f64::from(level) / f64::from(low));
        beyond.then_some(level)
    }

    /// Levels of which no run counts.
    #[must_use]
    pub fn lacking(&self) -> Vec<u32> {
        let mut levels: Vec<u32> = self.steps.iter().map(|step| step.level).collect();
        levels.sort_unstable();
        levels.dedup();
        levels.retain(|level| !self.steps.iter().any(|it| it.level == *level && it.counts));
        levels
    }

    /// True when a step was taken again, and both times long enough to tell whether the machine changed.
    #[must_use]
    pub fn knows_drift(&self) -> bool {
        self.drift.is_some_and(|both| both.iter().all(LadderDrift::is_known))
    }

    /// True when the repeated step shows that the machine changed meanwhile.
    #[must_use]
    pub fn has_drifted(&self) -> bool {
        self.drift.is_some_and(|both| both.iter().any(LadderDrift::is_shown))
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::ForeignLook;

    use super::*;

    fn step(level: u32, throughput_per_s: f64, mean_ns: u64) -> Step {
        let figures = Figures {
            throughput_per_s,
            throughput_half: Some(0.01),
            mean_ns,
            mean_half: Some(0.01),
            p95_ns: 2 * mean_ns,
            p95_half: Some(0.01),
        };
        Step {
            level,
            folder: Some(format!("blocks/{level}")),
            length_ns: 1,
            counts: true,
            repeated: false,
            invalid: None,
            figures: Some(figures),
            foreign: None,
        }
    }

    fn ladder(steps: Vec<Step>) -> LadderRecord {
        let none = [BTreeMap::new(), BTreeMap::new()];
        let plumb = Program { version: "1".into() };
        LadderRecord { steps, ..LadderRecord::new(plumb, String::new(), "users", none) }
    }

    #[test]
    fn the_knee_is_the_first_level_beyond_it() {
        let mut all = ladder(vec![step(8, 100.0, 20)]);
        let before = all.last_good();
        all.steps.push(step(16, 190.0, 22));
        assert_eq!(all.knee_after(before), None);
        let before = all.last_good();
        all.steps.push(Step { counts: false, ..step(32, 195.0, 90) });
        assert_eq!(all.knee_after(before), None, "what does not count shows nothing");
        all.steps.push(step(32, 195.0, 90));
        assert_eq!(all.knee_after(before), Some(32));
    }

    #[test]
    fn the_step_that_was_interrupted_is_called_that() {
        let mut all = ladder(vec![step(8, 100.0, 20), Step { counts: false, ..step(8, 90.0, 20) }]);
        assert!(all.text().contains("too wide, taken again"), "{}", all.text());
        all.interrupted = true;
        let text = all.text();
        assert!(text.contains("interrupted") && !text.contains("too wide"), "{text}");
        all.steps.truncate(1);
        assert!(!all.text().contains("interrupted"), "the next one had not begun");
    }

    #[test]
    fn drift_without_an_interval_is_not_known() {
        let mut all = ladder(vec![step(8, 100.0, 20)]);
        assert!(!all.knows_drift() && all.text().contains("No step could be taken again"));
        let drift = |share, within| {
            Some([LadderDrift { share, within }, LadderDrift { share: 0.0, within: Some(0.1) }])
        };
        for (drift, known, said) in [
            (drift(0.02, Some(0.1)), true, "no drift shown"),
            (drift(-0.6, Some(0.1)), true, "the machine drifted"),
            (drift(-0.6, None), false, "whether that is drift is not known"),
        ] {
            all.drift = drift;
            assert_eq!(all.knows_drift(), known);
            assert!(all.text().contains(said), "{}", all.text());
        }
    }

    #[test]
    fn users_who_think_for_long_ask_for_less_than_one_a_second() {
        let rates =
            [0.033_34, 0.3334, 3.334, 33.34].map(|rate| ladder(vec![step(8, rate, 20)]).text());
        for (text, rate) in rates.iter().zip(["0.0333", "0.333", "3.33", "33.3"]) {
            assert!(text.contains(&format!(" {rate} ")), "{text}");
        }
    }

    #[test]
    fn a_longer_run_stands_in_the_place_of_a_shorter_one() {
        let mut all = ladder(vec![step(8, 100.0, 20), step(16, 190.0, 22)]);
        all.add(Step { counts: false, ..step(32, 101.0, 20) });
        assert_eq!(all.lacking(), [32]);
        all.add(step(8, 101.0, 20));
        all.add(Step { repeated: true, ..step(16, 101.0, 20) });
        let count: Vec<bool> = all.steps.iter().map(|it| it.counts).collect();
        assert_eq!(count, [false, true, false, true, true]);
    }

    #[test]
    fn a_limit_that_was_raised_for_a_step_that_counts_stands_beside_the_knee() {
        let look = |share: &str, took| {
            let source = plumb_measure::LimitSource::Option;
            let limit = plumb_measure::ForeignLimit { share: share.parse().unwrap(), source };
            Some(ForeignLook { limit, foreign_pct: Some(took), by_remotes: false })
        };
        let mut all = ladder(Vec::new());
        all.add(Step { foreign: look("100%", 84.0), ..step(8, 100.0, 20) });
        let end = "No knee up to 8 users; limit of foreign load raised to 100 %, others took up to 84.0 %.";
        assert!(all.text().contains(end) && all.markdown().contains(end), "{}", all.text());
        all.add(Step { foreign: look("5%", 2.0), ..step(8, 100.0, 20) });
        assert!(
            all.accepted_load.is_none() && !all.text().contains("raised"),
            "it was taken again"
        );
    }
}
