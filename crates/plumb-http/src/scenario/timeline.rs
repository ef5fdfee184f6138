//! When the users of a scenario take part: from its keys to a plan of the engine.

use std::num::NonZeroUsize;
use std::ops::Range;

use plumb_engine::{Extent, LoadPlan};
use plumb_measure::user_schedule::{ARRIVALS_MAX, Curve, Spread, UserSchedule};
use plumb_measure::{Span, real};

use plumb_scenario::ScenarioError;
use plumb_scenario::ScenarioSource;
use plumb_scenario::file::{Arrivals, Data, Scenario};

/// Users of one scenario at most.
const USERS_MAX: u64 = 200_000;
/// Users that begin scripts of an open load at most, when the file does not say.
const OPEN_USERS: u64 = 1_000;

/// Who takes part in one scenario, and for how long.
#[derive(Clone, Debug)]
pub(crate) struct PlannedScenario {
    pub(crate) plan: LoadPlan,
    pub(crate) user_schedule: UserSchedule,
    /// Users at most.
    pub(crate) users: u64,
}

impl PlannedScenario {
    /// True when scripts begin at a rate.
    pub(crate) fn open(&self) -> bool {
        matches!(self.user_schedule, UserSchedule::Arrivals(..))
    }
}

/// What the whole file says of times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times<'a> {
    /// Everything but connections, threads and extent.
    pub(crate) like: &'a LoadPlan,
    pub(crate) length: Option<Span>,
    /// Nothing is recorded longer, whatever the scenarios say.
    pub(crate) most: Option<Span>,
}

/// The part of `scenario`, with `users` instead of those of the file, its arrivals drawn from
/// `seed`.
///
/// # Errors
/// [`ScenarioError::Wrong`] with the place of what contradicts itself.
pub(crate) fn part(
    source: &ScenarioSource,
    scenario: &Scenario,
    times: Times<'_>,
    users: Option<u64>,
    seed: u64,
) -> Result<PlannedScenario, ScenarioError> {
    let reader = Reader { source, scenario, times };
    reader.check()?;
    let warmup_ns = times.like.warmup.ns();
    // without a start of its own a scenario takes part in the warm-up
    let begins_ns = scenario.start.map_or(0, |start| warmup_ns + start.ns());
    let curve = reader.curve(begins_ns, users)?;
    let most = curve.most();
    let extent = reader.extent(begins_ns)?;
    let (user_schedule, most) = if reader.open() {
        let spread = match scenario.arrivals {
            Arrivals::Fixed => Spread::Even,
            Arrivals::Poisson => Spread::Poisson(seed),
        };
        if most > ARRIVALS_MAX {
            let problem = format!("more than {ARRIVALS_MAX} scripts a second are not begun");
            return Err(reader.wrong(problem));
        }
        let users = scenario.users.as_ref().map_or(OPEN_USERS, |users| *users.get_ref());
        (UserSchedule::Arrivals(curve, spread), users)
    } else {
        (UserSchedule::Users(curve), whole(most))
    };
    let connections = usize::try_from(most).ok().and_then(NonZeroUsize::new);
    let Some(connections) = connections.filter(|_| most <= USERS_MAX) else {
        return Err(reader.wrong(format!("{most} users: from 1 to {USERS_MAX} take part")));
    };
    let part = times.like.part;
    if most > 0 && !part.holds(most) {
        let problem = format!("{most} users cannot be divided among {} remotes", part.of());
        return Err(reader.wrong(problem));
    }
    let (connections, users) = (part.connections(connections), part.count(most));
    let threads = times.like.threads.min(connections);
    let plan = LoadPlan { connections, threads, extent, ..times.like.clone() };
    Ok(PlannedScenario { plan, user_schedule, users })
}

/// `total` users dealt to scenarios in proportion to what each had: at least one for each.
pub(crate) fn dealt(total: u64, had: &[u64]) -> Vec<u64> {
    let all: u64 = had.iter().sum::<u64>().max(1);
    let mut left = total;
    let mut dealt = Vec::new();
    for (index, users) in had.iter().enumerate() {
        let behind = (had.len() - index - 1) as u64;
        let share = u128::from(total) * u128::from(*users) / u128::from(all);
        let share = u64::try_from(share).unwrap_or(u64::MAX).max(1);
        let here = if behind == 0 { left } else { share.min(left.saturating_sub(behind)).max(1) };
        left = left.saturating_sub(here);
        dealt.push(here.max(1));
    }
    dealt
}

