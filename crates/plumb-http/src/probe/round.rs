//! In which order a user asks for pages.

use plumb_measure::TraceId;
use plumb_measure::statistics::SplitMix64;

/// The round of one user: every page once, in an order that is drawn anew for each round.
#[derive(Clone, Debug)]
pub struct Round {
    order: Vec<u16>,
    at: usize,
    random: SplitMix64,
    /// Of the request under way, where there is only one.
    pub(super) trace: Option<TraceId>,
}

impl Round {
    /// The rounds of user `n` over so many `pages`.
    pub(super) fn new(pages: usize, seed: u64, n: usize) -> Self {
        let pages = u16::try_from(pages).unwrap_or(u16::MAX);
        let order: Vec<u16> = (0..pages).collect();
        let at = order.len(); // the first round is drawn like any other
        let random = SplitMix64::new(seed.wrapping_add(n as u64));
        Self { order, at, random, trace: None }
    }

    /// The next page.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u16> {
        if self.at == self.order.len() {
            self.at = 0;
            self.random.shuffle(&mut self.order);
        }
        self.at += 1;
        self.order.get(self.at - 1).copied()
    }
}
