//! In which order the variants take their turns.

use plumb_measure::statistics::SplitMix64;

/// Rounds that hold every variant once, in an order drawn from a seed. What changes on the
/// machine over time then falls on all variants alike.
#[derive(Clone, Debug)]
pub struct Order {
    random: SplitMix64,
    variants: usize,
}

impl Order {
    /// The order of `variants` variants that `seed` gives, the same everywhere.
    #[must_use]
    pub fn new(variants: usize, seed: u64) -> Self {
        Self { random: SplitMix64::new(seed), variants }
    }

    /// The variants of the next round.
    pub fn next_round(&mut self) -> Vec<usize> {
        let mut round: Vec<usize> = (0..self.variants).collect();
        self.random.shuffle(&mut round);
        round
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_order_and_every_round_holds_each_variant_once() {
        let rounds = |seed| {
            let mut order = Order::new(3, seed);
            (0..20).map(|_| order.next_round()).collect::<Vec<_>>()
        };
        assert_eq!(rounds(1), rounds(1));
        assert_ne!(rounds(1), rounds(2));
        for mut round in rounds(1) {
            round.sort_unstable();
            assert_eq!(round, [0, 1, 2]);
        }
    }
}
