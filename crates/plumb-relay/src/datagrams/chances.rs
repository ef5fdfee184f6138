//! What becomes of each datagram of one direction, by chance that a seed repeats.

use plumb_measure::Share;
use plumb_measure::statistics::SplitMix64;

use crate::{PathPlan, PathTotals};

/// What becomes of the datagrams of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DatagramPathPlan {
    /// When they leave; jitter keeps their order.
    pub path: PathPlan,
    /// This share is lost.
    pub lose: Option<Share>,
    /// This share leaves twice.
    pub double: Option<Share>,
    /// This share leaves behind the next one of the same client.
    pub overtake: Option<Share>,
}

/// What became of the datagrams of one direction.
#[derive(Debug)]
pub struct DatagramPathTotals {
    /// Bytes that came and left, and how much later than due.
    pub path: PathTotals,
    /// Datagrams that came.
    pub received: u64,
    /// Lost as the plan demands.
    pub lost: u64,
    /// That left twice.
    pub doubled: u64,
    /// That another one really overtook.
    pub overtaken: u64,
    /// Lost because too many were under way.
    pub overflowed: u64,
}

/// The chances of one direction.
pub(super) struct Chances {
    plan: DatagramPathPlan,
    random: SplitMix64,
    /// When the line is free for the next datagram, where it has a rate.
    free_at: u64,
    /// When the one before leaves.
    last_due: u64,
    pub(super) totals: DatagramPathTotals,
}

/// What was drawn for a datagram that is not lost.
pub(super) struct Drawn {
    pub(super) twice: bool,
    pub(super) waits: bool,
    jitter_ns: u64,
}

impl Chances {
    pub(super) fn new(plan: DatagramPathPlan, seed: u64) -> Self {
        let totals = DatagramPathTotals {
            path: PathTotals::new(plan.path),
            received: 0,
            lost: 0,
            doubled: 0,
            overtaken: 0,
            overflowed: 0,
        };
        Self { plan, random: SplitMix64::new(seed), free_at: 0, last_due: 0, totals }
    }

    /// What becomes of a datagram of `bytes` that came; `None`: it is lost. Each takes as many draws
    /// as every other, so that one share does not change what another one chooses.
    pub(super) fn draw(&mut self, bytes: u64) -> Option<Drawn> {
        let mut chosen = |share: Option<Share>| {
            let drawn = self.random.uniform();
            share.is_some_and(|share| drawn < share.of_one())
        };
        let (lost, twice, waits) =
            (chosen(self.plan.lose), chosen(self.plan.double), chosen(self.plan.overtake));
        let jitter_ns = self.jitter();
        self.totals.received += 1;
        self.totals.path.received += bytes;
        if lost {
            self.totals.lost += 1;
            return None;
        }
        Some(Drawn { twice, waits, jitter_ns })
    }

    /// When a datagram of `bytes` that came at `now` leaves the line, which it takes up until then.
    pub(super) fn send_off(&mut self, drawn: &Drawn, bytes: u64, now: u64) -> u64 {
        let sent = match self.plan.path.rate {
            Some(rate) => {
                self.free_at = self.free_at.max(now) + rate.time_of(bytes);
                self.free_at
            }
            None => now,
        };
        self.last_due = (sent + self.plan.path.delay_ns + drawn.jitter_ns).max(self.last_due);
        self.last_due
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share of a time"
    )]
    fn jitter(&mut self) -> u64 {
        (self.random.uniform() * self.plan.path.jitter_ns as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_off(chances: &mut Chances, bytes: u64, now: u64) -> Option<(u64, bool, bool)> {
        let drawn = chances.draw(bytes)?;
        Some((chances.send_off(&drawn, bytes, now), drawn.twice, drawn.waits))
    }

    fn chances(seed: u64, lose: Option<&str>) -> Chances {
        let share = |text: &str| text.parse().unwrap();
        let plan = DatagramPathPlan {
            lose: lose.map(share),
            double: Some(share("20%")),
            overtake: Some(share("30%")),
            path: PathPlan { delay_ns: 50, jitter_ns: 1_000, rate: None },
        };
        Chances::new(plan, seed)
    }

    #[test]
    fn a_seed_repeats_what_becomes_of_each_and_shares_do_not_meddle() {
        let drawn = |seed, lose| {
            let mut chances = chances(seed, lose);
            let fates: Vec<_> = (0..1_000).map(|now| sent_off(&mut chances, 10, now)).collect();
            (fates, chances.totals)
        };
        let (fates, totals) = drawn(5, Some("10%"));
        assert_eq!(fates, drawn(5, Some("10%")).0);
        assert_ne!(fates, drawn(6, Some("10%")).0);
        assert_eq!((totals.received, totals.path.received), (1_000, 10_000));
        assert_eq!(totals.lost, fates.iter().filter(|fate| fate.is_none()).count() as u64);
        assert!((60..150).contains(&totals.lost), "{}", totals.lost);
        let whole = drawn(5, None).0;
        for (with, without) in fates.iter().zip(&whole) {
            let told =
                |fate: &Option<(u64, bool, bool)>| fate.map(|(_, twice, waits)| (twice, waits));
            assert!(with.is_none() || told(with) == told(without));
        }
    }

    #[test]
    fn jitter_keeps_the_order_and_nothing_leaves_early() {
        let mut chances = chances(1, None);
        let dues: Vec<u64> =
            (0..500).filter_map(|now| sent_off(&mut chances, 1, now * 10)).map(|it| it.0).collect();
        assert!(dues.is_sorted());
        assert!(dues.iter().zip(0..).all(|(due, now)| *due >= now * 10 + 50));
    }
}
