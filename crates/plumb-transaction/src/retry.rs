//! When a message that failed is tried again.

use plumb_measure::Span;
use serde::Deserialize;

/// The longest time between two attempts.
const INTERVAL_MAX_NS: u64 = 24 * 3_600 * 1_000_000_000;
/// Attempts after the first, at most.
const TIMES_MAX: u32 = 1_000;
/// Factors above this reach [`INTERVAL_MAX_NS`] at once.
const FACTOR_MAX: u32 = 100;

/// How often, and after how long, a message that failed for a reason that may pass is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Retry {
    /// Attempts after the first.
    pub times: u32,
    /// From the end of the first attempt to the second.
    pub interval: Span,
    /// Each further interval is so many times the one before it, a day at most.
    pub factor: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self { times: 3, interval: Span::from_ms(30_000), factor: 1 }
    }
}

impl Retry {
    /// How long to wait after the attempt that was the `failures`-th to fail, from 1; `None` when it
    /// was the last.
    #[must_use]
    pub fn after(&self, failures: u32) -> Option<Span> {
        if failures > self.times {
            return None;
        }
        let growth = u64::from(self.factor).saturating_pow(failures.saturating_sub(1));
        let wait_ns = self.interval.ns().saturating_mul(growth);
        Some(Span::from_ns(wait_ns.min(INTERVAL_MAX_NS)))
    }

    /// What is wrong with it, and what to write.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        if self.times > TIMES_MAX {
            return Some(format!("times is {}: write a number from 0 to {TIMES_MAX}", self.times));
        }
        let factor = self.factor;
        (factor == 0 || factor > FACTOR_MAX)
            .then(|| format!("factor is {factor}: write a number from 1 to {FACTOR_MAX}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_grow_by_their_factor_up_to_a_day() {
        let retry = Retry { times: 40, interval: Span::from_ms(30_000), factor: 3 };
        let waits = |failures| retry.after(failures).map(|it| it.ns() / 1_000_000_000);
        assert_eq!(
            [waits(1), waits(2), waits(3), waits(40), waits(41)],
            [Some(30), Some(90), Some(270), Some(86_400), None]
        );
        let steady = Retry::default();
        assert_eq!(steady.after(1), steady.after(3));
        assert_eq!((steady.after(4), Retry { times: 0, ..steady }.after(1)), (None, None));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert_eq!(Retry::default().problem(), None);
        assert!(Retry { factor: 0, ..Retry::default() }.problem().unwrap().contains("from 1"));
        assert!(Retry { times: 1_001, ..Retry::default() }.problem().unwrap().contains("1000"));
    }
}
