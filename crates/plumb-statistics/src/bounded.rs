//! A figure with the interval in which it lies.

use serde::Serialize;

/// A figure and its interval, of 95 % where nothing else is said, in the unit of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounded {
    /// The figure.
    pub value: f64,
    /// The lower end of the interval, no more than the figure.
    pub low: f64,
    /// The upper end of the interval, no less than the figure.
    pub high: f64,
}

impl Bounded {
    /// `value` with `half` the width of its interval.
    #[must_use]
    pub fn around(value: f64, half: f64) -> Self {
        Self { value, low: value - half, high: value + half }
    }

    /// The same figure and interval in another unit: all times `factor`, which must be positive.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// The same, with nothing below 0.
    #[must_use]
    pub fn not_negative(self) -> Self {
        Self { value: self.value.max(0.0), low: self.low.max(0.0), high: self.high.max(0.0) }
    }

    /// `value` with the middle 95 % of `draws`, widened where the value lies outside; `None`
    /// without draws.
    #[must_use]
    pub fn of_draws(value: f64, mut draws: Vec<f64>) -> Option<Self> {
        draws.retain(|draw| !draw.is_nan());
        draws.sort_unstable_by(f64::total_cmp);
        let at = |tail: usize| draws.get(tail).copied();
        let tail = draws.len() / 40;
        let (low, high) = (at(tail)?, at(draws.len() - 1 - tail)?);
        Some(Self { value, low: low.min(value), high: high.max(value) })
    }

    /// True when `value` lies in the interval.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_draws_is_kept() {
        let draws: Vec<f64> = (0..1_000).rev().map(f64::from).collect();
        let bounded = Bounded::of_draws(500.0, draws).unwrap();
        assert!((bounded.low - 25.0).abs() < 1e-9 && (bounded.high - 974.0).abs() < 1e-9);
        assert!(bounded.holds(25.0) && !bounded.holds(24.0));
        assert!((Bounded::of_draws(7.0, vec![8.0]).unwrap().low - 7.0).abs() < 1e-9);
        assert_eq!(Bounded::of_draws(7.0, vec![f64::NAN]), None);
    }
}
