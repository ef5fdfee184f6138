//! The time of a queue.

use std::time::Duration;

use plumb_engine::clock::{MonotonicClock, wall_ns};
use plumb_measure::Clock as _;

/// The time of a queue: by the wall for what is on disk, monotonic for what is waited for.
pub trait QueueClock: Send + Sync + std::fmt::Debug {
    /// Milliseconds since 1970 by the wall clock, which may be set while we run.
    fn wall_ms(&self) -> u64;
    /// Nanoseconds of a clock that never goes back.
    fn now_ns(&self) -> u64;

    /// When `patience` is over, by the clock of [`now_ns`](Self::now_ns).
    fn deadline_ns(&self, patience: Duration) -> u64 {
        let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        self.now_ns().saturating_add(patience_ns)
    }
}

/// The clocks of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl QueueClock for SystemClock {
    fn wall_ms(&self) -> u64 {
        wall_ns() / 1_000_000
    }

    fn now_ns(&self) -> u64 {
        MonotonicClock.now_ns()
    }
}
