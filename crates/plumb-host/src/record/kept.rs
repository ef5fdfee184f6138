//! The last samples of a recording, from which any window of it is summed up.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sample::Sample;
use crate::usage::Usage;

/// Samples that are kept: an hour of seconds, six minutes of tenths. Memory is bounded by them.
const KEPT_MAX: usize = 3_600;

/// The last 3,600 samples.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    samples: VecDeque<Sample>,
}

impl Kept {
    /// Keeps one more, and forgets the oldest when there are enough.
    pub(crate) fn push(&mut self, sample: Sample) {
        if self.samples.len() >= KEPT_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// The last one.
    pub(crate) fn latest(&self) -> Option<&Sample> {
        self.samples.back()
    }

    /// What happened from `from_ns` to `to_ns` on the monotonic clock: the samples whose greater
    /// part lies within.
    pub(crate) fn window(&self, from_ns: u64, to_ns: u64) -> Usage {
        let within = |sample: &&Sample| {
            let middle_ns = sample.monotonic_ns.saturating_sub(sample.interval_ns / 2);
            (from_ns..=to_ns).contains(&middle_ns)
        };
        Usage::of(self.samples.iter().filter(within))
    }
}

/// What is kept stays good when another thread panicked while it looked at it.
pub(crate) fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_and_a_window_takes_what_lies_within() {
        let mut kept = Kept::default();
        for end in 1..=KEPT_MAX as u64 + 10 {
            let (monotonic_ns, interval_ns) = (end * 100, 100);
            kept.push(Sample { monotonic_ns, interval_ns, ..Sample::default() });
        }
        assert_eq!(kept.window(0, u64::MAX).samples, KEPT_MAX as u64);
        assert_eq!(kept.window(2_000, 2_300).samples, 3);
        assert_eq!(kept.latest().unwrap().monotonic_ns, 361_000);
    }
}
