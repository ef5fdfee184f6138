//! How much of a pool is in use, was, and may be.

use std::sync::atomic::{AtomicU64, Ordering};

use plumb_serve::Gauge;
use serde::{Deserialize, Serialize};

/// The gauge of a pool.
#[derive(Debug)]
pub(crate) struct Pool {
    limit: u64,
    busy: Gauge,
    waited: AtomicU64,
    waited_ns: AtomicU64,
    refused: AtomicU64,
}

/// What a pool has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct PoolFigures {
    /// In use.
    pub(crate) now: u64,
    /// The most that were in use.
    pub(crate) max: u64,
    /// That may be in use.
    pub(crate) limit: u64,
    /// Times that somebody had to wait.
    pub(crate) waited: u64,
    /// How long, in all.
    pub(crate) waited_ns: u64,
    /// Times that somebody was sent away.
    pub(crate) refused: u64,
}

impl PoolFigures {
    /// Those of another node, too. No more than the sum of `max` were in use at a time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.now += other.now;
        self.max += other.max;
        self.limit += other.limit;
        self.waited += other.waited;
        self.waited_ns += other.waited_ns;
        self.refused += other.refused;
    }
}

/// A place that is in use until it is dropped.
#[derive(Debug)]
pub(crate) struct Busy<'a>(&'a Pool);

impl Pool {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit: limit as u64,
            busy: Gauge::default(),
            waited: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// One place is in use from now on.
    pub(crate) fn enter(&self) -> Busy<'_> {
        self.busy.enter(u64::MAX);
        Busy(self)
    }

    /// True when all places are in use.
    pub(crate) fn is_full(&self) -> bool {
        self.busy.now() >= self.limit
    }

    /// Somebody waited so long.
    pub(crate) fn waited(&self, ns: u64) {
        self.waited.fetch_add(1, Ordering::Relaxed);
        self.waited_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Somebody was sent away.
    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn figures(&self) -> PoolFigures {
        PoolFigures {
            now: self.busy.now(),
            max: self.busy.max(),
            limit: self.limit,
            waited: self.waited.load(Ordering::Relaxed),
            waited_ns: self.waited_ns.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_counts_who_is_in_it_waited_and_was_sent_away() {
        let pool = Pool::new(4);
        let first = pool.enter();
        drop(pool.enter());
        pool.waited(7);
        pool.refused();
        let seen = pool.figures();
        assert_eq!((seen.now, seen.max, seen.limit), (1, 2, 4));
        assert_eq!((seen.waited, seen.waited_ns, seen.refused), (1, 7, 1));
        drop(first);
        assert_eq!(pool.figures().now, 0);
    }
}
