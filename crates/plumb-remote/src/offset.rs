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

impl ClockExchange {
    /// What it alone tells of the moment at which the clock here shows `at_ns`.
    fn offset(self, at_ns: u64) -> ClockOffset {
        let half_ns = self.received_ns.saturating_sub(self.sent_ns) / 2;
        let here_ns = self.sent_ns.saturating_add(half_ns);
        let ahead_ns = i128::from(self.there_ns) - i128::from(here_ns);
        let ahead_ns =
            i64::try_from(ahead_ns).unwrap_or(if ahead_ns < 0 { i64::MIN } else { i64::MAX });
        let age_ns = at_ns.abs_diff(self.received_ns).max(at_ns.abs_diff(self.sent_ns));
        let drift_ns = age_ns.div_ceil(1_000_000).saturating_mul(DRIFT_NS_A_MS);
        let uncertainty_ns = half_ns.saturating_add(drift_ns).saturating_add(ROUNDING_NS);
        ClockOffset { ahead_ns, uncertainty_ns }
    }
}

/// How much two clocks drift apart at most, nanoseconds a millisecond: each runs at most 100 parts
/// in a million too fast or too slow, as the crystals of computers do.
const DRIFT_NS_A_MS: u64 = 200;
/// What rounding may add: each moment is a whole number of nanoseconds, and so is half of two.
const ROUNDING_NS: u64 = 2;

/// How far the clock of a remote is ahead of the controller's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Nanoseconds; below 0 it is behind.
    pub ahead_ns: i64,
    /// The offset is at most so far off, nanoseconds: half the round trip, and how far the clocks
    /// can have drifted apart since.
    pub uncertainty_ns: u64,
}

impl ClockOffset {
    /// The offset when the clock here shows `at_ns`, as the one of `exchanges` tells that leaves
    /// least open: the quickest, unless it is old. `None` of none.
    pub fn of(exchanges: impl IntoIterator<Item = ClockExchange>, at_ns: u64) -> Option<Self> {
        let told = |it: ClockExchange| it.offset(at_ns);
        exchanges.into_iter().map(told).min_by_key(|offset| offset.uncertainty_ns)
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
        let offset = ClockOffset::of([slow, quick], 6_200).unwrap();
        assert_eq!(offset, ClockOffset { ahead_ns: 4_000, uncertainty_ns: 100 + 200 + 2 });
        assert_eq!((offset.there(7_000), offset.here(11_000)), (11_000, 7_000));
        assert_eq!(ClockOffset::of([], 0), None);
    }

    #[test]
    fn an_old_exchange_tells_less_than_a_new_one() {
        let second = 1_000_000_000;
        let old = ClockExchange { sent_ns: 0, there_ns: 7, received_ns: 10 };
        let new = ClockExchange {
            sent_ns: 60 * second,
            there_ns: 60 * second + 200_000,
            received_ns: 60 * second + 400_000,
        };
        let offset = ClockOffset::of([old, new], 60 * second + 400_000).unwrap();
        assert_eq!(offset, ClockOffset { ahead_ns: 0, uncertainty_ns: 200_000 + 200 + 2 });
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
            let offset = ClockOffset::of(exchanges, base).unwrap();
            prop_assert!(offset.ahead_ns.abs_diff(ahead) <= offset.uncertainty_ns);
        }
    }
}
