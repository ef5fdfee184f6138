//! What the flushes of a queue cost.

use plumb_measure::Histogram;

use super::QueueFigures;

/// What the flushes cost since the runtime began, and what is counted beside them.
#[derive(Debug, Default)]
pub(super) struct Cost {
    flushes: Histogram,
    log_max_bytes: u64,
    accepted: u64,
    dead: u64,
}

impl Cost {
    pub(super) fn new(dead: u64) -> Self {
        Self { dead, ..Self::default() }
    }

    /// A transaction was committed, which took so long.
    pub(super) fn flushed(&mut self, ns: u64) {
        self.flushes.record(ns);
    }

    pub(super) fn counted(&mut self, accepted: u64, dead: i64) {
        self.accepted += accepted;
        self.dead = self.dead.saturating_add_signed(dead);
    }

    /// So many are dead, by whoever let them die.
    pub(super) fn dead_are(&mut self, dead: u64) {
        self.dead = dead;
    }

    pub(super) fn log_is(&mut self, bytes: u64) {
        self.log_max_bytes = self.log_max_bytes.max(bytes);
    }

    /// The figures, but for what waits and runs.
    pub(super) fn figures(&self) -> QueueFigures {
        QueueFigures {
            failed: self.dead,
            accepted: self.accepted,
            flushes: self.flushes.count(),
            flush_ns: u64::try_from(self.flushes.sum()).unwrap_or(u64::MAX),
            flush_p50_ns: self.flushes.quantile(0.5),
            flush_p99_ns: self.flushes.quantile(0.99),
            flush_p999_ns: self.flushes.quantile(0.999),
            flush_max_ns: self.flushes.max(),
            log_max_bytes: self.log_max_bytes,
            ..QueueFigures::default()
        }
    }
}
