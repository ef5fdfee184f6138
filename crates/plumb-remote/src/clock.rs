//! The wall clock of a remote: that of its machine, or one that is made wrong to try what follows.

use std::num::ParseIntError;
use std::str::FromStr;

use plumb_engine::clock::{both_ns, wall_ns};

const BILLION: i128 = 1_000_000_000;

/// A wall clock that may be wrong: ahead by so much when it was made, and further by its drift.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WallClock {
    /// Nanoseconds; below 0 it is behind.
    ahead_ns: i64,
    /// Nanoseconds a second.
    drift_ppb: i64,
    /// When it was right but for `ahead_ns`, by the clock of the machine.
    since_ns: u64,
}

impl FromStr for WallClock {
    type Err = ParseIntError;

    /// `AHEAD_NS,DRIFT_PPB`
    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let (ahead, drift) = text.split_once(',').unwrap_or((text, "0"));
        Ok(Self { ahead_ns: ahead.parse()?, drift_ppb: drift.parse()?, since_ns: wall_ns() })
    }
}

impl WallClock {
    /// What it shows, nanoseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn now_ns(self) -> u64 {
        self.shown(wall_ns())
    }

    /// What it shows at a moment of the monotonic clock.
    pub(crate) fn of_monotonic(self, at_ns: u64) -> u64 {
        let (now_ns, wall_ns) = both_ns();
        self.shown(wall_ns.saturating_add(at_ns).saturating_sub(now_ns))
    }

    /// What the clock of the machine shows when this one shows `shown_ns`.
    pub(crate) fn of_machine(self, shown_ns: u64) -> u64 {
        let since = i128::from(self.since_ns);
        let passed = i128::from(shown_ns) - i128::from(self.ahead_ns) - since;
        bounded(since + passed * BILLION / (BILLION + i128::from(self.drift_ppb)).max(1))
    }

    fn shown(self, machine_ns: u64) -> u64 {
        let passed = i128::from(machine_ns) - i128::from(self.since_ns);
        let drift = passed * i128::from(self.drift_ppb) / BILLION;
        bounded(i128::from(machine_ns) + i128::from(self.ahead_ns) + drift)
    }
}

fn bounded(ns: i128) -> u64 {
    u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_clock_is_that_of_its_machine_unless_it_is_made_wrong() {
        let right = WallClock::default();
        assert_eq!((right.shown(7_000), right.of_machine(7_000)), (7_000, 7_000));
        let wrong = WallClock { ahead_ns: -50, drift_ppb: 100_000_000, since_ns: 1_000 };
        assert_eq!(wrong.shown(2_000), 2_050, "50 behind, and a tenth of 1000 on");
        assert_eq!(wrong.of_machine(2_050), 2_000);
        let read: WallClock = "-50,100".parse().unwrap();
        assert_eq!((read.ahead_ns, read.drift_ppb), (-50, 100));
        assert!("x".parse::<WallClock>().is_err());
    }

    proptest! {
        #[test]
        fn both_ways_agree(
            ahead_ns in -50_000_000_i64..50_000_000,
            drift_ppb in -100_000_i64..100_000,
            passed in 0_u64..1_000_000_000_000,
        ) {
            let since_ns = 1_700_000_000_000_000_000;
            let clock = WallClock { ahead_ns, drift_ppb, since_ns };
            let back = clock.of_machine(clock.shown(since_ns + passed));
            prop_assert!(back.abs_diff(since_ns + passed) <= 2);
        }
    }
}
