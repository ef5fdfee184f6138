//! All values that a figure may stand for.

/// The values from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// The smallest.
    pub(crate) low: f64,
    /// The largest.
    pub(crate) high: f64,
}

/// Room for the error of binary fractions, as a share of the figures.
const SLACK: f64 = 1e-9;

impl Interval {
    /// Every value there is: what nothing contradicts.
    pub(crate) const ALL: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// One value.
    pub(crate) const fn exactly(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// The values between two bounds in any order; [`ALL`](Self::ALL) when one is not a number.
    pub(crate) fn between(one: f64, other: f64) -> Self {
        if one.is_nan() || other.is_nan() {
            return Self::ALL;
        }
        Self { low: one.min(other), high: one.max(other) }
    }

    /// The value in the middle.
    pub(crate) fn middle(self) -> f64 {
        self.low / 2.0 + self.high / 2.0
    }

    /// True when a value is in both.
    pub(crate) fn meets(self, other: Self) -> bool {
        !self.below(other) && !other.below(self)
    }

    /// True when all its values are smaller than all those of `other`.
    pub(crate) fn below(self, other: Self) -> bool {
        let size = self.high.abs().max(other.low.abs());
        let slack = if size.is_finite() { SLACK * size } else { 0.0 };
        self.high + slack < other.low
    }

    /// Every value times `factor`.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self::between(self.low * factor, self.high * factor)
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self::between(self.low + other.low, self.high + other.high)
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self::between(self.low - other.high, self.high - other.low)
    }

    pub(crate) fn by(self, other: Self) -> Self {
        let products = [
            self.low * other.low,
            self.low * other.high,
            self.high * other.low,
            self.high * other.high,
        ];
        Self::hull(products)
    }

    /// A division by what may be zero can give anything.
    pub(crate) fn over(self, other: Self) -> Self {
        if other.low <= 0.0 && other.high >= 0.0 {
            return Self::ALL;
        }
        let quotients = [
            self.low / other.low,
            self.low / other.high,
            self.high / other.low,
            self.high / other.high,
        ];
        Self::hull(quotients)
    }

    fn hull(values: [f64; 4]) -> Self {
        if values.iter().any(|value| value.is_nan()) {
            return Self::ALL;
        }
        Self {
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval { low, high }
    }

    #[test]
    fn every_result_that_is_possible_is_inside() {
        let (a, b) = (interval(1.0, 2.0), interval(-1.0, 3.0));
        assert_eq!(a.plus(b), interval(0.0, 5.0));
        assert_eq!(a.minus(b), interval(-2.0, 3.0));
        assert_eq!(a.by(b), interval(-2.0, 6.0));
        assert_eq!(b.over(a), interval(-1.0, 3.0));
        assert_eq!(a.over(b), Interval::ALL);
        assert_eq!(a.times(-1.0), interval(-2.0, -1.0));
    }

    #[test]
    fn touching_is_meeting_and_binary_fractions_do_not_part() {
        assert!(interval(0.0, 0.1 + 0.2).meets(interval(0.3, 1.0)));
        assert!(interval(0.0, 0.3).meets(interval(0.1 + 0.2, 1.0)));
        assert!(!interval(0.0, 0.3).meets(interval(0.31, 1.0)));
        assert!(Interval::ALL.meets(interval(1.0, 1.0)));
    }
}
