//! In which order the blocks of a round are taken.

use plumb_measure::statistics::SplitMix64;

/// A block of a round: what is measured, and of which variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// Number of the cell, from zero.
    pub cell: usize,
    /// Number of the variant, from zero: the baseline.
    pub variant: usize,
}

/// Rounds that hold every variant once in every cell. The cells come in an order drawn from a
/// seed, and within a cell the variants: those of one cell stand next to each other in time, and
/// what changes on the machine falls on all variants alike.
#[derive(Clone, Debug)]
pub struct Order {
    random: SplitMix64,
    cells: usize,
    variants: usize,
}

impl Order {
    /// The order of `variants` variants in `cells` cells that `seed` gives, the same everywhere.
    #[must_use]
    pub fn new(cells: usize, variants: usize, seed: u64) -> Self {
        Self { random: SplitMix64::new(seed), cells, variants }
    }

    /// The blocks of the next round.
    pub fn next_round(&mut self) -> Vec<Turn> {
        let mut cells: Vec<usize> = (0..self.cells).collect();
        self.random.shuffle(&mut cells);
        let mut round = Vec::with_capacity(self.cells * self.variants);
        for cell in cells {
            let mut variants: Vec<usize> = (0..self.variants).collect();
            self.random.shuffle(&mut variants);
            round.extend(variants.into_iter().map(|variant| Turn { cell, variant }));
        }
        round
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(cells: usize, variants: usize, seed: u64) -> Vec<Vec<Turn>> {
        let mut order = Order::new(cells, variants, seed);
        (0..20).map(|_| order.next_round()).collect()
    }

    #[test]
    fn a_seed_gives_one_order_and_every_round_holds_each_block_once() {
        assert_eq!(rounds(4, 3, 1), rounds(4, 3, 1));
        assert_ne!(rounds(4, 3, 1), rounds(4, 3, 2));
        let every: Vec<Turn> =
            (0..4).flat_map(|cell| (0..3).map(move |variant| Turn { cell, variant })).collect();
        for mut round in rounds(4, 3, 1) {
            round.sort_unstable();
            assert_eq!(round, every);
        }
    }

    #[test]
    fn the_variants_of_a_cell_stand_next_to_each_other_in_changing_order() {
        let rounds = rounds(5, 2, 7);
        for round in &rounds {
            for pair in round.chunks(2) {
                assert_eq!(pair[0].cell, pair[1].cell);
            }
        }
        let firsts = |variant| {
            let pairs = rounds.iter().flat_map(|round| round.chunks(2));
            pairs.filter(|pair| pair[0].variant == variant).count()
        };
        assert!(firsts(0) > 30 && firsts(1) > 30, "{} {}", firsts(0), firsts(1));
        let cells = |round: &[Turn]| round.iter().map(|turn| turn.cell).collect::<Vec<_>>();
        assert!(rounds.windows(2).any(|two| cells(&two[0]) != cells(&two[1])));
    }

    #[test]
    fn a_single_cell_draws_only_the_order_of_its_variants() {
        let mut random = SplitMix64::new(9);
        for round in rounds(1, 4, 9) {
            let mut variants = vec![0, 1, 2, 3];
            random.shuffle(&mut variants);
            assert_eq!(round.iter().map(|turn| turn.variant).collect::<Vec<_>>(), variants);
        }
    }
}
