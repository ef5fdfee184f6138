//! Numbers that are the same for the same seed.
#![allow(dead_code, reason = "each test file takes what it needs")]

use plumb_measure::statistics::SplitMix64;

pub(crate) struct Numbers(SplitMix64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    pub(crate) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).expect("few")].clone()
    }
}
