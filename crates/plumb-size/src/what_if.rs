//! What would be, if something were changed: the model and the simulation beside each other.

mod change;
mod ranges;
mod reach;

use plumb_measure::statistics::Bounded;
use serde::Serialize;

pub use change::{Change, changes};
pub use ranges::{Figures, Ranges};

use ranges::take_long;
use reach::{failed, grown, is_beyond};

use crate::analysis::{Analysis, AnalysisError, OpenAnalysis, Point};
use crate::ladder::FailedStep;
use crate::landscape::{Element, Landscape};
use crate::simulation::{
    ASKS_MAX, Bursts, Load, Patience, Plan, Sessions, Simulated, SimulationError,
};
use crate::sizing::Sizing;

/// Operations that a simulation should record, about.
const OPERATIONS: f64 = 200_000.0;
/// Users of a what-if at most.
pub const USERS_MAX: u32 = 1_000_000;

/// Why a change cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WhatIfError {
    /// No change can be read from a part of the text.
    #[error(
        "`{0}` is no change: write NAME=PLACES (cores=16), NAME.service=TIME, NAME.service/2, \
         NAME.service*1.5, NAME.queue=NUMBER, net.rtt=TIME, think=TIME, users=NUMBER, \
         arrivals=NUMBER/s, timeout=TIME, retries=NUMBER, back-off=TIME, sessions=NUMBER/OPERATIONS or \
         burst=TIMES*LENGTH/PAUSE, with commas between them"
    )]
    Change(String),
    /// The landscape has no such element.
    #[error("there is no `{asked}` in this landscape; there are: {known}")]
    Unknown {
        /// The name.
        asked: String,
        /// What there is.
        known: String,
    },
    /// Users and arrivals at once.
    #[error("{0} is of users, and arrivals are of none: give either")]
    Both(&'static str),
    /// More arrives than can be done.
    #[error(
        "{rate_per_s:.1} operations a second are more than {bottleneck} can do, {most_per_s:.1}: ever \
         more would wait; ask for fewer, or limit the queue of the pool, such as NAME.queue=100"
    )]
    Overloaded {
        /// Operations that arrive a second.
        rate_per_s: f64,
        /// What is full first.
        bottleneck: String,
        /// What it can do a second.
        most_per_s: f64,
    },
    /// More users than the memory of the server holds: why.
    #[error("{0}")]
    Memory(String),
    /// Bursts so far apart, so short or so large that simulating enough of them takes hours.
    #[error(
        "up to {asks:.1e} operations and bursts would have to be simulated, more than a billion: give \
         bursts and pauses of other lengths, such as burst=3*10s/60s, a smaller factor, or fewer users \
         or arrivals"
    )]
    Bursts {
        /// Operations, each with its tries, and beginnings and ends of bursts.
        asks: f64,
    },
    /// The changed landscape cannot be solved.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// It cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

/// What would be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIf {
    /// What was changed.
    pub changes: Vec<Change>,
    /// True beyond twice of what was measured: a model, and no measurement.
    pub beyond: bool,
    /// What failed when as much was asked as of this load; absent where nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedStep>,
    /// What is simulated: the changed landscape, its load, its users' patience.
    pub plan: Plan,
    /// The model's figures; absent where more arrives than can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Point>,
    /// The model's 95th percentile with the ladder's factor for it, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_p95_s: Option<f64>,
    /// What is simulated and the model knows nothing of.
    pub unknown_to_model: Vec<&'static str>,
    /// The simulation's figures.
    pub simulated: Simulated,
    /// How far throughput and mean of the model are from the simulation, as a share.
    pub apart: Option<[f64; 2]>,
    /// The figures of both with intervals that know how well the ladder is known, which those of
    /// `simulated` do not; absent where the model has none, or drawing them takes minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Ranges>,
}

/// What is asked beside the landscape.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    users: Option<u32>,
    think_s: Option<f64>,
    arrivals_per_s: Option<f64>,
    patience: Patience,
    sessions: Option<Sessions>,
    bursts: Option<Bursts>,
}

