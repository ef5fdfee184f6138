//! The thread of a load while it waits: how often it slept is counted, and the tick is held where that is asked.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use plumb_engine::HeldTick;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Tick};

/// A sleep that is longer found nothing to do.
const MOMENT_NS: u64 = 2_000;

/// How often the runtime slept, and how often for more than a moment.
#[derive(Debug, Default)]
pub(crate) struct Passes {
    pub(crate) all: AtomicU64,
    pub(crate) idle: AtomicU64,
}

/// The waits of one thread.
#[derive(Debug)]
pub(crate) struct Rest {
    passes: Arc<Passes>,
    tick: Option<Mutex<HeldTick>>,
    since_ns: AtomicU64,
}

impl Rest {
    /// Of a thread whose waits `passes` count, and that does what `tick` says in them.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub(crate) fn new(passes: &Arc<Passes>, tick: Tick) -> io::Result<Arc<Self>> {
        let tick = HeldTick::of(tick)?.map(Mutex::new);
        Ok(Arc::new(Self { passes: Arc::clone(passes), tick, since_ns: AtomicU64::new(0) }))
    }

    /// The thread is about to wait.
    pub(crate) fn begins(&self) {
        let now = MonotonicClock.now_ns();
        self.since_ns.store(now, Ordering::Relaxed);
        if let Some(Ok(mut tick)) = self.tick.as_ref().map(Mutex::lock) {
            tick.hold(now);
        }
    }

    /// It goes on.
    pub(crate) fn ends(&self) {
        let slept_ns = MonotonicClock.now_ns() - self.since_ns.load(Ordering::Relaxed);
        self.passes.all.fetch_add(1, Ordering::Relaxed);
        self.passes.idle.fetch_add(u64::from(slept_ns > MOMENT_NS), Ordering::Relaxed);
    }
}
