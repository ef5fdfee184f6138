//! Means, and how well they are known.

use serde::{Deserialize, Serialize};

use crate::statistics::half_width;
use crate::{BatchMeans, Histogram};

/// A mean in nanoseconds, and half the width of its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean; a difference of means may lie below zero.
    pub mean_ns: i64,
    /// Half the width of the 95 % interval; absent with too few operations.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub half_width_ns: Option<u64>,
    /// Operations behind it; of a difference, the fewest behind one of its terms.
    pub count: u64,
}

impl Estimate {
    /// The mean of `times`, with the interval that the means of their batches, in order, allow.
    #[must_use]
    pub fn of(times: &Histogram, batches: Option<&BatchMeans>) -> Self {
        Self::around(times, batches.map_or(&[], |batches| &batches.mean_ns))
    }

    /// The mean of `times`, with the interval that `values`, in order, allow.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "nanoseconds of seconds"
    )]
    pub(crate) fn around(times: &Histogram, values: &[u64]) -> Self {
        let values: Vec<f64> = values.iter().map(|ns| *ns as f64).collect();
        Self {
            mean_ns: times.mean().round() as i64,
            half_width_ns: half_width(&values).map(whole),
            count: times.count(),
        }
    }

    /// A mean over `count` operations that is told by these operations themselves, the very ones of
    /// the whole: it is as exact as the whole.
    #[must_use]
    pub fn exact(mean_ns: u64, count: u64) -> Self {
        let mean_ns = i64::try_from(mean_ns).unwrap_or(i64::MAX);
        Self { mean_ns, half_width_ns: Some(0), count }
    }

    /// The lower end of the interval, nanoseconds; `None` where it is not known.
    #[must_use]
    pub fn low_ns(self) -> Option<i64> {
        let half = i64::try_from(self.half_width_ns?).unwrap_or(i64::MAX);
        Some(self.mean_ns.saturating_sub(half))
    }

    /// The upper end of the interval, nanoseconds; `None` where it is not known.
    #[must_use]
    pub fn high_ns(self) -> Option<i64> {
        let half = i64::try_from(self.half_width_ns?).unwrap_or(i64::MAX);
        Some(self.mean_ns.saturating_add(half))
    }

    /// What is left of this when the others are taken away. The terms are measured on different
    /// operations, so the squares of their half widths add up.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of seconds")]
    pub fn less(self, others: &[Self]) -> Self {
        let all = || std::iter::once(&self).chain(others);
        let squares: Option<f64> =
            all().map(|it| it.half_width_ns.map(|half| (half as f64).powi(2))).sum();
        let taken: i64 = others.iter().map(|it| it.mean_ns).sum();
        Self {
            mean_ns: self.mean_ns.saturating_sub(taken),
            half_width_ns: squares.map(|squares| whole(squares.sqrt())),
            count: all().map(|it| it.count).min().unwrap_or(0),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a width is not negative; a float is cast to the nearest integer in range"
)]
fn whole(ns: f64) -> u64 {
    ns.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_known_less_well_than_its_terms() {
        let of = |mean_ns, half, count| Estimate { mean_ns, half_width_ns: Some(half), count };
        let left = of(100, 3, 50).less(&[of(30, 4, 10)]);
        assert_eq!(left, of(70, 5, 10));
        assert_eq!(of(1, 0, 9).less(&[of(3, 0, 9)]).mean_ns, -2);
        let unknown = Estimate { half_width_ns: None, ..left };
        assert_eq!(left.less(&[unknown]).half_width_ns, None);
    }
}
