//! A landscape, solved as closed networks within each other.
//!
//! Stations alone are a product-form network and solved exactly. A pool is replaced by one station
//! that works as fast with `k` users as what is inside it does with `k` users and nobody outside,
//! up to its size (a flow-equivalent server). That is exact for a network of its kind without a
//! limit, and an approximation where the pool is a limit.
//!
//! The mean response time follows from Little's law. Its distribution does not: the time at each
//! station is taken to depend only on whom an arriving user finds there (the arrival theorem),
//! stations to be independent of each other, and the sum to be gamma distributed of the mean and
//! variance that follow.
//!
//! # Source
//! Chandy, Herzog and Woo, Parametric analysis of queuing networks, IBM J. R&D 1975; Sevcik and
//! Mitrani, The distribution of queuing network states at input and output instants, JACM 1981.

mod open;
mod tail;

use serde::Serialize;

pub use open::OpenAnalysis;
pub use tail::Tail;

use crate::gamma;
use crate::landscape::{Element, Landscape, LandscapeError, Pool, Servers, Station};
use crate::network::{ClosedNetwork, NetworkError, Presence, Solution, Speed};

/// Why a landscape cannot be solved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// The landscape cannot be.
    #[error(transparent)]
    Landscape(#[from] LandscapeError),
    /// The network of it cannot be solved.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// A landscape with users who think, solved for every number of users up to one.
#[derive(Debug)]
pub struct Analysis {
    level: Level,
    think_s: f64,
    users_max: usize,
    solution: Solution,
}

/// What so many users see.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Users at once; of arrivals, the operations under way on average.
    pub users: usize,
    /// Operations a second.
    pub throughput_per_s: f64,
    /// Mean response time, seconds.
    pub mean_s: f64,
    /// 95 % of the response times are at most this, approximately; seconds.
    pub p95_s: f64,
    /// How full each resource is.
    pub resources: Vec<Busy>,
}

/// How full a resource is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Busy {
    /// Its name.
    pub name: String,
    /// Servers, processors or places.
    pub places: u32,
    /// Share of them that is busy or held, 0 to 1.
    pub share: f64,
}

impl Busy {
    /// A station at which so many operations a second are done.
    fn of(station: &Station, rate_per_s: f64) -> Self {
        let share = station.busy_share(rate_per_s);
        Self { name: station.name.clone(), places: station.places(), share }
    }
}

impl Analysis {
    /// Solves `landscape` for 1 to `users_max` users who think for `think_s` seconds between two
    /// operations.
    ///
    /// # Errors
    /// [`AnalysisError`].
    pub fn of(
        landscape: &Landscape,
        think_s: f64,
        users_max: usize,
    ) -> Result<Self, AnalysisError> {
        landscape.check()?;
        let users_max = users_max.max(1);
        let level = Level::of(&landscape.elements, think_s, users_max)?;
        let solution = level.network.solve(users_max)?;
        Ok(Self { think_s, users_max, solution, level })
    }

    /// Operations a second of so many users, at most as many as were solved for.
    #[must_use]
    pub fn throughput_per_s(&self, users: usize) -> f64 {
        self.solution.throughput_per_s(users.min(self.users_max))
    }

    /// Mean response time of so many users, seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "at most two million users")]
    pub fn mean_s(&self, users: usize) -> f64 {
        let users = users.clamp(1, self.users_max);
        users as f64 / self.throughput_per_s(users) - self.think_s
    }

    /// What so many users see.
    #[must_use]
    pub fn at(&self, users: usize) -> Point {
        let users = users.clamp(1, self.users_max);
        let moments = self.level.moments(&self.solution, users - 1);
        let mean_s = self.mean_s(users);
        let throughput_per_s = self.throughput_per_s(users);
        let mut resources = Vec::new();
        self.level.busy(&self.solution, users, throughput_per_s, &mut resources);
        let p95_s = gamma::quantile(mean_s, moments.variance, 0.95);
        Point { users, throughput_per_s, mean_s, p95_s, resources }
    }

