//! The start line: threads begin together once all their connections stand.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Where threads wait for each other without blocking.
#[derive(Debug)]
pub(crate) struct Gate {
    missing: AtomicUsize,
    start: OnceLock<u64>,
    aborted: AtomicBool,
}

impl Gate {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            missing: AtomicUsize::new(threads),
            start: OnceLock::new(),
            aborted: AtomicBool::new(false),
        }
    }

    /// One thread more is ready. Called once by each.
    pub(crate) fn arrive(&self) {
        self.missing.fetch_sub(1, Ordering::AcqRel);
    }

    /// The common start, once everybody has arrived: the moment at which the first looked.
    pub(crate) fn start(&self, now: u64) -> Option<u64> {
        (self.missing.load(Ordering::Acquire) == 0).then(|| *self.start.get_or_init(|| now))
    }

    /// Sends everybody home: a thread could not make its connections.
    pub(crate) fn abort(&self) {
        self.aborted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn aborted(&self) -> bool {
        self.aborted.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_starts_at_the_same_moment_once_all_are_there() {
        let gate = Gate::new(2);
        gate.arrive();
        assert_eq!(gate.start(5), None);
        gate.arrive();
        assert_eq!(gate.start(7), Some(7));
        assert_eq!(gate.start(9), Some(7));
    }
}
