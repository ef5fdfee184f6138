//! Times that are drawn.

use plumb_measure::statistics::SplitMix64;

/// How times of a mean and a variation are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Draw {
    Constant(f64),
    Exponential(f64),
    /// Gamma of this shape, at least 1, and scale.
    Gamma {
        shape: f64,
        scale: f64,
    },
    /// One of two exponential times; the first with this chance.
    Two {
        chance: f64,
        first: f64,
        second: f64,
    },
}

impl Draw {
    /// Times of this `mean`, whose variance is `variation` times its square: constant at 0,
    /// exponential at 1, gamma between them, and above one of two exponential times whose parts of
    /// the mean are equal.
    ///
    /// # Source
    /// Balanced means: Allen, Probability, Statistics and Queueing Theory, 1990, section 5.1.
    pub(super) fn of(mean: f64, variation: f64) -> Self {
        if mean <= 0.0 || variation < 1e-6 {
            Self::Constant(mean)
        } else if (variation - 1.0).abs() < 1e-6 {
            Self::Exponential(mean)
        } else if variation < 1.0 {
            Self::Gamma { shape: 1.0 / variation, scale: mean * variation }
        } else {
            let chance = 0.5 * (1.0 + ((variation - 1.0) / (variation + 1.0)).sqrt());
            Self::Two {
                chance,
                first: mean / (2.0 * chance),
                second: mean / (2.0 * (1.0 - chance)),
            }
        }
    }

    pub(super) fn next(self, random: &mut SplitMix64) -> f64 {
        match self {
            Self::Constant(value) => value,
            Self::Exponential(mean) => mean * exponential(random),
            Self::Gamma { shape, scale } => scale * gamma(random, shape),
            Self::Two { chance, first, second } => {
                let mean = if random.uniform() < chance { first } else { second };
                mean * exponential(random)
            }
        }
    }
}

fn exponential(random: &mut SplitMix64) -> f64 {
    -(1.0 - random.uniform()).ln()
}

/// # Source
/// Marsaglia and Tsang, A simple method for generating gamma variables, ACM TOMS 2000.
fn gamma(random: &mut SplitMix64, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 {
            let u = 1.0 - random.uniform();
            if u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }
}

/// Box and Muller's method; one of the two.
fn normal(random: &mut SplitMix64) -> f64 {
    let length = (2.0 * exponential(random)).sqrt();
    length * (std::f64::consts::TAU * random.uniform()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variation_are_those_asked_for() {
        let mut random = SplitMix64::new(11);
        for variation in [0.0, 0.1, 0.5, 1.0, 2.0, 9.0] {
            let draw = Draw::of(2.0, variation);
            let n = 400_000;
            let (mut sum, mut square) = (0.0, 0.0);
            for _ in 0..n {
                let value = draw.next(&mut random);
                assert!(value >= 0.0);
                sum += value;
                square += value * value;
            }
            let mean = sum / f64::from(n);
            let found = (square / f64::from(n) - mean * mean) / (mean * mean);
            assert!((mean - 2.0).abs() < 0.03, "{mean}");
            assert!(
                (found - variation).abs() < 0.03 * (1.0 + variation * 2.0),
                "{found} {variation}"
            );
        }
    }
}
