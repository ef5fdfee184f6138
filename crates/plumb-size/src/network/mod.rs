//! Closed queueing networks, solved exactly.
//!
//! `N` users go round: they think, then pass stations that each have a service demand and serve
//! faster the more users are there, up to a limit. The normalizing constants `g(0) .. g(N)` of the
//! product form follow by convolution, one station after the other (Buzen 1973); everything else
//! follows from them. A station whose speed no longer grows from `m` users on is the quotient of a
//! polynomial of degree below `m` and `1 - z D / s(m)`, so that it takes `N m` steps instead of `N^2`;
//! all terms are positive and nothing is ever subtracted.
//!
//! The recursion of the textbooks for stations of several servers (mean value analysis) does
//! subtract, and in floats is wrong by percents from a thousand users on.
//!
//! # Source
//! Buzen, Computational algorithms for closed queueing networks with exponential servers, CACM 1973;
//! Casale and Serazzi, Stabilization techniques for load-dependent queueing networks algorithms, 2005.

use std::cell::OnceCell;

mod arrivals;
mod presence;
mod scaled;
mod speed;

pub use arrivals::AtRandom;
pub use presence::{Presence, Presences};
use scaled::Scaled;
pub use speed::Speed;

/// Users of a network at most.
pub const USERS_MAX: usize = 2_000_000;

/// Why a network cannot be solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// A demand or a think time that is negative, infinite or no number.
    #[error(
        "a service demand or think time is negative or not a number: times are seconds from 0 up"
    )]
    Time,
    /// A speed of 0, or one that falls while users come.
    #[error("the speed of a station must be above 0 and must not fall when more users come")]
    Speed,
    /// Neither a think time nor a station with a demand: nobody would ever be anywhere.
    #[error("a network needs a think time or a station with a service demand")]
    Empty,
    /// More users than [`USERS_MAX`].
    #[error("at most {USERS_MAX} users can be computed")]
    Users,
}

/// A closed network of think time and stations.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedNetwork {
    delay_s: f64,
    stations: Vec<Speed>,
}

impl ClosedNetwork {
    /// A network in which a user spends `delay_s` seconds a round waiting for nobody (think time
    /// and all other delays) and passes `stations`.
    ///
    /// # Errors
    /// [`NetworkError::Time`] and [`NetworkError::Empty`].
    pub fn new(delay_s: f64, stations: Vec<Speed>) -> Result<Self, NetworkError> {
        if !delay_s.is_finite() || delay_s < 0.0 {
            return Err(NetworkError::Time);
        }
        let demand: f64 = stations.iter().map(Speed::demand_s).sum();
        if delay_s + demand <= 0.0 {
            return Err(NetworkError::Empty);
        }
        Ok(Self { delay_s, stations })
    }

    /// Its stations.
    #[must_use]
    pub fn stations(&self) -> &[Speed] {
        &self.stations
    }

    /// Solves it for 1 to `users` users at once.
    ///
    /// # Errors
    /// [`NetworkError::Users`].
    pub fn solve(&self, users: usize) -> Result<Solution, NetworkError> {
        if users > USERS_MAX {
            return Err(NetworkError::Users);
        }
        let constants = self.constants(users, None);
        let others = self.stations.iter().map(|_| OnceCell::new()).collect();
        Ok(Solution { network: self.clone(), constants, others })
    }

    /// `g(0) .. g(users)`, of all stations but `without`.
    fn constants(&self, users: usize, without: Option<usize>) -> Vec<Scaled> {
        let mut constants = delay_constants(self.delay_s, users);
        for (at, station) in self.stations.iter().enumerate() {
            if Some(at) != without {
                station.convolve(&mut constants);
            }
        }
        constants
    }
}

/// `z^n / n!` for n from 0: the constants of a network that is nothing but a delay.
#[expect(clippy::cast_precision_loss, reason = "at most two million users")]
fn delay_constants(delay_s: f64, users: usize) -> Vec<Scaled> {
    let mut constants = Vec::with_capacity(users + 1);
    let mut last = Scaled::ONE;
    constants.push(last);
    for n in 1..=users {
        last = last.times(delay_s).times(1.0 / n as f64);
        constants.push(last);
    }
    constants
}

/// What follows for every number of users up to the one that was solved for.
#[derive(Clone, Debug)]
pub struct Solution {
    network: ClosedNetwork,
    constants: Vec<Scaled>,
    /// The constants of all stations but the one with this number, as soon as somebody asks: those of
    /// fewer users are the first of them.
    others: Vec<OnceCell<Vec<Scaled>>>,
}

impl Solution {
    /// The most users that were solved for.
    #[must_use]
    pub fn users_max(&self) -> usize {
        self.constants.len() - 1
    }

    /// Rounds a second of all `users` together; 0 for none, or for more than were solved for.
    #[must_use]
    pub fn throughput_per_s(&self, users: usize) -> f64 {
        match (users.checked_sub(1), self.constants.get(users)) {
            (Some(one_less), Some(all)) => self.constants[one_less].over(*all),
            _ => 0.0,
        }
    }

    /// Seconds that a round takes beyond the delay, on average; not a number for no user.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "at most two million users")]
    pub fn response_s(&self, users: usize) -> f64 {
        users as f64 / self.throughput_per_s(users) - self.network.delay_s
    }

    /// How many of `users` are at the station with the number `station` (from 0); of more users than
    /// were solved for, as of the most of them.
    ///
    /// # Panics
    /// When there is no such station.
    #[must_use]
    pub fn present(&self, station: usize, users: usize) -> Presence {
        let users = users.min(self.users_max());
        let others = self.others(station);
        let alone = self.network.stations[station].alone(users);
        let all = self.constants[users];
        let share = |k: usize| (alone[k] * others[users - k]).over(all);
        Presence { fewest: 0, shares: (0..=users).map(share).collect() }
    }

    /// The same of 0, 1, 2, ... users up to the most that were solved for, one after the other.
    ///
    /// # Panics
    /// When there is no such station.
    #[must_use]
    pub fn presences(&self, station: usize) -> Presences<'_> {
        let alone = self.network.stations[station].alone(self.users_max());
        Presences::new(&self.constants, alone, self.others(station))
    }

    fn others(&self, station: usize) -> &[Scaled] {
        let solved = || self.network.constants(self.users_max(), Some(station));
        self.others[station].get_or_init(solved)
    }
}

#[cfg(test)]
mod tests;
