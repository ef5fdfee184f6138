//! The queue from outside, and what of it is left when the machine or the disk fails.

mod behaviour;
mod damage;
mod full_disk;
mod hook;
mod killed;
mod lost_writes;
mod model;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plumb_measure::Span;

use super::super::testing::{
    HeldClock, accept, again, bodies, claim, dead, flush, kept, keyed, message, not_tried,
    retries_meet_the_limit, settle,
};
use super::super::{Ending, Filter, Message, Queue, QueueClock, QueueError, QueueLimits, Settled};
use super::{OpenError, SqliteQueue};

pub(super) use self::hook::Hook;

/// Limits under which a test needs little room on the disk.
fn limits() -> QueueLimits {
    QueueLimits { log_bytes: 256 << 10, reserve_bytes: 1 << 20, ..QueueLimits::default() }
}

fn open(folder: &Path, clock: &Arc<HeldClock>) -> SqliteQueue {
    // a test that starts a program has all descriptors of this process for the moment between fork and
    // exec, the lock of a queue that was just dropped among them
    for _ in 0..100_000 {
        match SqliteQueue::open(folder, limits(), clock.clone()) {
            Err(OpenError::InUse { .. }) => std::thread::yield_now(),
            opened => return opened.unwrap(),
        }
    }
    unreachable!("somebody else has the queue open")
}
