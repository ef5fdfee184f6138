//! How many users there would be, and when.

use plumb_engine::Extent;
use plumb_measure::user_schedule::{Spread, UserSchedule};
use plumb_scenario::file::Arrivals;
use serde::Serialize;

use super::script::ShownScript;
use crate::scenario::load::rows::users_of;
use crate::scenario::timeline::PlannedScenario;

/// A point of the sweep, or the only one.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Point {
    /// Users of the scenarios without a rate.
    pub(super) users: u64,
    /// The recorded part at most, nanoseconds; absent where users decide when they are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) recorded_ns: Option<u64>,
    pub(super) scenarios: Vec<UsersOverTime>,
}

/// The users of one scenario over time.
#[derive(Clone, Debug, Serialize)]
pub(super) struct UsersOverTime {
    pub(super) scenario: String,
    /// `closed` or `open`.
    pub(super) load: &'static str,
    /// At most, at once.
    pub(super) users: u64,
    pub(super) threads: usize,
    /// `users`, or `scripts/s`.
    pub(super) unit: &'static str,
    /// In that unit, in straight lines from one to the next, level behind the last.
    pub(super) levels: Vec<Level>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arrivals: Option<Arrivals>,
    /// The recorded part at most, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) recorded_ns: Option<u64>,
    /// Open load: scripts that begin in the recorded part, in the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scripts: Option<f64>,
    /// Requests a second when all users are there and no answer is waited for; absent where there
    /// is no such bound, or answers decide on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requests_per_s_most: Option<f64>,
}

/// How many there are at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Level {
    /// Since the load began, its warm-up included, nanoseconds.
    pub(super) at_ns: u64,
    pub(super) level: f64,
}

impl Point {
    /// The point at which `parts` take part, each in the script beside it.
    pub(super) fn of(parts: &[PlannedScenario], scripts: &[ShownScript]) -> Self {
        let both = parts.iter().zip(scripts);
        let scenarios: Vec<UsersOverTime> =
            both.map(|(part, script)| UsersOverTime::of(part, script)).collect();
        let recorded = scenarios.iter().map(|course| course.recorded_ns);
        let recorded: Option<Vec<u64>> = recorded.collect();
        Self {
            users: users_of(parts),
            recorded_ns: recorded.and_then(|all| all.into_iter().max()),
            scenarios,
        }
    }
}

impl UsersOverTime {
    fn of(part: &PlannedScenario, shown: &ShownScript) -> Self {
        let recorded_ns = match part.plan.extent {
            Extent::For(time) => Some(time.ns()),
            Extent::Users | Extent::Count(_) => None,
        };
        let (curve, arrivals) = match &part.user_schedule {
            UserSchedule::Users(curve) => (curve, None),
            UserSchedule::Arrivals(curve, Spread::Even) => (curve, Some(Arrivals::Fixed)),
            UserSchedule::Arrivals(curve, Spread::Poisson(_)) => (curve, Some(Arrivals::Poisson)),
        };
        let open = arrivals.is_some();
        let warmup_ns = part.plan.warmup.ns();
        let begun = |ns: u64| curve.area(warmup_ns + ns) - curve.area(warmup_ns);
        let amount = shown.script;
        let levels = curve.points().iter();
        Self {
            scenario: shown.name.clone(),
            load: if open { "open" } else { "closed" },
            users: part.users,
            threads: part.plan.threads.get(),
            unit: if open { "scripts/s" } else { "users" },
            levels: levels.map(|(at_ns, level)| Level { at_ns: *at_ns, level: *level }).collect(),
            arrivals,
            recorded_ns,
            scripts: recorded_ns.filter(|_| open).map(begun),
            requests_per_s_most: match open {
                true => (!amount.depends).then(|| curve.most() * amount.requests),
                false => amount.per_s(curve.most()),
            },
        }
    }
}
