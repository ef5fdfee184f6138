//! What tests of every store need.

mod server;

use std::fmt::Display;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use plumb_measure::Span;

use super::{
    Accepted, Claimed, Ending, ExecutionId, Filter, Kept, Message, Queue, QueueClock, QueueError,
    Settled,
};

pub(super) use self::server::ServerProcess;

/// Says that something is not tried, and why, where whoever runs the tests sees it: what is printed by a
/// test that passes is kept from them.
pub(super) fn not_tried(reason: impl Display) {
    let thread = thread::current();
    let line = format!("not tried: {}: {reason}\n", thread.name().unwrap_or("a test"));
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// 2026-01-01, about.
pub(super) const BEGIN_MS: u64 = 1_767_225_600_000;

/// A clock that a test moves, in both directions.
#[derive(Debug)]
pub(super) struct HeldClock {
    pub(super) wall_ms: AtomicU64,
    pub(super) now_ns: AtomicU64,
}

impl HeldClock {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { wall_ms: AtomicU64::new(BEGIN_MS), now_ns: AtomicU64::new(1) })
    }

    pub(super) fn pass(&self, ms: u64) {
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
        self.now_ns.fetch_add(ms * 1_000_000, Ordering::SeqCst);
    }

    pub(super) fn set_back(&self, ms: u64) {
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

pub(super) fn message(transaction: &str, body: &str) -> Message {
    Message {
        transaction: transaction.into(),
        parameters: vec![("plant".into(), "1000".into())],
        media_type: "application/xml".into(),
        body: body.to_owned().into(),
        order_key: None,
        idempotency_key: None,
    }
}

pub(super) fn keyed(transaction: &str, body: &str, order_key: &str) -> Message {
    Message { order_key: Some(order_key.into()), ..message(transaction, body) }
}

pub(super) fn accept(queue: &dyn Queue, message: Message) -> Result<Accepted, QueueError> {
    queue.accept(message).blocking_recv().unwrap()
}

pub(super) fn claim(queue: &dyn Queue, most: usize) -> Vec<Claimed> {
    queue.claim(most, Duration::ZERO).unwrap()
}

pub(super) fn bodies(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|claimed| std::str::from_utf8(&claimed.message.body).unwrap()).collect()
}

/// Settles one message and waits until that is on disk.
pub(super) fn settle(queue: &dyn Queue, id: ExecutionId, ending: Ending) {
    queue.settle(vec![Settled { id, ending, kept: None }]).unwrap();
    flush(queue);
}

/// Returns when all that was handed over is on disk.
pub(super) fn flush(queue: &dyn Queue) {
    queue.forget(&Filter { most: 0, ..Filter::default() }).unwrap();
}

pub(super) fn again(after_ms: u64) -> Ending {
    Ending::Again { error: "the back end is gone".into(), after: Span::from_ms(after_ms) }
}

pub(super) fn dead() -> Ending {
    Ending::Dead { error: "refused".into() }
}

pub(super) fn kept(trace: &str, ms: u64) -> Option<Kept> {
    Some(Kept { trace: trace.into(), retention: Span::from_ms(ms) })
}

/// What is to be done again meets the limit of a `queue` of two messages: how far it came, and why the
/// others are not, is told.
pub(super) fn retries_meet_the_limit(queue: &dyn Queue) {
    let all = Filter { most: 10, ..Filter::default() };
    for body in ["1", "2"] {
        accept(queue, message("orders", body)).unwrap();
        settle(queue, claim(queue, 1)[0].id, dead());
    }
    accept(queue, message("orders", "3")).unwrap();
    let part = queue.retry(&all).unwrap_err();
    assert!(matches!(part, QueueError::FullBehind { retried: 1, waiting: 2, .. }), "{part}");
    let none = queue.retry(&all).unwrap_err();
    assert!(matches!(none, QueueError::Full { waiting: 2, .. }), "{none}");
    settle(queue, claim(queue, 1)[0].id, Ending::Done);
    assert_eq!(queue.retry(&all), Ok(1));
    assert_eq!(queue.retry(&all), Ok(0), "it is full, and nothing is meant");
}
