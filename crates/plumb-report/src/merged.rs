//! Several distributions as one.

use plumb_measure::{Distribution, Histogram};

/// The samples of all distributions that were added. Quantiles are merged from the histograms;
/// minimum and maximum stay exact, the mean is that of the stored means.
pub(crate) struct Merged {
    histogram: Histogram,
    min: u64,
    max: u64,
    sum: u128,
}

impl Merged {
    /// No samples yet.
    pub(crate) fn new() -> Self {
        Self { histogram: Histogram::new(), min: u64::MAX, max: 0, sum: 0 }
    }

    /// Adds every sample of `times`; false, and nothing is added, when its histogram cannot be
    /// read.
    pub(crate) fn add(&mut self, times: &Distribution) -> bool {
        let Ok(histogram) = times.decode() else { return false };
        self.histogram.merge(&histogram);
        self.min = self.min.min(times.min);
        self.max = self.max.max(times.max);
        self.sum += u128::from(times.mean) * u128::from(histogram.count());
        true
    }

    /// The distribution of all of them; `None` without a sample.
    pub(crate) fn distribution(&self) -> Option<Distribution> {
        let whole = Distribution::of(&self.histogram)?;
        let mean = self.sum / u128::from(whole.count);
        // a decoded histogram is exact to its buckets only; these are exact
        let (min, max) = (self.min, self.max);
        Some(Distribution { min, max, mean: u64::try_from(mean).unwrap_or(u64::MAX), ..whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Distribution {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        Distribution::of(&histogram).unwrap()
    }

    #[test]
    fn two_halves_make_the_whole() {
        let mut merged = Merged::new();
        assert!(merged.distribution().is_none());
        assert!(merged.add(&of(&[1_000_003, 5_000_000])));
        assert!(merged.add(&of(&[9_000_001, 5_000_000])));
        let (both, whole) =
            (merged.distribution().unwrap(), of(&[1_000_003, 5_000_000, 5_000_000, 9_000_001]));
        assert_eq!((both.count, both.min, both.max), (4, 1_000_003, 9_000_001));
        assert_eq!(both.mean, whole.mean);
        assert!(both.p50.abs_diff(whole.p50) * 1_024 <= whole.p50);
    }

    #[test]
    fn what_cannot_be_read_is_not_merged() {
        let mut merged = Merged::new();
        assert!(!merged.add(&Distribution { histogram: "cut".into(), ..of(&[5]) }));
        assert!(merged.distribution().is_none());
    }
}
