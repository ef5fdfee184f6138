//! What would be, if something were changed: the model and the simulation beside each other.

mod change;

use serde::Serialize;

pub use change::{Change, changes};

use crate::analysis::{Analysis, AnalysisError, Point};
use crate::bounded::Bounded;
use crate::landscape::{Element, Landscape};
use crate::simulation::{Bursts, Load, Patience, Plan, Sessions, Simulated, SimulationError};
use crate::sizing::{RANGE_MAX, Sizing};

/// Operations that a simulation should record, about.
const OPERATIONS: f64 = 200_000.0;
/// Users of a what-if at most.
pub const USERS_MAX: u32 = 1_000_000;
/// Arrivals are solved as a closed load of so many users for each operation under way.
const CROWD: f64 = 200.0;
/// Users of that closed load.
const CROWD_RANGE: (f64, f64) = (2_000.0, 50_000.0);

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
    /// What is simulated: the changed landscape, its load, its users' patience.
    pub plan: Plan,
    /// The model's figures.
    pub model: Point,
    /// The model's 95th percentile with the ladder's factor for it, seconds.
    pub model_p95_s: f64,
    /// What is simulated and the model knows nothing of.
    pub unknown_to_model: Vec<&'static str>,
    /// The simulation's figures.
    pub simulated: Simulated,
    /// How far throughput and mean of the model are from the simulation, as a share.
    pub apart: Option<[f64; 2]>,
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
    let model = modelled(&landscape, load)?;
    let plan = asked.plan(landscape, load, &model, sizing.question.seed);
    let simulated = plan.simulate()?;
    Ok(WhatIf {
        beyond: grown(&plan.landscape, &had) || is_beyond(sizing, load),
        apart: apart(&model, &simulated),
        model_p95_s: sizing.model.tail.p95_s(&model),
        unknown_to_model: unknown_to_model(&plan),
        changes,
        plan,
        model,
        simulated,
    })
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

    fn plan(&self, landscape: Landscape, load: Load, model: &Point, seed: u64) -> Plan {
        let (rate_per_s, round_s) = match load {
            Load::Closed { think_s, .. } => (model.throughput_per_s, think_s + model.mean_s),
            Load::Open { rate_per_s } => (rate_per_s, model.mean_s),
        };
        // bursts are rare, and an interval knows only of those that came
        let burst_s = self.bursts.map_or(0.0, |it| 50.0 * (it.on_s + it.off_s));
        let for_s = (OPERATIONS / rate_per_s).max(20.0 * round_s).max(burst_s);
        Plan {
            landscape,
            load,
            for_s,
            warm_up_s: (for_s / 10.0).max(5.0 * round_s),
            patience: self.patience,
            sessions: self.sessions,
            bursts: self.bursts,
            seed,
        }
    }
}

/// The model of a load; it knows of no time-outs, sessions, bursts or limits of queues.
fn modelled(landscape: &Landscape, load: Load) -> Result<Point, WhatIfError> {
    match load {
        Load::Closed { users, think_s, .. } => {
            Ok(Analysis::of(landscape, think_s, users as usize)?.at(users as usize)?)
        }
        Load::Open { rate_per_s } => open(landscape, rate_per_s),
    }
}

/// Arrivals that depend on nobody are a closed load of a crowd that thinks very long: its think time
/// is set so that operations begin as often.
fn open(landscape: &Landscape, rate_per_s: f64) -> Result<Point, WhatIfError> {
    let full = landscape.bottleneck().filter(|it| rate_per_s >= it.rate_max_per_s());
    let Some(full) = full else { return Ok(crowd(landscape, rate_per_s)?) };
    let (bottleneck, most_per_s) = (full.name.clone(), full.rate_max_per_s());
    if !limited(&landscape.elements) {
        return Err(WhatIfError::Overloaded { rate_per_s, bottleneck, most_per_s });
    }
    // what cannot be done is turned away: the model knows only what can
    Ok(crowd(landscape, most_per_s * 0.999)?)
}

fn crowd(landscape: &Landscape, rate_per_s: f64) -> Result<Point, AnalysisError> {
    let alone_s = landscape.alone_s();
    let (low, high) = CROWD_RANGE;
    let users = (CROWD * rate_per_s * alone_s).clamp(low, high).ceil();
    let round_s = users / rate_per_s;
    let mut think_s = (round_s - alone_s).max(0.0);
    let mut point = solved(landscape, think_s, users)?;
    for _ in 0..4 {
        think_s = (round_s - point.mean_s).max(0.0);
        point = solved(landscape, think_s, users)?;
    }
    Ok(point)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a limited number of users"
)]
fn solved(landscape: &Landscape, think_s: f64, users: f64) -> Result<Point, AnalysisError> {
    Analysis::of(landscape, think_s, users as usize)?.at(users as usize)
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

fn grown(landscape: &Landscape, had: &Landscape) -> bool {
    let had = had.resources();
    landscape.resources().iter().any(|it| {
        let before = had.iter().find(|had| had.name == it.name);
        before.is_some_and(|had| f64::from(it.places) > RANGE_MAX * f64::from(had.places))
    })
}

fn is_beyond(sizing: &Sizing, load: Load) -> bool {
    match load {
        Load::Closed { users, think_s, .. } => {
            let alone_s = sizing.model.landscape().alone_s();
            let asked = f64::from(users) * (sizing.model.think_s + alone_s) / (think_s + alone_s);
            asked > RANGE_MAX * sizing.ladder.highest().users
        }
        Load::Open { rate_per_s } => rate_per_s > RANGE_MAX * sizing.ladder.throughput_max_per_s(),
    }
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
        };
        let inside = vec![Element::Station(station)];
        let pool = crate::landscape::Pool { name: "places".into(), size: 1_000, queue, inside };
        Landscape { elements: vec![Element::Pool(pool)] }
    }

    #[test]
    fn arrivals_wait_as_those_of_one_server_do() {
        for share in [0.1, 0.5, 0.8] {
            let found = open(&server(None), share * 100.0).unwrap();
            // M/M/1: R = S / (1 - rho)
            let exact_s = 0.01 / (1.0 - share);
            assert!((found.mean_s / exact_s - 1.0).abs() < 0.02, "{share}: {found:?}");
            assert!((found.throughput_per_s / (share * 100.0) - 1.0).abs() < 0.01, "{found:?}");
        }
    }

    #[test]
    fn more_than_can_be_done_is_refused_unless_a_queue_turns_it_away() {
        let error = open(&server(None), 200.0).unwrap_err();
        assert!(matches!(error, WhatIfError::Overloaded { .. }), "{error}");
        assert!(error.to_string().contains("cores can do, 100.0"), "{error}");
        assert!(open(&server(Some(10)), 200.0).is_ok());
    }
}
