//! A landscape, simulated event by event.
//!
//! It knows what the analytic model does not: service times that are not exponential, pools that are
//! a limit, operations given up and tried again, sessions, bursts. Everything that is drawn
//! follows from the seed, so that a simulation gives the same figures wherever it runs.
//!
//! Figures are of the time after a warm-up; their intervals are those of batch means (20 batches).

mod calendar;
mod draw;
mod flow;
mod machine;
mod places;
mod tally;

use plumb_measure::statistics::Bounded;
use serde::Serialize;

use crate::landscape::{Element, Landscape, LandscapeError};

/// Users at once, and operations under way, at most.
pub const USERS_MAX: u32 = 5_000_000;
/// Times that refused users may ask at most, and what bursts may have simulated; a processor is busy for
/// minutes with as many.
pub(crate) const ASKS_MAX: f64 = 1e9;

/// Why nothing can be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// The landscape cannot be.
    #[error(transparent)]
    Landscape(#[from] LandscapeError),
    /// A time or rate that cannot be one.
    #[error("{0} must be a positive number")]
    Number(&'static str),
    /// Too many users.
    #[error("at most {USERS_MAX} users can be simulated")]
    Users,
    /// Users who are refused and hardly think: they would ask for ever before any time passes.
    #[error(
        "users who are refused ask again after they thought: {users} would ask more than a billion \
         times; give them a longer think time, such as think=1s"
    )]
    Restless {
        /// How many there are.
        users: u32,
    },
    /// An open load that the landscape cannot carry: ever more operations are under way.
    #[error(
        "more than {USERS_MAX} operations were under way at once: the landscape cannot carry this \
         rate; simulate a lower one, or give operations a time-out"
    )]
    Overloaded,
}

/// What is simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// What an operation passes.
    pub landscape: Landscape,
    /// Who asks.
    pub load: Load,
    /// Seconds that are recorded.
    pub for_s: f64,
    /// Seconds before that.
    pub warm_up_s: f64,
    /// What users do who wait too long or are turned away.
    pub patience: Patience,
    /// Sessions that users hold, if there is a limit of them.
    pub sessions: Option<Sessions>,
    /// Times at which more is asked.
    pub bursts: Option<Bursts>,
    /// Where everything that is drawn begins.
    pub seed: u64,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// So many users, each of whom thinks between two operations.
    Closed {
        /// Users at once.
        users: u32,
        /// Mean think time, seconds.
        think_s: f64,
        /// Variance of that over the square of its mean.
        variation: f64,
    },
    /// Operations that begin independently of each other (Poisson).
    Open {
        /// Operations a second.
        rate_per_s: f64,
    },
}

/// What users do who wait too long or are turned away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Patience {
    /// An operation is given up after so many seconds; the landscape does not know and goes on
    /// with it. `None`: never.
    pub time_out_s: Option<f64>,
    /// Tries after the first, where an operation was given up or turned away.
    pub retries: u32,
    /// Mean wait before each of them, seconds.
    pub back_off_s: f64,
}

/// Sessions: a user opens one before the first operation and ends it after so many; a user for
/// whom there is none thinks again and asks later. Only a closed load has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sessions {
    /// Open at once at most.
    pub most: u32,
    /// Operations of one.
    pub operations: u32,
}

/// Times at which more is asked: they last `on_s` on average, `off_s` lie between, both
/// exponential; meanwhile arrivals come `factor` times as often, and users think so much
/// shorter, who are in the middle of a thought as well. With bursts all think times are exponential,
/// whatever their variation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bursts {
    /// How many times as much.
    pub factor: f64,
    /// Their mean length, seconds.
    pub on_s: f64,
    /// Mean time between them, seconds.
    pub off_s: f64,
}

/// What came of it. Times are from the first try of an operation until it was done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Simulated {
    /// Operations that were done while it was recorded.
    pub operations: u64,
    /// Events that were simulated, those of the warm-up included.
    pub events: u64,
    /// Operations done a second; absent in too short a time.
    pub throughput_per_s: Option<Bounded>,
    /// Mean response time, seconds.
    pub mean_s: Option<Bounded>,
    /// 95 % of the response times are at most this, seconds; absent with too few operations.
    pub p95_s: Option<Bounded>,
    /// Share of each station's servers and each pool's places that was busy, and operations that
    /// waited on average.
    pub resources: Vec<Used>,
    /// Tries that were turned away by a full queue.
    pub turned_away: u64,
    /// Tries that were given up.
    pub timed_out: u64,
    /// Operations that failed: turned away or given up at the last try.
    pub failed: u64,
    /// Tries after the first.
    pub retried: u64,
    /// Sessions that could not be opened.
    pub refused_sessions: u64,
    /// Sessions open at once at most, the warm-up included.
    pub sessions_max: u32,
}

