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
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plumb_measure::Span;

use super::super::{
    Accepted, Claimed, Ending, ExecutionId, Filter, Kept, Message, Queue, QueueClock, QueueError,
    QueueLimits, Settled,
};
use super::SqliteQueue;

pub(super) use self::hook::Hook;

/// 2026-01-01, about.
const BEGIN_MS: u64 = 1_767_225_600_000;

/// A clock that a test moves, in both directions.
#[derive(Debug)]
struct HeldClock {
    wall_ms: AtomicU64,
    now_ns: AtomicU64,
}

impl HeldClock {
    fn new() -> Arc<Self> {
        Arc::new(Self { wall_ms: AtomicU64::new(BEGIN_MS), now_ns: AtomicU64::new(1) })
    }

    fn pass(&self, ms: u64) {
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
        self.now_ns.fetch_add(ms * 1_000_000, Ordering::SeqCst);
    }

    fn set_back(&self, ms: u64) {
        self.wall_ms.fetch_sub(ms, Ordering::SeqCst);
    }
}

impl QueueClock for HeldClock {
    fn wall_ms(&self) -> u64 {
        self.wall_ms.load(Ordering::SeqCst)
    }

    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::SeqCst)
    }
}

/// Limits under which a test needs little room on the disk.
fn limits() -> QueueLimits {
    QueueLimits { log_bytes: 256 << 10, reserve_bytes: 1 << 20, ..QueueLimits::default() }
}

fn open(folder: &Path, clock: &Arc<HeldClock>) -> SqliteQueue {
    SqliteQueue::open(folder, limits(), clock.clone()).unwrap()
}

fn message(transaction: &str, body: &str) -> Message {
    Message {
        transaction: transaction.into(),
        parameters: vec![("plant".into(), "1000".into())],
        media_type: "application/xml".into(),
        body: body.to_owned().into(),
        order_key: None,
        idempotency_key: None,
    }
}

fn keyed(transaction: &str, body: &str, order_key: &str) -> Message {
    Message { order_key: Some(order_key.into()), ..message(transaction, body) }
}

fn accept(queue: &SqliteQueue, message: Message) -> Result<Accepted, QueueError> {
    queue.accept(message).blocking_recv().unwrap()
}

fn claim(queue: &SqliteQueue, most: usize) -> Vec<Claimed> {
    queue.claim(most, Duration::ZERO).unwrap()
}

fn bodies(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|claimed| std::str::from_utf8(&claimed.message.body).unwrap()).collect()
}

/// Settles one message and waits until that is on disk.
fn settle(queue: &SqliteQueue, id: ExecutionId, ending: Ending) {
    queue.settle(vec![Settled { id, ending, kept: None }]).unwrap();
    flush(queue);
}

/// Returns when all that was handed over is on disk.
fn flush(queue: &SqliteQueue) {
    queue.forget(&Filter { most: 0, ..Filter::default() }).unwrap();
}

fn again(after_ms: u64) -> Ending {
    Ending::Again { error: "the back end is gone".into(), after: Span::from_ms(after_ms) }
}

fn dead() -> Ending {
    Ending::Dead { error: "refused".into() }
}

fn kept(trace: &str, ms: u64) -> Option<Kept> {
    Some(Kept { trace: trace.into(), retention: Span::from_ms(ms) })
}
