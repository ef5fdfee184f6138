//! How many users are at a station of a closed network.

use super::scaled::Scaled;

/// Shares that are smaller than the largest by this factor are no part of any figure: all of two million
/// together are below 1e-13.
const NEGLIGIBLE: f64 = 1e-20;

/// How many users are at a station.
#[derive(Clone, Debug, PartialEq)]
pub struct Presence {
    pub(super) fewest: usize,
    pub(super) shares: Vec<f64>, // of `fewest` users, one more, ...
}

impl Presence {
    /// Numbers of users, and the share of the time at which so many are there. Numbers that are left
    /// out are never there.
    pub fn shares(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.shares.iter().enumerate().map(|(at, share)| (self.fewest + at, *share))
    }

    /// Users there on average, waiting and served.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "at most two million users")]
    pub fn mean(&self) -> f64 {
        self.shares().map(|(users, share)| users as f64 * share).sum()
    }
}

/// How many users are at a station of networks of 0, 1, 2, ... users, one after the other.
///
/// The constants of a station and of a network are log-concave, since no station gets slower with more
/// users: the shares of a network rise to the most likely number and fall from there on, and one user more
/// makes that number the same or one more. So they are computed around it, as far as they are not
/// negligible.
#[derive(Clone, Debug)]
pub struct Presences<'a> {
    constants: &'a [Scaled], // of the whole network
    alone: Vec<Scaled>,
    others: Vec<Scaled>,
    users: usize,
    likely: usize,
}

impl<'a> Presences<'a> {
    pub(super) fn new(constants: &'a [Scaled], alone: Vec<Scaled>, others: Vec<Scaled>) -> Self {
        Self { constants, alone, others, users: 0, likely: 0 }
    }
}

impl Iterator for Presences<'_> {
    type Item = Presence;

    fn next(&mut self) -> Option<Presence> {
        let (users, all) = (self.users, *self.constants.get(self.users)?);
        let share = |k: usize| (self.alone[k] * self.others[users - k]).over(all);
        let mut likely = self.likely;
        while likely < users && share(likely + 1) > share(likely) {
            likely += 1;
        }
        let least = share(likely) * NEGLIGIBLE;
        let counts = |share: &f64| *share > least;
        let mut shares: Vec<f64> = (0..likely).rev().map(share).take_while(counts).collect();
        let fewest = likely - shares.len();
        shares.reverse();
        shares.extend((likely..=users).map(share).take_while(counts));
        (self.users, self.likely) = (users + 1, likely);
        Some(Presence { fewest, shares })
    }
}