/// Makes `changes` to the landscape that was sized, and looks at it in both ways.
///
/// # Errors
/// [`WhatIfError`].
pub fn what_if(sizing: &Sizing, changes: Vec<Change>) -> Result<WhatIf, WhatIfError> {
    let mut landscape = sizing.model.served();
    let had = landscape.clone();
    let mut asked = Asked::default();
    for change in &changes {
        change::apply(&mut landscape, change)?;
        asked.take(change);
    }
    let load = asked.load(sizing)?;
    asked.fit_into_memory(sizing, load)?;
    let model = modelled(&landscape, load)?;
    let plan = asked.plan(landscape, load, model.as_ref(), sizing.question.seed)?;
    let simulated = plan.simulate()?;
    let ranges = match &model {
        Some(_) if take_long(&plan.landscape, load) => None,
        Some(model) => Ranges::of(sizing, &changes, load, (model, &simulated))?,
        None => None,
    };
    Ok(WhatIf {
        ranges,
        beyond: grown(&plan.landscape, &had) || is_beyond(sizing, load),
        failed: failed(sizing, load)?,
        apart: model.as_ref().and_then(|model| apart(model, &simulated)),
        model_p95_s: model.as_ref().map(|model| sizing.model.tail.p95_s(model)),
        unknown_to_model: unknown_to_model(&plan),
        changes,
        plan,
        model,
        simulated,
    })
}

impl WhatIf {
    /// True where there are no `ranges` because drawing them takes minutes.
    #[must_use]
    pub fn ranges_take_long(&self) -> bool {
        self.model.is_some() && take_long(&self.plan.landscape, self.plan.load)
    }
}

impl Asked {
    fn take(&mut self, change: &Change) {
        match change {
            Change::Think(of_s) => self.think_s = Some(*of_s),
            Change::Users(of) => self.users = Some(*of),
            Change::Arrivals(per_s) => self.arrivals_per_s = Some(*per_s),
            Change::TimeOut(of_s) => self.patience.time_out_s = Some(*of_s),
            Change::Retries(of) => self.patience.retries = *of,
            Change::BackOff(of_s) => self.patience.back_off_s = *of_s,
            Change::Sessions(of) => self.sessions = Some(*of),
            Change::Burst(of) => self.bursts = Some(*of),
            Change::Places(..)
            | Change::Service(..)
            | Change::Times(..)
            | Change::Network(_)
            | Change::Queue(..) => {}
        }
    }

    fn load(&self, sizing: &Sizing) -> Result<Load, WhatIfError> {
        let Some(rate_per_s) = self.arrivals_per_s else {
            let users = self.users.unwrap_or(sizing.question.users);
            let think_s = self.think_s.unwrap_or(sizing.think_s());
            return Ok(Load::Closed { users, think_s, variation: 1.0 });
        };
        let of_users = [
            ("users", self.users.is_some()),
            ("think", self.think_s.is_some()),
            ("sessions", self.sessions.is_some()),
        ];
        match of_users.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(WhatIfError::Both(name)),
            None => Ok(Load::Open { rate_per_s }),
        }
    }

    /// Memory is held by a user, or by a session where these are limited.
    fn fit_into_memory(&self, sizing: &Sizing, load: Load) -> Result<(), WhatIfError> {
        let Load::Closed { users, .. } = load else { return Ok(()) };
        let sessions = self.sessions.map_or(users, |it| it.most.min(users));
        sizing.short_of_memory(sessions).map_or(Ok(()), |why| Err(WhatIfError::Memory(why)))
    }

    fn plan(
        &self,
        landscape: Landscape,
        load: Load,
        model: Option<&Point>,
        seed: u64,
    ) -> Result<Plan, WhatIfError> {
        let mean_s = model.map_or_else(|| filled_s(&landscape), |model| model.mean_s);
        let (rate_per_s, round_s) = match load {
            Load::Closed { users, think_s, .. } => {
                (f64::from(users) / (think_s + mean_s), think_s + mean_s)
            }
            // however long a queue is, it is simulated for a time that ends
            Load::Open { rate_per_s } => (rate_per_s, mean_s.min(OPERATIONS / rate_per_s)),
        };
        // bursts are rare, and an interval knows only of those that came
        let burst_s = self.bursts.map_or(0.0, |it| 50.0 * (it.on_s + it.off_s));
        let for_s = (OPERATIONS / rate_per_s).max(20.0 * round_s).max(burst_s);
        let warm_up_s = (for_s / 10.0).max(5.0 * round_s);
        let plan = Plan {
            landscape,
            load,
            for_s,
            warm_up_s,
            patience: self.patience,
            sessions: self.sessions,
            bursts: self.bursts,
            seed,
        };
        ends_soon(&plan, rate_per_s)?;
        Ok(plan)
    }
}

