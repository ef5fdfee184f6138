//! How fast executions end, of late.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// What was done longer ago than this says nothing of now.
const LATELY_S: u64 = 30;
const S_NS: u64 = 1_000_000_000;

/// Executions that ended of late, by the second.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<VecDeque<(u64, u64)>>);

impl Pace {
    /// So many have ended at `now_ns` of the monotonic clock.
    pub(super) fn ended(&self, count: u64, now_ns: u64) {
        if count == 0 {
            return;
        }
        let second = now_ns / S_NS;
        let mut seconds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seconds.back_mut() {
            Some((last, ended)) if *last >= second => *ended += count,
            _ => seconds.push_back((second, count)),
        }
        forget(&mut seconds, second);
    }

    /// How long `count` more take, in whole seconds, more rather than less; `None` when none has
    /// ended in the last 30 seconds, so that it is not known.
    pub(crate) fn time_for(&self, count: u64, now_ns: u64) -> Option<u64> {
        let second = now_ns / S_NS;
        let mut seconds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forget(&mut seconds, second);
        let (first, _) = seconds.front()?;
        // from the first that is known, so that a pause before it does not count
        let time = (second - first.min(&second)).max(1);
        let ended: u64 = seconds.iter().map(|(_, ended)| ended).sum();
        Some(count.saturating_mul(time).div_ceil(ended))
    }
}

fn forget(seconds: &mut VecDeque<(u64, u64)>, now: u64) {
    while seconds.front().is_some_and(|(second, _)| second + LATELY_S < now) {
        seconds.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_the_last_half_minute() {
        let pace = Pace::default();
        assert_eq!(pace.time_for(10, 0), None);
        // a hundred a second for ten seconds
        (0..10).for_each(|second| pace.ended(100, second * S_NS));
        assert_eq!(pace.time_for(1_000, 10 * S_NS), Some(10));
        assert_eq!((pace.time_for(1, 10 * S_NS), pace.time_for(0, 10 * S_NS)), (Some(1), Some(0)));
        // it stands: longer and longer, and then it is not known
        assert_eq!(pace.time_for(1_000, 20 * S_NS), Some(20));
        assert_eq!(pace.time_for(1_000, 39 * S_NS), Some(300));
        assert_eq!(pace.time_for(1_000, 40 * S_NS), None);
        // it goes on, and the pause is no part of its pace
        pace.ended(50, 100 * S_NS);
        assert_eq!(pace.time_for(100, 101 * S_NS), Some(2));
        // a clock that seems to go back breaks nothing
        pace.ended(50, 99 * S_NS);
        assert_eq!(pace.time_for(100, 98 * S_NS), Some(1));
    }
}
