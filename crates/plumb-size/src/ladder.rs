//! A load ladder, as it was measured.

use plumb_measure::{counted, rounded};
use serde::Serialize;

/// Steps that a ladder needs.
pub const STEPS_MIN: usize = 4;
/// How far `N = X (R + Z)` may be missed, as a share.
const LITTLE_WITHIN: f64 = 0.10;
/// How many standard errors of a mean think time that may be more where few operations were counted.
const THINK_ERRORS: f64 = 3.0;

/// One step: so many users at once, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    /// Users at once.
    pub users: f64,
    /// Operations a second.
    pub throughput_per_s: f64,
    /// Operations behind the figures; 0 where nobody counted them.
    pub operations: f64,
    /// Mean response time, seconds.
    pub mean_s: f64,
    /// Half the 95 % interval of that, seconds; absent where it is not known.
    pub mean_half_s: Option<f64>,
    /// 95 % of the response times are at most this, seconds.
    pub p95_s: f64,
    /// Processors that were busy on the machine under test, without those of other programs.
    pub busy_cores: Option<f64>,
    /// Processor time of the server, seconds an operation.
    pub server_s: Option<f64>,
    /// Processor time of the load generator, seconds an operation, where it ran on the machine
    /// under test.
    pub generator_s: Option<f64>,
    /// Memory in use on the machine under test, bytes.
    pub memory_bytes: Option<f64>,
    /// Where the server says its time went, seconds an operation on average, by name.
    pub parts: Vec<(String, f64)>,
}

/// A step in which operations failed: it has no part in the ladder, and no model knows of what failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedStep {
    /// Users at once.
    pub users: f64,
    /// What failed, in words such as `5 answers of 528 had a status that was not expected`.
    pub what: String,
}

/// Why a ladder answers nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LadderError {
    /// Too few numbers of users.
    #[error(
        "different numbers of users with a valid step: {found}; sizing needs at least {STEPS_MIN}, \
         one of them beyond the knee: measure more with --users 1,2,4,8,..."
    )]
    Steps {
        /// How many there are.
        found: usize,
    },
    /// A step without users, operations or times.
    #[error(
        "the step of {} has no throughput or no response time: it answers nothing",
        counted_users(*.users)
    )]
    Step {
        /// Its users.
        users: f64,
    },
    /// Users, throughput and times that cannot be true together, or think times that differ.
    #[error(
        "the think time that follows from users, throughput and response time is {one_s:.3} s with \
         {} and {other_s:.3} s with {other}: every step must think alike, and nobody may be missing",
        counted_users(*.one)
    )]
    Think {
        /// Users of one step.
        one: f64,
        /// Its think time, seconds.
        one_s: f64,
        /// Users of another.
        other: f64,
        /// Its think time.
        other_s: f64,
    },
}

/// Steps of one landscape, in the order of their users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ladder {
    steps: Vec<Step>,
    think_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<FailedStep>,
}

impl Ladder {
    /// Puts `steps` in order and checks that they are a ladder. Steps of the same number of users
    /// stand beside each other.
    ///
    /// # Errors
    /// [`LadderError`].
    pub fn of(mut steps: Vec<Step>) -> Result<Self, LadderError> {
        let good = |it: &f64| it.is_finite() && *it > 0.0;
        for step in &steps {
            let figures = [step.users, step.throughput_per_s, step.mean_s, step.p95_s];
            if !figures.iter().all(good) {
                return Err(LadderError::Step { users: step.users });
            }
        }
        steps.sort_by(|a, b| a.users.total_cmp(&b.users));
        let found = distinct(&steps);
        if found < STEPS_MIN {
            return Err(LadderError::Steps { found });
        }
        let think_s = think(&steps)?;
        Ok(Self { steps, think_s, failed: None })
    }

    /// The ladder, of whose users operations failed in these steps. Of each number of users that a valid
    /// step exceeds the ladder knows more.
    #[must_use]
    pub fn with_failed(self, failed: impl IntoIterator<Item = FailedStep>) -> Self {
        let highest = self.highest().users;
        let beyond = failed.into_iter().filter(|step| step.users > highest);
        let failed = beyond.min_by(|a, b| a.users.total_cmp(&b.users));
        Self { failed, ..self }
    }

    /// The step of fewest users in which operations failed; none where a valid step has more users.
    #[must_use]
    pub fn failed(&self) -> Option<&FailedStep> {
        self.failed.as_ref()
    }

    /// The steps, in the order of their users.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Seconds between the end of an operation and the beginning of the next, on average, as
    /// Little's law gives them.
    #[must_use]
    pub fn think_s(&self) -> f64 {
        self.think_s
    }

    /// The step of most users.
    ///
    /// # Panics
    /// Never: a ladder has steps.
    #[must_use]
    pub fn highest(&self) -> &Step {
        &self.steps[self.steps.len() - 1]
    }

    /// The step of fewest users.
    #[must_use]
    pub fn lowest(&self) -> &Step {
        &self.steps[0]
    }

    /// The ladder without its highest number of users; `None` where too few would be left.
    #[must_use]
    pub fn without_highest(&self) -> Option<Self> {
        let most = self.highest().users;
        let steps = self.steps.iter().filter(|step| step.users < most).cloned().collect();
        Self::of(steps).ok()
    }

