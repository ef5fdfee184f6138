//! Until when somebody waits.

use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};

/// A moment of the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    at_ns: u64,
}

impl Deadline {
    pub(super) fn after(patience: Span) -> Self {
        Self { at_ns: MonotonicClock.now_ns().saturating_add(patience.ns()) }
    }

    /// How long until then; `None`: it has passed.
    pub(super) fn left(&self) -> Option<Duration> {
        let left = self.at_ns.checked_sub(MonotonicClock.now_ns())?;
        (left > 0).then(|| Duration::from_nanos(left))
    }

    /// The same in whole seconds, more rather than less, and 1 at least.
    pub(super) fn seconds_left(&self) -> u32 {
        let seconds = self.left().map_or(0, |left| left.as_secs());
        u32::try_from(seconds).unwrap_or(u32::MAX).saturating_add(1)
    }
}
