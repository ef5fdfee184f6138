//! What the front has seen.

use std::sync::atomic::{AtomicU64, Ordering};

use plumb_wire::prometheus::Exposition;
use serde::{Deserialize, Serialize};

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
    slow: "A head or a body did not arrive in time, or an answer was not taken in time.",
}

/// What the front has seen, as an administrator reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
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

impl ConnectionFigures {
    /// All of them as Prometheus reads them.
    pub fn expose(&self, out: &mut Exposition) {
        out.gauge("connections", "Connections that are open.", self.open);
        out.gauge("connections_max", "The most connections that were open.", self.open_max);
        out.gauge("connections_limit", "Connections that may be open.", self.limit);
        out.counter("connections_accepted_total", "Connections taken.", self.accepted);
        out.counter("connections_refused_total", "Connections refused: limit.", self.refused);
        let not_allowed = self.not_allowed;
        out.counter("connections_forbidden_total", "Connections refused: address.", not_allowed);
        out.counter("requests_total", "Requests begun.", self.requests);
        out.gauge("requests_waiting", "Requests that wait for others.", self.waiting);
        out.gauge("requests_waiting_max", "The most that waited.", self.waiting_max);
        out.counter("requests_turned_away_total", "Requests refused: limit.", self.turned_away);
        out.counter("malformed_total", "Connections that sent no HTTP.", self.malformed);
        out.counter("oversized_total", "Heads and bodies too large.", self.oversized);
        out.counter(
            "slow_total",
            "Heads and bodies that came, and answers that were taken, too slowly.",
            self.slow,
        );
        out.counter("idle_total", "Connections closed when idle.", self.idle);
    }
}

impl ConnectionFigures {
    /// Those of another process of the same server, too. No more than the sum of `open_max` were
    /// open at a time.
    pub fn add(&mut self, other: &Self) {
        self.limit += other.limit;
        self.open += other.open;
        self.open_max += other.open_max;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.not_allowed += other.not_allowed;
        self.requests += other.requests;
        self.waiting += other.waiting;
        self.waiting_max += other.waiting_max;
        self.turned_away += other.turned_away;
        self.malformed += other.malformed;
        self.oversized += other.oversized;
        self.slow += other.slow;
        self.idle += other.idle;
    }
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

    #[test]
    fn every_figure_is_exposed_under_a_name_of_its_own() {
        let figures = ConnectionFigures {
            limit: 1,
            open: 2,
            open_max: 3,
            accepted: 4,
            refused: 5,
            not_allowed: 6,
            requests: 7,
            waiting: 8,
            waiting_max: 9,
            turned_away: 10,
            malformed: 11,
            oversized: 12,
            slow: 13,
            idle: 14,
        };
        let mut page = Exposition::new("x_");
        figures.expose(&mut page);
        let text = page.finish();
        let samples = text.lines().filter_map(|line| line.strip_prefix("x_"));
        let said: Vec<&str> = samples.collect();
        assert_eq!(
            said,
            [
                "connections 2",
                "connections_max 3",
                "connections_limit 1",
                "connections_accepted_total 4",
                "connections_refused_total 5",
                "connections_forbidden_total 6",
                "requests_total 7",
                "requests_waiting 8",
                "requests_waiting_max 9",
                "requests_turned_away_total 10",
                "malformed_total 11",
                "oversized_total 12",
                "slow_total 13",
                "idle_total 14",
            ]
        );
    }
}
