//! Normal deviates, for figures that are drawn within their intervals.

use plumb_measure::statistics::SplitMix64;

/// The sum of twelve even numbers less six: normal enough for an interval of 95 %.
pub(crate) fn normal(random: &mut SplitMix64) -> f64 {
    (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0
}
