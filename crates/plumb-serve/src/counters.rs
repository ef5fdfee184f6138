//! What the front has seen.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// How many there are, and the most there were.
#[derive(Debug, Default)]
pub struct Gauge {
    now: AtomicU64,
    max: AtomicU64,
}

impl Gauge {
    /// One more, unless there are `limit` already.
    pub fn enter(&self, limit: u64) -> bool {
        let before = self.now.fetch_add(1, Ordering::Relaxed);
        if before >= limit {
            self.leave();
            return false;
        }
        self.max.fetch_max(before + 1, Ordering::Relaxed);
        true
    }

    /// One less.
    pub fn leave(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many there are.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// The most there were.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max.load(Ordering::Relaxed)
    }
}

/// Counters of the front, since it began.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections that are open.
    pub connections: Gauge,
    /// Requests that wait for a place.
    pub waiting: Gauge,
    accepted: AtomicU64,
    refused: AtomicU64,
    not_allowed: AtomicU64,
    requests: AtomicU64,
    turned_away: AtomicU64,
    malformed: AtomicU64,
    oversized: AtomicU64,
    slow: AtomicU64,
    idle: AtomicU64,
}

macro_rules! counting {
    ($($name:ident: $doc:literal),+ $(,)?) => {
        impl Counters {
            $(#[doc = $doc] pub fn $name(&self) {
                self.$name.fetch_add(1, Ordering::Relaxed);
            })+
        }
    };
}
counting! {
    accepted: "A connection was taken.",
    refused: "A connection was refused because of the limit.",
    not_allowed: "A connection came from an address that is not allowed.",
    requests: "A request has begun.",
    turned_away: "A request was refused because as many waited as may.",
    malformed: "A connection sent what is no HTTP.",
    oversized: "A head or a body was larger than it may be.",
    idle: "A connection was closed because nothing came for too long.",
    slow: "A head or a body did not arrive in time.",
}

/// What the front has seen, as an administrator reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConnectionFigures {
    /// Connections that may be open.
    pub limit: u64,
    /// Connections that are open.
    pub open: u64,
    /// The most that were open.
    pub open_max: u64,
    /// Connections taken.
    pub accepted: u64,
    /// Connections refused because of the limit.
    pub refused: u64,
    /// Connections from addresses that are not allowed.
    pub not_allowed: u64,
    /// Requests begun.
    pub requests: u64,
    /// Requests that wait for others to be done.
    pub waiting: u64,
    /// The most that waited.
    pub waiting_max: u64,
    /// Requests refused because as many waited as may.
    pub turned_away: u64,
    /// Connections that sent what is no HTTP.
    pub malformed: u64,
    /// Heads and bodies larger than they may be.
    pub oversized: u64,
    /// Heads and bodies that did not arrive in time.
    pub slow: u64,
    /// Connections closed because nothing came for too long.
    pub idle: u64,
}

impl Counters {
    /// All of them, with the limit of connections.
    #[must_use]
    pub fn figures(&self, limit: usize) -> ConnectionFigures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ConnectionFigures {
            limit: limit as u64,
            open: self.connections.now(),
            open_max: self.connections.max(),
            accepted: read(&self.accepted),
            refused: read(&self.refused),
            not_allowed: read(&self.not_allowed),
            requests: read(&self.requests),
            waiting: self.waiting.now(),
            waiting_max: self.waiting.max(),
            turned_away: read(&self.turned_away),
            malformed: read(&self.malformed),
            oversized: read(&self.oversized),
            slow: read(&self.slow),
            idle: read(&self.idle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_keeps_its_limit_and_its_high_water_mark() {
        let gauge = Gauge::default();
        assert!(gauge.enter(2) && gauge.enter(2));
        assert!(!gauge.enter(2));
        gauge.leave();
        assert_eq!((gauge.now(), gauge.max()), (1, 2));
    }
}
