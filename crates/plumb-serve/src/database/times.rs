//! Where the time of a session goes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where the time in the calls of a session went, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseTimes {
    /// All of it.
    pub spent_ns: u64,
    /// Of it, on the way there and back: of each time that something was asked of a `PostgreSQL`
    /// what an empty message took. None of it is known of `SQLite`, which is in this process.
    pub way_ns: u64,
    /// Of it, logging on.
    pub log_on_ns: u64,
}

impl DatabaseTimes {
    /// What was spent since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            spent_ns: self.spent_ns.saturating_sub(earlier.spent_ns),
            way_ns: self.way_ns.saturating_sub(earlier.way_ns),
            log_on_ns: self.log_on_ns.saturating_sub(earlier.log_on_ns),
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            spent_ns: self.spent_ns + other.spent_ns,
            way_ns: self.way_ns + other.way_ns,
            log_on_ns: self.log_on_ns + other.log_on_ns,
        }
    }
}

/// What a session is doing, for others to see while it does. Times in nanoseconds.
#[derive(Debug, Default)]
pub struct Activity {
    spent_ns: AtomicU64,
    /// When the call under way began; 0 without one.
    began_ns: AtomicU64,
}

impl Activity {
    pub(super) fn begins(&self, now_ns: u64) {
        self.began_ns.store(now_ns, Ordering::Relaxed);
    }

    /// The call under way has ended, which took `ns`.
    pub(super) fn ended(&self, ns: u64) {
        self.began_ns.store(0, Ordering::Relaxed);
        self.spent_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Spent in calls that have ended.
    pub(super) fn before_ns(&self) -> u64 {
        self.spent_ns.load(Ordering::Relaxed)
    }

    /// Spent in calls up to `now_ns`, with that which is under way.
    #[must_use]
    pub fn spent_ns(&self, now_ns: u64) -> u64 {
        let began_ns = self.began_ns.load(Ordering::Relaxed);
        let under_way = if began_ns > 0 { now_ns.saturating_sub(began_ns) } else { 0 };
        self.spent_ns.load(Ordering::Relaxed) + under_way
    }

    /// How long the call under way has been waiting; `None` without one.
    #[must_use]
    pub fn waiting_ns(&self, now_ns: u64) -> Option<u64> {
        let began_ns = self.began_ns.load(Ordering::Relaxed);
        (began_ns > 0).then(|| now_ns.saturating_sub(began_ns))
    }
}
