//! Shapes of simulated values: each a pure function of the seed and the number of the sample, so that
//! a simulation goes on anywhere.

use std::f64::consts::TAU;

use plumb_measure::real;

/// How the value of a simulated tag goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Always the same.
    Constant {
        /// The value.
        value: f64,
    },
    /// A wave between two values, which begins in their middle.
    Sine {
        /// The least.
        low: f64,
        /// The most.
        high: f64,
        /// Samples of one wave, above 0.
        period: f64,
    },
    /// A walk of normal steps that turns back at two values and begins in their middle.
    RandomWalk {
        /// The least.
        low: f64,
        /// The most.
        high: f64,
        /// Standard deviation of a step.
        step: f64,
    },
    /// From one value to the next, over and over.
    Steps {
        /// The first.
        low: f64,
        /// The last.
        high: f64,
        /// How many values, at least 2.
        steps: u32,
        /// Samples of each, above 0.
        every: f64,
    },
}

impl Shape {
    /// The value of sample `n`, from 0, of a tag with this `seed`.
    #[must_use]
    pub fn value(&self, seed: u64, n: u64) -> f64 {
        match *self {
            Self::Constant { value } => value,
            Self::Sine { low, high, period } => {
                let turn = (real(n) / period).fract();
                f64::midpoint(low, high) + (high - low) / 2.0 * (TAU * turn).sin()
            }
            Self::RandomWalk { low, high, step } => {
                within(low, high, f64::midpoint(low, high) + step * walk(seed, n))
            }
            Self::Steps { low, high, steps, every } => {
                let number = (real(n) / every).floor() % f64::from(steps);
                low + (high - low) * number / f64::from(steps - 1)
            }
        }
    }
}

/// Folds `value` back at both ends.
fn within(low: f64, high: f64, value: f64) -> f64 {
    let width = high - low;
    if width <= 0.0 {
        return low;
    }
    let turned = (value - low).rem_euclid(2.0 * width);
    low + if turned > width { 2.0 * width - turned } else { turned }
}

/// Where a walk of standard normal steps is after `n` of them, without taking them: halves of a
/// Brownian bridge, from the longest to one step.
///
/// # Source
/// P. Lévy's construction: the middle of a bridge over a length L is normal around the mean of its
/// ends with the variance L / 4.
fn walk(seed: u64, n: u64) -> f64 {
    const LENGTH: u64 = 1 << 44;
    let n = n % LENGTH;
    let (mut from, mut length) = (0_u64, LENGTH);
    let (mut left, mut right) = (0.0, real(length).sqrt() * normal(seed, LENGTH));
    while length > 1 {
        if n == from {
            return left;
        }
        let half = length / 2;
        // the middle of each bridge is a number of its own: it is odd in units of `half`
        let deviation = (real(length) / 4.0).sqrt();
        let middle = f64::midpoint(left, right) + deviation * normal(seed, from + half);
        if n >= from + half {
            (from, left) = (from + half, middle);
        } else {
            right = middle;
        }
        length = half;
    }
    left
}

/// A standard normal number that belongs to `seed` and `n`.
///
/// # Source
/// Box and Muller 1958.
fn normal(seed: u64, n: u64) -> f64 {
    let word = mixed(seed ^ mixed(n));
    let uniform = |bits: u64| (real(bits >> 11) + 0.5) / real(1 << 53);
    let (a, b) = (uniform(word), uniform(mixed(word ^ 0x5851_f42d_4c95_7f2d)));
    (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
}

/// A word whose bits all depend on all of `word`.
///
/// # Source
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014 (`SplitMix64`).
pub(super) fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steps_and_waves_go_where_they_should() {
        let steps = Shape::Steps { low: 0.0, high: 10.0, steps: 3, every: 2.0 };
        let values: Vec<f64> = (0..8).map(|n| steps.value(1, n)).collect();
        assert_eq!(values, [0.0, 0.0, 5.0, 5.0, 10.0, 10.0, 0.0, 0.0]);
        let sine = Shape::Sine { low: -1.0, high: 3.0, period: 4.0 };
        let near = |n: u64, expected: f64| (sine.value(1, n) - expected).abs() < 1e-9;
        assert!(near(0, 1.0) && near(1, 3.0) && near(2, 1.0) && near(3, -1.0));
    }

    #[test]
    fn the_steps_of_a_walk_are_normal() {
        let steps: Vec<f64> = (0..20_000).map(|n| walk(7, n + 1) - walk(7, n)).collect();
        let count = f64::from(20_000);
        let mean = steps.iter().sum::<f64>() / count;
        let variance = steps.iter().map(|step| step * step).sum::<f64>() / count;
        // five standard errors of either
        assert!(mean.abs() < 5.0 / count.sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 5.0 * (2.0 / count).sqrt(), "{variance}");
        let within_one = steps.iter().filter(|step| step.abs() < 1.0).count();
        assert!((13_320..=13_985).contains(&within_one), "{within_one}"); // 68.27 %
        let pairs = steps.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / count;
        assert!(pairs.abs() < 5.0 / count.sqrt(), "neighbours are alike: {pairs}");
    }

    proptest! {
        #[test]
        fn a_walk_stays_within_its_ends_and_is_the_same_again(seed: u64, n in 0..1_u64 << 50) {
            let shape = Shape::RandomWalk { low: -2.0, high: 9.0, step: 3.0 };
            let value = shape.value(seed, n);
            prop_assert!((-2.0..=9.0).contains(&value));
            prop_assert!(value.to_bits() == shape.value(seed, n).to_bits());
        }
    }
}