    /// The most users whose figure is at most `target_s`, with this `tail`; `None` when one user is
    /// already slower, and the most that were solved for when all of them are faster.
    #[must_use]
    pub fn users_within(&self, figure: Figure, target_s: f64, tail: &Tail) -> Option<usize> {
        let value = |users: usize| match figure {
            Figure::Mean => self.mean_s(users),
            Figure::P95 => tail.p95_s(&self.at(users)),
        };
        if value(1) > target_s {
            return None;
        }
        let (mut within, mut beyond) = (1, self.users_max + 1);
        while beyond - within > 1 {
            let middle = usize::midpoint(within, beyond);
            if value(middle) <= target_s { within = middle } else { beyond = middle }
        }
        Some(within)
    }
}

/// What of the response times is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Their mean.
    Mean,
    /// 95 % are at most this.
    P95,
}

/// Mean and variance of a time.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    mean: f64,
    variance: f64,
}

/// Elements that are passed one after the other, as one closed network.
#[derive(Debug)]
struct Level {
    network: ClosedNetwork,
    delays_variance: f64,
    delays_s: f64,             // without think time
    parts: Vec<StationOrPool>, // one for each station of the network
}

#[derive(Debug)]
enum StationOrPool {
    Station(Station),
    Pool(Box<Inner>),
}

/// A pool, and what its inside comes to with 0 to `size` users.
#[derive(Debug)]
struct Inner {
    name: String,
    size: u32,
    level: Level,
    throughput_per_s: Vec<f64>, // from 0 users on
    moments: Vec<Moments>,      // of one who is inside with 0, 1, ... others
}

impl Level {
    fn of(elements: &[Element], think_s: f64, users_max: usize) -> Result<Self, AnalysisError> {
        let mut level = (think_s, 0.0, 0.0);
        let (mut stations, mut parts) = (Vec::new(), Vec::new());
        for element in elements {
            match element {
                Element::Station(Station {
                    servers: Servers::Delay, service_s, variation, ..
                }) => {
                    level.0 += service_s;
                    level.1 += service_s;
                    level.2 += variation * service_s * service_s;
                }
                Element::Station(station) => {
                    let Station { service_s, background, .. } = station;
                    let places = station.places();
                    stations.push(Speed::of_processors(*service_s, places, *background)?);
                    parts.push(StationOrPool::Station(station.clone()));
                }
                Element::Pool(pool) => {
                    let inner = Inner::of(pool, users_max)?;
                    stations.push(inner.speed()?);
                    parts.push(StationOrPool::Pool(Box::new(inner)));
                }
            }
        }
        let network = ClosedNetwork::new(level.0, stations)?;
        Ok(Self { network, delays_s: level.1, delays_variance: level.2, parts })
    }

    /// The time of an operation that begins when `others` are in the network, of which `solution`
    /// is known for as many.
    fn moments(&self, solution: &Solution, others: usize) -> Moments {
        let sum = Moments { mean: self.delays_s, variance: self.delays_variance };
        self.parts.iter().enumerate().fold(sum, |sum, (at, part)| {
            let of = part.moments(&solution.present(at, others));
            Moments { mean: sum.mean + of.mean, variance: sum.variance + of.variance }
        })
    }

    fn busy(&self, solution: &Solution, users: usize, rate_per_s: f64, into: &mut Vec<Busy>) {
        for (at, part) in self.parts.iter().enumerate() {
            match part {
                StationOrPool::Station(station) => into.push(Busy::of(station, rate_per_s)),
                StationOrPool::Pool(inner) => {
                    let presence = solution.present(at, users);
                    let size = inner.size;
                    let held: f64 = presence.shares().map(|(k, share)| held(k, size) * share).sum();
                    let share = held / f64::from(size);
                    into.push(Busy { name: inner.name.clone(), places: size, share });
                    inner.busy(rate_per_s, into);
                }
            }
        }
    }
}

/// Places of `size` that are held when `present` users are there.
fn held(present: usize, size: u32) -> f64 {
    u32::try_from(present).map_or(f64::from(size), |present| f64::from(present.min(size)))
}

impl StationOrPool {
    fn name(&self) -> &str {
        match self {
            Self::Station(station) => &station.name,
            Self::Pool(inner) => &inner.name,
        }
    }

    /// The time of one who finds `presence` here.
    fn moments(&self, presence: &Presence) -> Moments {
        mixture(presence.shares().map(|(others, share)| (share, self.given(others))))
    }

