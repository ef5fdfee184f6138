//! Positive numbers of any size.

use std::ops::{Add, Mul};

/// Powers of two that one step of the exponent stands for.
const STEP: f64 = 1.157_920_892_373_162e77; // 2^256
const HALF_STEP: f64 = 3.402_823_669_209_385e38; // 2^128

/// A number of at least 0 whose exponent has no limit: `part * 2^(256 exponent)`. It keeps the
/// relative precision of a float at any size, which the logarithm of such a number does not:
/// where that is in the millions, its last digit is already 1e-10 of the number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scaled {
    part: f64, // 0, or from 2^-128 up to 2^128
    exponent: i64,
}

impl Scaled {
    pub(super) const ZERO: Self = Self { part: 0.0, exponent: 0 };
    pub(super) const ONE: Self = Self { part: 1.0, exponent: 0 };

    /// `value`, which must be finite and at least 0.
    pub(super) fn of(value: f64) -> Self {
        Self { part: value, exponent: 0 }.normal()
    }

    /// This number times `factor`, which must be finite and at least 0.
    pub(super) fn times(self, factor: f64) -> Self {
        // two factors, so that neither underflows where both are small
        if !(1e-150..=1e150).contains(&factor) {
            return self * Self::of(factor);
        }
        Self { part: self.part * factor, ..self }.normal()
    }

    /// This number divided by `other`, which must not be 0, as a float; 0 or infinite beyond.
    pub(super) fn over(self, other: Self) -> f64 {
        if self.part <= 0.0 {
            return 0.0;
        }
        let quotient = self.part / other.part;
        match self.exponent - other.exponent {
            0 => quotient,
            steps @ 1..=3 => (0..steps).fold(quotient, |value, _| value * STEP),
            steps @ -4..0 => (steps..0).fold(quotient, |value, _| value / STEP),
            4.. => f64::INFINITY,
            _ => 0.0,
        }
    }

    fn normal(self) -> Self {
        if self.part <= 0.0 {
            return Self::ZERO;
        }
        let mut it = self;
        while it.part >= HALF_STEP {
            it = Self { part: it.part / STEP, exponent: it.exponent + 1 };
        }
        while it.part < 1.0 / HALF_STEP {
            it = Self { part: it.part * STEP, exponent: it.exponent - 1 };
        }
        it
    }
}

impl Add for Scaled {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        if other.part <= 0.0 {
            return self;
        }
        if self.part <= 0.0 {
            return other;
        }
        let (large, small) =
            if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let part = match large.exponent - small.exponent {
            0 => large.part + small.part,
            1 => large.part + small.part / STEP,
            _ => large.part, // the other is below 2^-256 of it
        };
        Self { part, ..large }.normal()
    }
}

impl Mul for Scaled {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let exponent = self.exponent + other.exponent;
        Self { part: self.part * other.part, exponent }.normal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_far_beyond_floats_keeps_its_digits() {
        let mut power = Scaled::ONE;
        for _ in 0..5_000 {
            power = power.times(1e-3);
        }
        let mut back = power;
        for _ in 0..5_000 {
            back = back.times(1e3);
        }
        assert!((back.over(Scaled::ONE) - 1.0).abs() < 1e-11);
        assert!(power.over(Scaled::ONE) < 1e-300);
    }

    #[test]
    fn sums_over_a_step_of_the_exponent_are_exact() {
        let (large, small) = (Scaled::of(1e40), Scaled::of(3e30));
        assert!(((large + small).over(large) - (1.0 + 3e-10)).abs() < 1e-15);
        assert!(((small + large).over(small) - 1e40 / 3e30 - 1.0).abs() < 1e-5);
        assert_eq!(Scaled::ZERO + small, small);
        assert_eq!(small * Scaled::ZERO, Scaled::ZERO);
    }

    #[test]
    fn factors_at_the_edge_of_floats_do_not_vanish() {
        let tiny = Scaled::of(1e-38).times(1e-290).times(1e-290);
        let back = tiny.times(1e290).times(1e290);
        assert!((back.over(Scaled::of(1e-38)) - 1.0).abs() < 1e-12);
    }
}
