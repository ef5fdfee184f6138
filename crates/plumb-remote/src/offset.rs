//! How far two wall clocks are apart.
//!
//! # Source
//! D. L. Mills, "Internet time synchronization: the Network Time Protocol", IEEE Trans. Commun. 39
//! (1991): of several exchanges the one with the shortest round trip tells most.

use serde::{Deserialize, Serialize};

/// One question for the other clock, nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockExchange {
    /// When it was asked, by the clock here.
    pub sent_ns: u64,
    /// What the clock there showed.
    pub there_ns: u64,
    /// When the answer came, by the clock here.
    pub received_ns: u64,
}

/// How far the clock of a remote is ahead of the controller's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Nanoseconds; below 0 it is behind.
    pub ahead_ns: i64,
    /// The offset is at most so far off, nanoseconds: half the round trip.
    pub uncertainty_ns: u64,
}

impl ClockOffset {
    /// The offset that the quickest of `exchanges` tells; `None` of none.
    pub fn of(exchanges: impl IntoIterator<Item = ClockExchange>) -> Option<Self> {
        let round_trip = |it: &ClockExchange| it.received_ns.saturating_sub(it.sent_ns);
        let quickest = exchanges.into_iter().min_by_key(round_trip)?;
        let half_ns = round_trip(&quickest) / 2;
        let here_ns = quickest.sent_ns.saturating_add(half_ns);
        let ahead_ns = i128::from(quickest.there_ns) - i128::from(here_ns);
        let ahead_ns =
            i64::try_from(ahead_ns).unwrap_or(if ahead_ns < 0 { i64::MIN } else { i64::MAX });
        Some(Self { ahead_ns, uncertainty_ns: half_ns.max(1) })
    }

    /// What the remote's clock shows when the one here shows `here_ns`.
    #[must_use]
    pub fn there(self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.ahead_ns)
    }

    /// What the clock here shows when the remote's shows `there_ns`.
    #[must_use]
    pub fn here(self, there_ns: u64) -> u64 {
        there_ns.saturating_add_signed(self.ahead_ns.saturating_neg())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_quickest_exchange_tells() {
        let slow = ClockExchange { sent_ns: 1_000, there_ns: 9_000, received_ns: 5_000 };
        let quick = ClockExchange { sent_ns: 6_000, there_ns: 10_100, received_ns: 6_200 };
        let offset = ClockOffset::of([slow, quick]).unwrap();
        assert_eq!(offset, ClockOffset { ahead_ns: 4_000, uncertainty_ns: 100 });
        assert_eq!((offset.there(7_000), offset.here(11_000)), (11_000, 7_000));
        assert_eq!(ClockOffset::of([]), None);
    }

    proptest! {
        /// Whatever the two ways take, the true offset lies within the uncertainty.
        #[test]
        fn the_true_offset_lies_within_its_uncertainty(
            ahead in -50_000_000_i64..50_000_000,
            ways in prop::collection::vec((0_u64..3_000_000, 0_u64..3_000_000), 1..20),
        ) {
            let base = 1_700_000_000_000_000_000_u64;
            let exchanges = ways.iter().map(|(there, back)| ClockExchange {
                sent_ns: base,
                there_ns: (base + there).saturating_add_signed(ahead),
                received_ns: base + there + back,
            });
            let offset = ClockOffset::of(exchanges).unwrap();
            prop_assert!(offset.ahead_ns.abs_diff(ahead) <= offset.uncertainty_ns);
        }
    }
}
