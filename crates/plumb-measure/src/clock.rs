//! Time as it is handed in.

/// A monotonic clock. Implemented by the engine, and by a clock held still in tests.
pub trait Clock {
    /// Nanoseconds since an arbitrary moment that stays the same through a run.
    fn now_ns(&self) -> u64;
}
