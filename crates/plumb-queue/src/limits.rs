//! How much a queue holds, and how long it remembers.

use plumb_measure::Span;

/// How much a queue holds, and how long it remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Messages that wait or run, at most.
    pub messages: u64,
    /// Bytes of their bodies, at most.
    pub bytes: u64,
    /// Messages of one transaction that are given out at a time, at most. Below what all workers
    /// together take, so that one slow transaction leaves workers to the others.
    pub given_out_per_transaction: usize,
    /// How long an idempotency key is remembered, at least; at most an hour longer.
    pub idempotency: Span,
    /// The write-ahead log is moved into the database when it has grown to so many bytes.
    pub log_bytes: u64,
    /// Bytes of the disk that are held back, so that messages can still be settled when it is full.
    pub reserve_bytes: u64,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            messages: 1_000_000,
            bytes: 8 << 30,
            given_out_per_transaction: 1_024,
            idempotency: Span::from_ms(24 * 3_600_000),
            log_bytes: 64 << 20,
            // what a full log may add to the database, and the log of what is settled meanwhile
            reserve_bytes: 72 << 20,
        }
    }
}
