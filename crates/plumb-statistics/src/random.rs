//! Random numbers that are the same everywhere.

/// SplitMix64: small, fast, good enough for orders and resampling, and the same on every machine
/// for the same seed.
///
/// # Source
/// Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A generator that begins at `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// An index below `n`; 0 when `n` is 0. The bias of at most `n / 2^64` is far below what any
    /// use of it could show.
    pub fn below(&mut self, n: usize) -> usize {
        let product = u128::from(self.next_u64()) * n as u128;
        usize::try_from(product >> 64).unwrap_or(0)
    }

    /// A number from 0 up to, not including, 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a float exactly")]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts `items` into a random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_reference() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_moves_them_evenly() {
        let mut random = SplitMix64::new(7);
        let mut firsts = [0u32; 5];
        for _ in 0..5_000 {
            let mut items = [0, 1, 2, 3, 4];
            random.shuffle(&mut items);
            firsts[items[0]] += 1;
            items.sort_unstable();
            assert_eq!(items, [0, 1, 2, 3, 4]);
        }
        assert!(firsts.iter().all(|n| (850..1150).contains(n)), "{firsts:?}");
    }
}
