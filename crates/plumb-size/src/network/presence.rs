//! How many users are at a station of a closed network.

use super::scaled::Scaled;

/// Shares that are smaller than the largest by this factor are no part of any figure: all of two million
/// together are below 1e-12.
const NEGLIGIBLE: f64 = 1e-19;

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
    others: &'a [Scaled],
    users: usize,
    likely: usize,
    room: usize,
}

impl<'a> Presences<'a> {
    pub(super) fn new(constants: &'a [Scaled], alone: Vec<Scaled>, others: &'a [Scaled]) -> Self {
        Self { constants, alone, others, users: 0, likely: 0, room: 1 }
    }
}

impl Iterator for Presences<'_> {
    type Item = Presence;

    fn next(&mut self) -> Option<Presence> {
        let (users, all) = (self.users, *self.constants.get(self.users)?);
        let share = |k: usize| (self.alone[k] * self.others[users - k]).over(all);
        let (mut likely, mut largest) = (self.likely, share(self.likely));
        while likely < users {
            let more = share(likely + 1);
            if more <= largest {
                break;
            }
            (likely, largest) = (likely + 1, more);
        }
        let least = largest * NEGLIGIBLE;
        let mut shares = Vec::with_capacity(self.room);
        shares.extend((0..likely).rev().map(share).take_while(|share| *share > least));
        let fewest = likely - shares.len();
        shares.reverse();
        shares.push(largest);
        shares.extend((likely + 1..=users).map(share).take_while(|share| *share > least));
        // the next one has about as many
        (self.users, self.likely, self.room) = (users + 1, likely, shares.len() + 1);
        Some(Presence { fewest, shares })
    }
}
