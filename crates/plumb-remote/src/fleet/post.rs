//! Where a controller hears its remotes, and the clocks that it goes by.

use std::fmt::Debug;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::Clock as _;

use crate::link::LinkEnded;
use crate::message::Report;

/// What comes of a remote: its number, and what it says.
pub type Heard = (usize, Result<Report, LinkEnded>);

/// Where a controller hears its remotes, and the clocks that it goes by: both are one thing where
/// time is simulated.
pub trait Post: Debug + Send {
    /// The next thing that any of them says; `None` when nobody said anything for `patience`.
    fn hear(&mut self, patience: Duration) -> Option<Heard>;

    /// The monotonic clock, nanoseconds.
    fn now_ns(&self) -> u64;

    /// The wall clock, nanoseconds since 1970-01-01T00:00:00Z.
    fn wall_ns(&self) -> u64;
}

/// Threads that read say what they hear; time is that of the machine.
impl Post for Receiver<Heard> {
    fn hear(&mut self, patience: Duration) -> Option<Heard> {
        self.recv_timeout(patience).ok()
    }

    fn now_ns(&self) -> u64 {
        MonotonicClock.now_ns()
    }

    fn wall_ns(&self) -> u64 {
        clock::wall_ns()
    }
}