/// Refuses bursts with which `plan` takes hours to simulate; `rate_per_s` is that of the model, which knows
/// none. Users who think ask in a burst at most as many times as often as its factor says.
fn ends_soon(plan: &Plan, rate_per_s: f64) -> Result<(), WhatIfError> {
    let Some(Bursts { factor, on_s, off_s }) = plan.bursts else { return Ok(()) };
    let round_s = on_s + off_s;
    let more = ((factor * on_s + off_s) / round_s).max(1.0);
    let tries_per_s = tries_per_s(plan, rate_per_s, more);
    let asks = (plan.for_s + plan.warm_up_s) * (tries_per_s + 2.0 / round_s);
    if asks > ASKS_MAX { Err(WhatIfError::Bursts { asks }) } else { Ok(()) }
}

/// Operations a second with their tries, at most, where `more` times as much is asked for as `rate_per_s`.
fn tries_per_s(plan: &Plan, rate_per_s: f64, more: f64) -> f64 {
    let asked_per_s = more * rate_per_s;
    let retries = f64::from(plan.patience.retries);
    match (plan.load, plan.patience.time_out_s) {
        _ if limited(&plan.landscape.elements) => asked_per_s * (1.0 + retries),
        (Load::Open { .. }, Some(_)) => asked_per_s * (1.0 + retries),
        (Load::Closed { users, think_s, .. }, Some(time_out_s)) => {
            let users = f64::from(users);
            // a try that is given up takes as long as that: more of them are not always more a second
            let one_s = (users / rate_per_s).min(think_s + time_out_s);
            let all_s = one_s + retries * time_out_s;
            more * users * (1.0 / one_s).max((1.0 + retries) / all_s)
        }
        (Load::Closed { .. }, None) if plan.sessions.is_none() => {
            let most_per_s = plan.landscape.bottleneck().map(|it| it.rate_max_per_s());
            asked_per_s.min(most_per_s.unwrap_or(f64::INFINITY))
        }
        (_, None) => asked_per_s,
    }
}

/// The model of a load; it knows of no time-outs, sessions, bursts or limits of queues. `None` where
/// more arrives than can be done, and a queue turns it away.
fn modelled(landscape: &Landscape, load: Load) -> Result<Option<Point>, WhatIfError> {
    match load {
        Load::Closed { users, think_s, .. } => {
            Ok(Some(Analysis::of(landscape, think_s, users as usize)?.at(users as usize)))
        }
        Load::Open { rate_per_s } => open(landscape, rate_per_s),
    }
}

fn open(landscape: &Landscape, rate_per_s: f64) -> Result<Option<Point>, WhatIfError> {
    let overloaded = |bottleneck: &str, most_per_s| {
        let bottleneck = bottleneck.to_owned();
        if limited(&landscape.elements) {
            Ok(None)
        } else {
            Err(WhatIfError::Overloaded { rate_per_s, bottleneck, most_per_s })
        }
    };
    let full = landscape.bottleneck().filter(|it| rate_per_s >= it.rate_max_per_s());
    if let Some(full) = full {
        return overloaded(&full.name, full.rate_max_per_s());
    }
    let open = OpenAnalysis::of(landscape)?;
    if let Some(point) = open.at(rate_per_s) {
        return Ok(Some(point));
    }
    // those in a pool wait for each other, too, so that it does less than its places alone could
    let (bottleneck, most_per_s) = open.bottleneck().unwrap_or_default();
    overloaded(bottleneck, most_per_s)
}

/// How long an operation takes, about, that waits in every queue that is limited, and full.
fn filled_s(landscape: &Landscape) -> f64 {
    let most_per_s = landscape.bottleneck().map_or(f64::INFINITY, |it| it.rate_max_per_s());
    landscape.alone_s() + room(&landscape.elements) / most_per_s
}

/// Operations that may wait in limited queues, all together.
fn room(elements: &[Element]) -> f64 {
    let of = |element: &Element| match element {
        Element::Pool(pool) => pool.queue.map_or(0.0, f64::from) + room(&pool.inside),
        Element::Station(_) => 0.0,
    };
    elements.iter().map(of).sum()
}

fn limited(elements: &[Element]) -> bool {
    elements.iter().any(|it| match it {
        Element::Pool(pool) => pool.queue.is_some() || limited(&pool.inside),
        Element::Station(_) => false,
    })
}

fn unknown_to_model(plan: &Plan) -> Vec<&'static str> {
    let all = [
        ("time-outs", plan.patience.time_out_s.is_some()),
        ("limits of queues", limited(&plan.landscape.elements)),
        ("sessions", plan.sessions.is_some()),
        ("bursts", plan.bursts.is_some()),
    ];
    all.into_iter().filter(|(_, used)| *used).map(|(name, _)| name).collect()
}

