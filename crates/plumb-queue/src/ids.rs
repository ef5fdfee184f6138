//! Ids that rise, whatever the clock does, and the ids of queues.

use std::hash::{BuildHasher as _, RandomState};

use super::{ExecutionId, QueueId};

/// Bits below the milliseconds: the topmost is set in the id of an execution that never was in a
/// queue, then come six of the node, then a counter. Where there are no nodes the counter has the bits
/// of the node, too.
const LOW_BITS: u32 = 20;
const NODE_SHIFT: u32 = 13;
const NODE_BITS: u32 = 6;
/// How far ahead of its clock a store writes down that ids may be in use, milliseconds: after a
/// crash the first ids may be so far ahead of the time.
const AHEAD_MS: u64 = 10_000;

/// Gives out ids: the time in milliseconds, the node and a counter, each above all before.
#[derive(Debug)]
pub(super) struct Ids {
    last: u64,
    /// Where the node stands in an id.
    node: u64,
    /// The largest value of the counter.
    counter_max: u64,
    /// Written down: no id at or above it was given to a message on disk.
    horizon: u64,
}

impl Ids {
    /// Ids above all that were given out below `horizon`; 0 is the `node` of a runtime without
    /// nodes.
    pub(super) fn above(horizon: u64, node: u16) -> Self {
        let node = u64::from(node) & ((1 << NODE_BITS) - 1);
        let bits = if node == 0 { LOW_BITS - 1 } else { NODE_SHIFT };
        let counter_max = (1 << bits) - 1;
        Self { last: horizon, node: node << NODE_SHIFT, counter_max, horizon }
    }

    /// The next one.
    pub(super) fn next(&mut self, now_ms: u64) -> u64 {
        let full = self.last & self.counter_max == self.counter_max;
        // the clock was set back, and much came in since; or much came in within a millisecond
        let next = if full { self.first((self.last >> LOW_BITS) + 1) } else { self.last + 1 };
        self.last = next.max(self.first(now_ms));
        self.last
    }

    fn first(&self, ms: u64) -> u64 {
        ms << LOW_BITS | self.node
    }

    /// The horizon to be written down before `id` is used on disk; `None` while one is far enough.
    pub(super) fn horizon_for(&self, id: u64) -> Option<u64> {
        (id >= self.horizon).then(|| id + (AHEAD_MS << LOW_BITS))
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

impl QueueId {
    /// One of a new queue, by chance.
    pub(super) fn new() -> Self {
        Self((RandomState::new().hash_one(0) >> 1).cast_signed())
    }
}

impl ExecutionId {
    /// When it was accepted, milliseconds since 1970; up to ten seconds ahead after a crash, and
    /// ahead for longer where the clock was set back.
    #[must_use]
    pub fn accepted_ms(self) -> u64 {
        self.0 >> LOW_BITS
    }

    /// The node that gave it out, where the runtime has nodes.
    #[must_use]
    pub fn node(self) -> u16 {
        u16::try_from(self.0 >> NODE_SHIFT & ((1 << NODE_BITS) - 1)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_when_the_clock_steps_back() {
        let mut ids = Ids::above(0, 0);
        let first = ids.next(1_000);
        assert_eq!(first, 1_000 << 20);
        assert_eq!(ids.next(1_000), first + 1);
        assert_eq!(ids.next(10), first + 2);
        assert_eq!(ids.next(1_001), 1_001 << 20);
        assert_eq!(ExecutionId(ids.last()).accepted_ms(), 1_001);
    }

    #[test]
    fn a_full_counter_goes_on_in_the_next_millisecond() {
        let mut ids = Ids::above((1_000 << 20) + (1 << 19) - 1, 0);
        assert_eq!(ids.next(10), 1_001 << 20);
    }

    #[test]
    fn every_id_of_a_node_names_it_and_rises() {
        let mut ids = Ids::above((7 << 20 | 5 << 13) + 1, 5);
        let mut before = 0;
        for count in 0..20_000 {
            let id = ids.next(7);
            assert!(id > before);
            assert_eq!((ExecutionId(id).node(), id & 1 << 19), (5, 0), "{count}");
            before = id;
        }
        assert_eq!(ExecutionId(before).accepted_ms(), 9);
    }

    #[test]
    fn the_horizon_is_written_once_in_a_while_and_is_above_what_is_used() {
        let mut ids = Ids::above(5, 0);
        let id = ids.next(1_000);
        let horizon = ids.horizon_for(id).unwrap();
        assert!(horizon > id);
        ids.written(horizon);
        let next = ids.next(1_001);
        assert_eq!(ids.horizon_for(next), None);
        assert_eq!(Ids::above(horizon, 0).next(0), horizon + 1);
    }
}