struct Reader<'a> {
    source: &'a ScenarioSource,
    scenario: &'a Scenario,
    times: Times<'a>,
}

impl Reader<'_> {
    fn open(&self) -> bool {
        self.scenario.rate.is_some()
            || self.scenario.stages.iter().any(|stage| stage.get_ref().rate.is_some())
    }

    /// The most telling place of the scenario.
    fn place(&self) -> Range<usize> {
        let scenario = self.scenario;
        let rate = scenario.rate.as_ref().map(toml::Spanned::span);
        let users = scenario.users.as_ref().map(toml::Spanned::span);
        let stage = scenario.stages.first().map(toml::Spanned::span);
        rate.or(stage).or(users).unwrap_or_else(|| self.source.place_of(scenario))
    }

    fn wrong(&self, problem: impl Into<String>) -> ScenarioError {
        self.source.wrong(&self.place(), problem)
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let scenario = self.scenario;
        let staged = !scenario.stages.is_empty();
        let open = self.open();
        let closed_users = scenario.users.is_some() && !open;
        let contradiction = if staged && (scenario.rate.is_some() || closed_users) {
            Some("stages say how many there are: leave users and rate out")
        } else if staged && (scenario.ramp.is_some() || scenario.length.is_some()) {
            Some("stages say how long everything takes: leave ramp and for out")
        } else if open && scenario.ramp.is_some() {
            Some("ramp is for users; a rate that rises is written as stages")
        } else if open && scenario.iterations.is_some() {
            Some("iterations are for users; scripts of a rate begin until the time is over")
        } else if !open && scenario.arrivals == Arrivals::Poisson {
            Some("arrivals are those of a rate: give rate = \"10/s\"")
        } else {
            None
        };
        if let Some(problem) = contradiction {
            return Err(self.wrong(problem));
        }
        if let Some(iterations) = &scenario.iterations
            && *iterations.get_ref() == 0
        {
            return Err(self.source.wrong(&iterations.span(), "iterations = 0 does nothing"));
        }
        for stage in &scenario.stages {
            let (users, rate) = (stage.get_ref().users, stage.get_ref().rate);
            if users.is_some() == rate.is_some() || rate.is_some() != open {
                let problem = "each stage has users, or each has a rate";
                return Err(self.source.wrong(&stage.span(), problem));
            }
        }
        Ok(())
    }

    /// Users, or scripts a second, over the time of the load.
    fn curve(&self, begins_ns: u64, users: Option<u64>) -> Result<Curve, ScenarioError> {
        let scenario = self.scenario;
        if !scenario.stages.is_empty() {
            if users.is_some() {
                return Err(self.wrong("stages and --users: take one of them out"));
            }
            let from = Curve::from(begins_ns);
            return Ok(scenario.stages.iter().fold(from, |curve, stage| {
                let stage = stage.get_ref();
                let rate = stage.rate.map(plumb_measure::RateOrNone::per_s);
                curve.then(stage.over.ns(), rate.unwrap_or(real(stage.users.unwrap_or(0))))
            }));
        }
        if let Some(rate) = &scenario.rate {
            return Ok(Curve::step(begins_ns, rate.get_ref().per_s()));
        }
        let asked = scenario.users.as_ref().map_or(1, |users| *users.get_ref());
        let users = users.unwrap_or(asked);
        Ok(match scenario.ramp {
            Some(ramp) if ramp.ns() > 0 => Curve::from(begins_ns).then(ramp.ns(), real(users)),
            _ => Curve::step(begins_ns, real(users)),
        })
    }

    /// How long the recorded part lasts.
    fn extent(&self, begins_ns: u64) -> Result<Extent, ScenarioError> {
        let scenario = self.scenario;
        let start_ns = scenario.start.map_or(0, Span::ns);
        let own_ns = match (&scenario.stages[..], scenario.length) {
            ([_, ..], _) => Some(self.staged_ns(begins_ns)?),
            ([], Some(length)) => Some(start_ns + length.ns()),
            ([], None) => self.times.length.map(Span::ns),
        };
        let most_ns = self.times.most.map(Span::ns);
        match own_ns.into_iter().chain(most_ns).min() {
            Some(0) => Err(self.wrong("a time of 0 measures nothing")),
            Some(ns) if ns <= start_ns => Err(self.wrong(format!(
                "scenario {} would begin when the load is over: raise for, or lower start",
                scenario.name
            ))),
            Some(ns) => Ok(Extent::For(Span::from_ns(ns))),
            None if self.users_end() => Ok(Extent::Users),
            None => Err(self.wrong(format!(
                "scenario {} has no end: give for = \"1m\" (or --for), iterations, or a file of data that \
                 users take a line of before each script, with at-end = \"stop\"",
                scenario.name
            ))),
        }
    }

    /// True where each user is done at some time: scripts of a rate begin for ever.
    fn users_end(&self) -> bool {
        let ends = |scenario: &Scenario| {
            scenario.iterations.is_some() || scenario.data.iter().any(Data::ends_users)
        };
        !self.open() && ends(self.scenario)
    }

    /// How much of all stages is recorded.
    fn staged_ns(&self, begins_ns: u64) -> Result<u64, ScenarioError> {
        let stages = self.scenario.stages.iter();
        let staged_ns: u64 = stages.map(|stage| stage.get_ref().over.ns()).sum();
        if staged_ns == 0 {
            return Err(self.wrong("stages of no length measure nothing"));
        }
        let warmup = self.times.like.warmup;
        let recorded_ns = (begins_ns + staged_ns).checked_sub(warmup.ns()).filter(|ns| *ns > 0);
        recorded_ns.ok_or_else(|| {
            self.wrong(format!(
                "the warm-up of {warmup} is longer than all stages: nothing would be recorded"
            ))
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of users; a cast to an integer saturates"
)]
fn whole(level: f64) -> u64 {
    level.ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long the scenario with these `keys` lasts, or what is wrong with it.
    fn extent(keys: &str) -> Result<Extent, String> {
        let text = format!(
            "base = \"http://h\"\n[[scenario]]\nname = \"a\"\n{keys}\n[[scenario.step]]\nget = \"/\"\n"
        );
        let source = ScenarioSource::parse(std::path::Path::new("s"), text).unwrap();
        let like = LoadPlan::lone(1, Span::from_ms(1));
        let times = Times { like: &like, length: None, most: None };
        let planned = part(&source, &source.file().scenario[0], times, None, 1);
        planned.map(|it| it.plan.extent).map_err(|error| error.to_string())
    }

    #[test]
    fn users_that_run_out_of_data_end_a_scenario() {
        let data = |more: &str| format!("data = [{{ file = \"a.csv\"{more} }}]");
        let dry = data(", at-end = \"stop\"");
        assert_eq!(extent(&dry), Ok(Extent::Users));
        assert_eq!(extent(&data(", at-end = \"stop\", take = \"own-lines\"")), Ok(Extent::Users));
        for endless in [
            data(""),
            data(", at-end = \"stop\", take = \"each-user\""),
            data(", at-end = \"stop\", take = \"by-user\""),
            format!("rate = \"1/s\"\n{dry}"),
        ] {
            let refused = extent(&endless).unwrap_err();
            assert!(refused.contains("has no end"), "{endless}: {refused}");
        }
    }

    #[test]
    fn users_are_dealt_in_proportion_and_nobody_is_left_out() {
        assert_eq!(dealt(10, &[250, 250]), [5, 5]);
        assert_eq!(dealt(7, &[100]), [7]);
        assert_eq!(dealt(20, &[90, 10]), [18, 2]);
        assert_eq!(dealt(3, &[1_000, 1, 1]), [1, 1, 1]);
        assert_eq!(dealt(10, &[1, 1, 1]).iter().sum::<u64>(), 10);
        assert_eq!(dealt(1, &[1, 1]), [1, 1], "one for each at least");
    }
}