    /// Highest throughput of a step, operations a second.
    #[must_use]
    pub fn throughput_max_per_s(&self) -> f64 {
        self.steps.iter().map(|step| step.throughput_per_s).fold(0.0, f64::max)
    }
}

fn distinct(steps: &[Step]) -> usize {
    let mut users: Vec<f64> = steps.iter().map(|step| step.users).collect();
    users.dedup();
    users.len()
}

/// The think time of all steps, `N / X - R`: the middle one, each step counting with its operations.
///
/// Think times are drawn, so that a step of few operations may have a mean of them that is off:
/// each step may be off by so many standard errors of exponential think times, and by a tenth of a
/// round where that is more.
fn think(steps: &[Step]) -> Result<f64, LadderError> {
    let of = |step: &Step| step.users / step.throughput_per_s - step.mean_s;
    let middle = middle(steps, of);
    let think_s = of(middle).max(0.0);
    for step in steps {
        let error = think_s / step.operations.max(1.0).sqrt();
        let error = if step.operations > 0.0 { error } else { 0.0 };
        let within = (LITTLE_WITHIN * (think_s + step.mean_s)).max(THINK_ERRORS * error);
        if (of(step) - think_s).abs() > within {
            return Err(LadderError::Think {
                one: step.users,
                one_s: of(step),
                other: middle.users,
                other_s: of(middle),
            });
        }
    }
    // what is left of thoughtless users is rounding and the work between two operations
    Ok(think_s)
}

/// The step in the middle of `figure`, where each counts with its operations.
fn middle(steps: &[Step], figure: impl Fn(&Step) -> f64) -> &Step {
    let mut all: Vec<&Step> = steps.iter().collect();
    all.sort_unstable_by(|a, b| figure(a).total_cmp(&figure(b)));
    let weight = |step: &Step| step.operations.max(1.0);
    let half = all.iter().map(|step| weight(step)).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let found = all.iter().find(|step| {
        sum += weight(step);
        sum > half
    });
    found.copied().unwrap_or(all[all.len() - 1])
}

/// So many users, in words: `1 user`, `2,000 users`.
#[must_use]
pub fn counted_users(number: f64) -> String {
    counted(rounded(number), "user")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(users: f64, throughput_per_s: f64, mean_s: f64) -> Step {
        Step { users, throughput_per_s, mean_s, p95_s: mean_s * 2.0, ..Step::default() }
    }

    #[test]
    fn the_think_time_follows_from_littles_law() {
        let of = |n: f64| step(n, n / 2.1, 0.1);
        let ladder = Ladder::of([8.0, 1.0, 4.0, 2.0].map(of).into()).unwrap();
        assert!((ladder.think_s() - 2.0).abs() < 1e-9);
        assert!((ladder.highest().users - 8.0).abs() < 1e-9);
        assert_eq!(ladder.without_highest(), None, "three steps are no ladder");
    }

    #[test]
    fn users_who_are_missing_are_found() {
        let mut steps: Vec<Step> = [1.0, 2.0, 4.0, 8.0].map(|n| step(n, n / 2.1, 0.1)).into();
        steps[3].throughput_per_s /= 2.0;
        assert!(matches!(Ladder::of(steps), Err(LadderError::Think { .. })));
    }

    #[test]
    fn few_operations_may_have_thought_longer() {
        let mut steps: Vec<Step> = [1.0, 2.0, 4.0, 8.0, 16.0].map(|n| step(n, n / 2.1, 0.1)).into();
        steps[0].throughput_per_s /= 1.4;
        assert!(matches!(Ladder::of(steps.clone()), Err(LadderError::Think { .. })));
        for step in &mut steps {
            step.operations = 30.0 * step.users;
        }
        let ladder = Ladder::of(steps.clone()).unwrap();
        assert!((ladder.think_s() - 2.0).abs() < 1e-9, "the others have more to say");
        steps[0].operations = 3_000.0;
        assert!(matches!(Ladder::of(steps), Err(LadderError::Think { .. })));
    }

    #[test]
    fn the_first_step_that_failed_beyond_the_valid_ones_is_known() {
        let of = |n: f64| step(n, n / 2.1, 0.1);
        let ladder = Ladder::of([1.0, 2.0, 4.0, 8.0].map(of).into()).unwrap();
        let failed = |users: f64| FailedStep { users, what: "1 answer of 9".into() };
        let of = |users: &[f64]| {
            let known = ladder.clone().with_failed(users.iter().copied().map(failed));
            known.failed().map(|step| step.users.to_string())
        };
        assert_eq!(of(&[32.0, 16.0, 2.0]).as_deref(), Some("16"));
        assert_eq!(of(&[8.0, 2.0]), None, "a valid step has as many");
    }

    #[test]
    fn few_or_empty_steps_are_refused() {
        let same = vec![step(2.0, 1.0, 2.0); 6];
        assert_eq!(Ladder::of(same), Err(LadderError::Steps { found: 1 }));
        assert!(matches!(Ladder::of(vec![step(1.0, 0.0, 1.0)]), Err(LadderError::Step { .. })));
        assert_eq!(Ladder::of(vec![]), Err(LadderError::Steps { found: 0 }));
    }
}
