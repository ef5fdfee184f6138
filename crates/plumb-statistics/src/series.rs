//! What a series of figures says of itself: its middle, its spread, its memory, its drift.

use serde::{Deserialize, Serialize};

use crate::random::SplitMix64;
use crate::rank::doubled_midranks;

/// Shuffles behind the p of a drift.
const SHUFFLES: u32 = 9_999;

/// The arithmetic mean; `None` of nothing.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "numbers of blocks or batches")]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The median, of an even number the mean of the middle two; `None` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

pub(super) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

/// The standard deviation of the population that `values` are a sample of; `None` below two.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "numbers of blocks or batches")]
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The correlation of a series with itself, one step on; `None` for a series that is shorter than
/// three or does not vary.
#[must_use]
pub fn autocorrelation(series: &[f64]) -> Option<f64> {
    let covariances = Covariances::of(series)?;
    Some(covariances.at(1) / covariances.at(0))
}

/// For how many steps of a series one step counts: 1 for independent ones, more where neighbours
/// are alike. The variance of the mean is this many times that of independent values. `None` for
/// a series that is shorter than three or does not vary.
///
/// # Source
/// The initial positive sequence of Geyer, Practical Markov chain Monte Carlo, Statist. Sci. 7,
/// 1992.
#[must_use]
pub fn correlation_time(series: &[f64]) -> Option<f64> {
    let covariances = Covariances::of(series)?;
    let variance = covariances.at(0);
    let mut sum = 0.0;
    for pair in 0..series.len() / 2 {
        let both = covariances.at(2 * pair) + covariances.at(2 * pair + 1);
        if both <= 0.0 {
            break;
        }
        sum += both;
    }
    Some((2.0 * sum / variance - 1.0).max(1.0 / f64::from(u32::MAX)))
}

struct Covariances {
    centred: Vec<f64>,
}

impl Covariances {
    fn of(series: &[f64]) -> Option<Self> {
        let mean = mean(series)?;
        let centred: Vec<f64> = series.iter().map(|value| value - mean).collect();
        let varies = centred.iter().any(|value| *value != 0.0);
        (series.len() > 2 && varies).then_some(Self { centred })
    }

    /// The covariance of values `steps` apart, over the whole length.
    #[expect(clippy::cast_precision_loss, reason = "numbers of batches")]
    fn at(&self, steps: usize) -> f64 {
        let later = &self.centred[steps.min(self.centred.len())..];
        let products: f64 = self.centred.iter().zip(later).map(|(a, b)| a * b).sum();
        products / self.centred.len() as f64
    }
}

/// How a series moved while it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// From the first to the last value along the median slope, in the unit of the series.
    pub change: f64,
    /// Spearman's rank correlation with time, from -1 to 1.
    pub correlation: f64,
    /// Two-sided p of that correlation, by 9,999 seeded shuffles.
    pub p: f64,
}

/// The drift of `series`, taken at equal steps; `None` below five values.
///
/// # Source
/// Theil, A rank-invariant method of linear and polynomial regression analysis, 1950; Spearman,
/// The proof and measurement of association between two things, 1904.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "numbers of blocks")]
pub fn drift(series: &[f64]) -> Option<Drift> {
    if series.len() < 5 {
        return None;
    }
    let slopes: Vec<f64> = (0..series.len())
        .flat_map(|from| {
            (from + 1..series.len()).map(move |to| (series[to] - series[from]) / (to - from) as f64)
        })
        .collect();
    let mut ranks: Vec<f64> =
        doubled_midranks(series).into_iter().map(|rank| rank as f64).collect();
    let correlation = correlation_with_time(&ranks);
    let mut random = SplitMix64::new(0);
    let mut as_strong = 0;
    for _ in 0..SHUFFLES {
        random.shuffle(&mut ranks);
        as_strong += u32::from(correlation_with_time(&ranks).abs() >= correlation.abs() - 1e-12);
    }
    let p = f64::from(as_strong + 1) / f64::from(SHUFFLES + 1);
    Some(Drift { change: median(&slopes)? * (series.len() - 1) as f64, correlation, p })
}

/// Spearman's rank correlation of a series with time, from -1 to 1; 0 when it does not vary.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "places among a few thousand")]
pub fn trend(series: &[f64]) -> f64 {
    let ranks: Vec<f64> = doubled_midranks(series).into_iter().map(|rank| rank as f64).collect();
    correlation_with_time(&ranks)
}

/// Pearson's correlation of `values` with their places; 0 when they do not vary.
#[expect(clippy::cast_precision_loss, reason = "numbers of blocks")]
fn correlation_with_time(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / n;
    let (mut together, mut own) = (0.0, 0.0);
    for (place, value) in values.iter().enumerate() {
        together += (place as f64 - middle) * (value - mean);
        own += (value - mean).powi(2);
    }
    let time = n * (n * n - 1.0) / 12.0;
    if own == 0.0 { 0.0 } else { together / (time * own).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A first-order autoregressive series with memory `phi`.
    fn remembering(phi: f64, n: usize) -> Vec<f64> {
        let mut random = SplitMix64::new(3);
        let mut state = 0.0;
        (0..n)
            .map(|_| {
                let noise: f64 = (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
                state = phi * state + noise;
                state
            })
            .collect()
    }

    #[test]
    fn independent_values_count_once_and_alike_neighbours_many_times() {
        let time = correlation_time(&remembering(0.0, 4_000)).unwrap();
        assert!((0.8..1.3).contains(&time), "{time}");
        // (1 + phi) / (1 - phi) = 9
        let time = correlation_time(&remembering(0.8, 4_000)).unwrap();
        assert!((7.0..11.0).contains(&time), "{time}");
        let lag1 = autocorrelation(&remembering(0.8, 4_000)).unwrap();
        assert!((0.76..0.84).contains(&lag1), "{lag1}");
    }

    #[test]
    fn a_series_that_stands_still_has_no_memory() {
        assert_eq!(correlation_time(&[5.0; 40]), None);
        assert_eq!(autocorrelation(&[1.0, 2.0]), None);
    }

    #[test]
    fn a_drift_is_found_and_noise_is_none() {
        let rising: Vec<f64> = (0..10).map(|n| f64::from(n) * 0.5 + f64::from(n % 2)).collect();
        let found = drift(&rising).unwrap();
        assert!((found.change - 4.5).abs() < 0.6 && found.p < 0.01, "{found:?}");
        let found = drift(&[1.0, 3.0, 2.0, 3.0, 1.0, 2.0]).unwrap();
        assert!(found.p > 0.5, "{found:?}");
        assert_eq!(drift(&[1.0; 4]), None);
        assert_eq!(drift(&[1.0; 6]).map(|found| found.p), Some(1.0));
    }

    #[test]
    fn the_middle_of_an_even_number_lies_between_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(standard_deviation(&[2.0, 4.0]), Some(2f64.sqrt()));
        assert_eq!(standard_deviation(&[2.0]), None);
    }
}
