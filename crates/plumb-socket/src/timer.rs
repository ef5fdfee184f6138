//! Time-outs, lazily: one entry a connection, looked at again when it fires.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A queue of wake-up times. An entry is never moved or removed: whoever is woken looks whether
/// there is anything to do and asks for the next wake-up, so that a deadline that moves with every
/// request costs nothing.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, usize)>>,
}

/// The wake-up a connection has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    at: u64, // u64::MAX while nothing is asked for
}

impl Default for Wake {
    fn default() -> Self {
        Self { at: u64::MAX }
    }
}

impl Timers {
    /// Wakes connection `index` at `at` or before, unless it is woken earlier anyway.
    #[inline]
    pub fn ask(&mut self, wake: &mut Wake, index: usize, at: u64) {
        if at < wake.at {
            wake.at = at;
            self.heap.push(Reverse((at, index)));
        }
    }

    /// The next wake-up time.
    #[must_use]
    #[inline]
    pub fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next connection to wake at `now`. Its [`Wake`] must be reset by [`Wake::fired`].
    #[inline]
    pub fn pop(&mut self, now: u64) -> Option<(u64, usize)> {
        let Reverse((at, index)) = *self.heap.peek()?;
        (at <= now).then(|| {
            self.heap.pop();
            (at, index)
        })
    }
}

impl Wake {
    /// True when it comes at `at` or before.
    #[must_use]
    #[inline]
    pub fn comes_by(&self, at: u64) -> bool {
        self.at <= at
    }

    /// True when the entry `at` is the one that was asked for last; the connection then has no
    /// entry left. Entries that an earlier one overtook answer false.
    pub fn fired(&mut self, at: u64) -> bool {
        let current = self.at == at;
        if current {
            self.at = u64::MAX;
        }
        current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_deadline_adds_no_entry() {
        let (mut timers, mut wake) = (Timers::default(), Wake::default());
        timers.ask(&mut wake, 0, 100);
        (200..300).for_each(|at| timers.ask(&mut wake, 0, at));
        assert_eq!(timers.heap.len(), 1);
        assert_eq!(timers.next(), Some(100));
    }

    #[test]
    fn an_earlier_deadline_overtakes_and_the_old_entry_is_stale() {
        let (mut timers, mut wake) = (Timers::default(), Wake::default());
        timers.ask(&mut wake, 7, 100);
        timers.ask(&mut wake, 7, 50);
        assert_eq!(timers.pop(49), None);
        assert_eq!(timers.pop(60), Some((50, 7)));
        assert!(wake.fired(50));
        assert_eq!(timers.pop(100), Some((100, 7)));
        assert!(!wake.fired(100));
    }
}
