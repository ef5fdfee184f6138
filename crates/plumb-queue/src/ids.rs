//! Ids that rise, whatever the clock does.

use super::ExecutionId;

/// Bits below the milliseconds.
const COUNTER_BITS: u32 = 20;
/// The counter stays below it: with this bit set an id is of an execution that never was in a queue.
const COUNTER_FULL: u64 = 1 << (COUNTER_BITS - 1);
/// How far ahead of its clock a store writes down that ids may be in use, milliseconds: after a
/// crash the first ids may be so far ahead of the time.
const AHEAD_MS: u64 = 10_000;

/// Gives out ids: the time in milliseconds and a counter, each above all before.
#[derive(Debug)]
pub(super) struct Ids {
    last: u64,
    /// Written down: no id at or above it was given to a message on disk.
    horizon: u64,
}

impl Ids {
    /// Ids above all that were given out below `horizon`.
    pub(super) fn above(horizon: u64) -> Self {
        Self { last: horizon, horizon }
    }

    /// The next one.
    pub(super) fn next(&mut self, now_ms: u64) -> u64 {
        let next = self.last + 1;
        let full = next & COUNTER_FULL != 0; // the clock was set back, and much came in since
        let next = if full { ((next >> COUNTER_BITS) + 1) << COUNTER_BITS } else { next };
        self.last = next.max(now_ms << COUNTER_BITS);
        self.last
    }

    /// The horizon to be written down before `id` is used on disk; `None` while one is far enough.
    pub(super) fn horizon_for(&self, id: u64) -> Option<u64> {
        (id >= self.horizon).then(|| id + (AHEAD_MS << COUNTER_BITS))
    }

    /// `horizon` is on disk.
    pub(super) fn written(&mut self, horizon: u64) {
        self.horizon = self.horizon.max(horizon);
    }

    /// The last one given out.
    pub(super) fn last(&self) -> u64 {
        self.last
    }
}

impl ExecutionId {
    /// When it was accepted, milliseconds since 1970; up to ten seconds ahead after a crash, and
    /// ahead for longer where the clock was set back.
    #[must_use]
    pub fn accepted_ms(self) -> u64 {
        self.0 >> COUNTER_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_when_the_clock_steps_back() {
        let mut ids = Ids::above(0);
        let first = ids.next(1_000);
        assert_eq!(first, 1_000 << 20);
        assert_eq!(ids.next(1_000), first + 1);
        assert_eq!(ids.next(10), first + 2);
        assert_eq!(ids.next(1_001), 1_001 << 20);
        assert_eq!(ExecutionId(ids.last()).accepted_ms(), 1_001);
    }

    #[test]
    fn a_full_counter_goes_on_in_the_next_millisecond() {
        let mut ids = Ids::above((1_000 << 20) + COUNTER_FULL - 1);
        assert_eq!(ids.next(10), 1_001 << 20);
    }

    #[test]
    fn the_horizon_is_written_once_in_a_while_and_is_above_what_is_used() {
        let mut ids = Ids::above(5);
        let id = ids.next(1_000);
        let horizon = ids.horizon_for(id).unwrap();
        assert!(horizon > id);
        ids.written(horizon);
        let next = ids.next(1_001);
        assert_eq!(ids.horizon_for(next), None);
        assert_eq!(Ids::above(horizon).next(0), horizon + 1);
    }
}