fn apart(model: &Point, simulated: &Simulated) -> Option<[f64; 2]> {
    let off = |model: f64, simulated: Option<Bounded>| Some((model / simulated?.value - 1.0).abs());
    Some([
        off(model.throughput_per_s, simulated.throughput_per_s)?,
        off(model.mean_s, simulated.mean_s)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::landscape::{Servers, Station};

    fn server(queue: Option<u32>) -> Landscape {
        let station = Station {
            name: "cores".into(),
            servers: Servers::Shared(1),
            service_s: 0.01,
            variation: 1.0,
            background: 0.0,
        };
        let inside = vec![Element::Station(station)];
        let pool = crate::landscape::Pool { name: "places".into(), size: 1_000, queue, inside };
        Landscape { elements: vec![Element::Pool(pool)] }
    }

    #[test]
    fn arrivals_wait_as_those_of_one_server_do() {
        for share in [0.0001, 0.1, 0.5, 0.8, 0.95, 0.98, 0.99, 0.999_999] {
            let found = open(&server(None), share * 100.0).unwrap().unwrap();
            // M/M/1: R = S / (1 - rho)
            let exact_s = 0.01 / (1.0 - share);
            assert!((found.mean_s / exact_s - 1.0).abs() < 1e-9, "{share}: {found:?}");
            assert!((found.throughput_per_s / (share * 100.0) - 1.0).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn bursts_that_take_hours_to_simulate_are_refused() {
        let of = |load, burst: &str| {
            let mut asked = Asked::default();
            changes(&format!("burst={burst}")).unwrap().iter().for_each(|it| asked.take(it));
            asked.plan(server(Some(10)), load, None, 1).map(|plan| plan.for_s)
        };
        let users = |users| Load::Closed { users, think_s: 5.0, variation: 1.0 };
        let refused = |found| matches!(found, Err(WhatIfError::Bursts { .. }));
        assert!(of(users(500), "3*10s/60s").is_ok() && of(users(500), "3*1h/23h").is_ok());
        assert!(refused(of(users(5_000), "3*1h/23h")));
        assert!(refused(of(users(500), "3*1us/1us")));
        let open = Load::Open { rate_per_s: 100.0 };
        assert!(of(open, "3*10s/60s").is_ok());
        assert!(refused(of(open, "1000000000*1s/60s")) && refused(of(open, "1e300*1s/60s")));
        assert!(refused(of(Load::Open { rate_per_s: 200.0 }, "3*1h/167h")));
    }

    #[test]
    fn tries_that_nobody_makes_are_not_refused() {
        let of = |users, asked_for: &str| {
            let mut asked = Asked::default();
            changes(asked_for).unwrap().iter().for_each(|it| asked.take(it));
            let load = Load::Closed { users, think_s: 5.0, variation: 1.0 };
            asked.plan(server(None), load, None, 1).map(drop)
        };
        assert!(of(500, "burst=3*1h/23h,retries=1").is_ok(), "nothing is given up");
        assert!(of(500, "burst=3*1h/23h,timeout=30s,retries=1").is_ok(), "or after a long time");
        assert!(of(500, "burst=3*1h/23h,timeout=100ms,retries=9").is_err());
        assert!(of(5_000, "burst=3*1h/23h").is_ok(), "one processor does no more");
    }

    #[test]
    fn more_than_can_be_done_is_refused_unless_a_queue_turns_it_away() {
        for rate_per_s in [100.0, 200.0] {
            let error = open(&server(None), rate_per_s).unwrap_err();
            assert!(matches!(error, WhatIfError::Overloaded { .. }), "{error}");
            assert!(error.to_string().contains("cores can do, 100.0"), "{error}");
            assert_eq!(open(&server(Some(10)), rate_per_s), Ok(None));
        }
        assert!(open(&server(Some(10)), 50.0).unwrap().is_some());
    }

    #[test]
    fn a_pool_whose_operations_wait_for_each_other_is_full_before_its_places_are() {
        let mut landscape = server(None);
        landscape.resize("places", 2);
        let wait = Station {
            name: "wait".into(),
            servers: Servers::Delay,
            service_s: 0.01,
            variation: 1.0,
            background: 0.0,
        };
        landscape.pool_mut("places").unwrap().inside.push(Element::Station(wait));
        // two machines and one repairman, as long each: 2 / (1 + 2 + 2) of the time both run
        let most_per_s = 100.0 * (1.0 - 1.0 / 5.0);
        assert!(open(&landscape, most_per_s * 0.999).unwrap().is_some());
        let error = open(&landscape, most_per_s * 1.001).unwrap_err();
        assert!(error.to_string().contains("more than places can do, 80.0"), "{error}");
    }
}