/// How much a resource was used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Used {
    /// Its name.
    pub name: String,
    /// Share of its servers or places that was busy, 0 to 1.
    pub share: f64,
    /// Operations that waited for one, on average; of shared processors those beyond their number.
    pub waiting: f64,
}

impl Plan {
    /// Simulates it.
    ///
    /// # Errors
    /// [`SimulationError`].
    pub fn simulate(&self) -> Result<Simulated, SimulationError> {
        self.check()?;
        machine::Machine::new(self).run()
    }

    fn check(&self) -> Result<(), SimulationError> {
        self.landscape.check()?;
        let positive = |value: f64, name| number(value, value > 0.0, name);
        let not_negative = |value: f64, name| number(value, value >= 0.0, name);
        positive(self.for_s, "the time to simulate")?;
        not_negative(self.warm_up_s, "the warm-up")?;
        match self.load {
            Load::Closed { users, think_s, variation } => {
                not_negative(think_s, "the think time")?;
                not_negative(variation, "the variation of the think time")?;
                if users == 0 || users > USERS_MAX {
                    return Err(SimulationError::Users);
                }
                // users who neither think nor work would never let time pass
                positive(think_s + self.landscape.alone_s(), "think time or service time")?;
            }
            Load::Open { rate_per_s } => positive(rate_per_s, "the rate")?,
        }
        if let Some(time_out_s) = self.patience.time_out_s {
            positive(time_out_s, "the time-out")?;
        }
        not_negative(self.patience.back_off_s, "the wait before a retry")?;
        if let Some(bursts) = self.bursts {
            positive(bursts.factor, "the factor of a burst")?;
            positive(bursts.on_s, "the length of a burst")?;
            positive(bursts.off_s, "the time between bursts")?;
        }
        self.check_refused()
    }

    /// Whoever is refused thinks and asks again: time must pass meanwhile.
    fn check_refused(&self) -> Result<(), SimulationError> {
        let Load::Closed { users, think_s, .. } = self.load else { return Ok(()) };
        let Patience { time_out_s, retries, back_off_s } = self.patience;
        let think_s = think_s / self.bursts.map_or(1.0, |it| it.factor.max(1.0));
        let at_session = self.sessions.filter(|it| it.most < users).map(|_| think_s);
        // what was given up is still under way, so that few users may fill a queue
        let at_once = if time_out_s.is_some() { u64::MAX } else { u64::from(users) };
        let at_queue = refused_after_s(&self.landscape.elements, at_once).map(|after_s| {
            let waits_s = think_s + f64::from(retries) * back_off_s;
            after_s + waits_s / (1.0 + f64::from(retries))
        });
        let soonest_s = [at_session, at_queue].into_iter().flatten().reduce(f64::min);
        let most = soonest_s.map(|it| f64::from(users) * (self.warm_up_s + self.for_s) / it);
        if most.is_some_and(|most| most > ASKS_MAX) {
            return Err(SimulationError::Restless { users });
        }
        Ok(())
    }
}

/// Seconds that an operation takes until a queue may turn it away when `at_once` are under way; `None`
/// where none does.
fn refused_after_s(elements: &[Element], at_once: u64) -> Option<f64> {
    let mut before_s = 0.0;
    for element in elements {
        if let Element::Pool(pool) = element {
            let room = pool.queue.map(|queue| u64::from(queue) + u64::from(pool.size));
            if room.is_some_and(|room| at_once > room) {
                return Some(before_s);
            }
            if let Some(inside_s) = refused_after_s(&pool.inside, at_once) {
                return Some(before_s + inside_s);
            }
        }
        before_s += element.alone_s();
    }
    None
}

fn number(value: f64, fits: bool, name: &'static str) -> Result<(), SimulationError> {
    if value.is_finite() && fits { Ok(()) } else { Err(SimulationError::Number(name)) }
}

#[cfg(test)]
mod tests;