    /// The time of one who finds so many `others` here.
    fn given(&self, others: usize) -> Moments {
        match self {
            Self::Station(station) => {
                let Station { service_s, variation, .. } = station;
                let free = station.free();
                let stretch = count(others + 1) / count(others + 1).min(free);
                let mean = service_s * stretch;
                let variance = if matches!(station.servers, Servers::Shared(_)) {
                    variation * mean * mean // all work is stretched alike
                } else {
                    // the wait for `others - free + 1` ends of work, then the work
                    let (ends, end_s) = ((stretch - 1.0) * free, service_s / free);
                    ends * end_s * end_s + variation * service_s * service_s
                };
                Moments { mean, variance }
            }
            Self::Pool(inner) => inner.given(others),
        }
    }
}

/// Mean and variance of what is one of several, each with its share.
fn mixture(parts: impl Iterator<Item = (f64, Moments)>) -> Moments {
    let (mut mean, mut square) = (0.0, 0.0);
    for (share, of) in parts {
        mean += share * of.mean;
        square += share * (of.variance + of.mean * of.mean);
    }
    Moments { mean, variance: (square - mean * mean).max(0.0) }
}

impl Inner {
    fn of(pool: &Pool, users_max: usize) -> Result<Self, AnalysisError> {
        let most = users_max.min(pool.size as usize);
        let level = Level::of(&pool.inside, 0.0, most)?;
        let solution = level.network.solve(most)?;
        let throughput_per_s = (0..=most).map(|n| solution.throughput_per_s(n)).collect();
        let moments = level.all_moments(&solution);
        Ok(Self { name: pool.name.clone(), size: pool.size, throughput_per_s, moments, level })
    }

    /// The pool as a station.
    fn speed(&self) -> Result<Speed, NetworkError> {
        let alone = self.throughput_per_s[1];
        let mut last = 1.0_f64;
        let factors = self.throughput_per_s[1..].iter().map(|rate| {
            last = last.max(rate / alone); // rounding must not let it fall
            last
        });
        Speed::of_factors(1.0 / alone, factors.collect())
    }

    /// The time of one who finds so many `others` waiting for the pool or in it.
    fn given(&self, others: usize) -> Moments {
        let most = self.moments.len();
        let inside = self.moments[others.min(most - 1)];
        if others < most {
            return inside;
        }
        let ends = count(others + 1 - most);
        let end_s = 1.0 / self.throughput_per_s[most];
        Moments {
            mean: inside.mean + ends * end_s,
            variance: inside.variance + ends * end_s * end_s,
        }
    }

    fn busy(&self, rate_per_s: f64, into: &mut Vec<Busy>) {
        for part in &self.level.parts {
            match part {
                StationOrPool::Station(station) => into.push(Busy::of(station, rate_per_s)),
                StationOrPool::Pool(inner) => {
                    // Little's law for what is inside, at the population with this throughput
                    let reached = |rate: &f64| *rate >= rate_per_s;
                    let present = inner.throughput_per_s.iter().position(reached);
                    let present = present.unwrap_or(inner.size as usize);
                    let share = held(present, inner.size) / f64::from(inner.size);
                    into.push(Busy { name: inner.name.clone(), places: inner.size, share });
                    inner.busy(rate_per_s, into);
                }
            }
        }
    }
}

impl Level {
    /// The time of one who is inside with 0, 1, ... others, one fewer than were solved for; its mean by
    /// Little's law.
    fn all_moments(&self, solution: &Solution) -> Vec<Moments> {
        let alone = Moments { mean: 0.0, variance: self.delays_variance };
        let mut all = vec![alone; solution.users_max()];
        for (at, part) in self.parts.iter().enumerate() {
            for (sum, presence) in all.iter_mut().zip(solution.presences(at)) {
                sum.variance += part.moments(&presence).variance;
            }
        }
        for (others, sum) in all.iter_mut().enumerate() {
            sum.mean = count(others + 1) / solution.throughput_per_s(others + 1);
        }
        all
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most two million users")]
fn count(users: usize) -> f64 {
    users as f64
}

#[cfg(test)]
mod tests;
