//! Time-outs, lazily: one entry a connection, looked at again when it fires, and one that an earlier
//! time overtook.

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
    /// Of the entries that an earlier one overtook the last one; 0: none. Whoever asks for a time by
    /// turns near and far, as a pause and a time-out, would leave an entry behind each time.
    overtaken: u64,
}

impl Default for Wake {
    fn default() -> Self {
        Self { at: u64::MAX, overtaken: 0 }
    }
}

impl Timers {
    /// Wakes connection `index` at `at` or before, unless it is woken earlier anyway.
    #[inline]
    pub fn ask(&mut self, wake: &mut Wake, index: usize, at: u64) {
        if at >= wake.at {
            return;
        }
        if wake.at < u64::MAX {
            wake.overtaken = wake.overtaken.max(wake.at);
        }
        wake.at = at;
        if wake.overtaken > 0 && wake.overtaken <= at {
            wake.at = std::mem::take(&mut wake.overtaken); // it stands already
        } else {
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

    /// True when the entry `at` is the one that was asked for last; the connection then waits for
    /// none. Entries that an earlier one overtook answer false.
    pub fn fired(&mut self, at: u64) -> bool {
        let current = self.at == at;
        if current {
            self.at = u64::MAX;
        } else if self.overtaken == at {
            self.overtaken = 0;
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
        assert_eq!(wake, Wake::default());
    }

    #[test]
    fn pauses_before_time_outs_leave_no_entries_behind() {
        let (mut timers, mut wake) = (Timers::default(), Wake::default());
        for now in (0..50_000).step_by(10) {
            timers.ask(&mut wake, 7, now + 60_000); // it is asked
            timers.ask(&mut wake, 7, now + 10); // and has answered: a pause
            assert_eq!(timers.pop(now + 10), Some((now + 10, 7)));
            assert!(wake.fired(now + 10));
            assert_eq!(timers.heap.len(), 1);
        }
        // the first time-out wakes whoever asks for a later one
        timers.ask(&mut wake, 7, 70_000);
        assert_eq!(timers.pop(60_000), Some((60_000, 7)));
        assert!(wake.fired(60_000) && timers.heap.is_empty());
        timers.ask(&mut wake, 7, 70_000);
        assert_eq!(timers.pop(70_000), Some((70_000, 7)));
        assert!(wake.fired(70_000));
    }
}
