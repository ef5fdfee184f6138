//! Figures that results and their parts are made of.

use serde::{Deserialize, Serialize};

use crate::{Histogram, hdr};

/// A distribution of nanoseconds. Quantiles are the smallest value that at least that share of
/// the samples does not exceed, to 1/1,024; minimum, maximum and mean are exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of samples.
    pub count: u64,
    /// Smallest sample.
    pub min: u64,
    /// 25 % of the samples are at most this.
    pub p25: u64,
    /// The median.
    pub p50: u64,
    /// 75 %.
    pub p75: u64,
    /// 90 %.
    pub p90: u64,
    /// 95 %.
    pub p95: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// Largest sample.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: u64,
    /// The whole histogram in HdrHistogram's V2 compressed form, base64.
    pub histogram: String,
}

impl Distribution {
    /// The distribution of `histogram`; `None` when it is empty.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mean of u64 values lies within u64"
    )]
    pub fn of(histogram: &Histogram) -> Option<Self> {
        (!histogram.is_empty()).then(|| Self {
            count: histogram.count(),
            min: histogram.min(),
            p25: histogram.quantile(0.25),
            p50: histogram.quantile(0.5),
            p75: histogram.quantile(0.75),
            p90: histogram.quantile(0.9),
            p95: histogram.quantile(0.95),
            p99: histogram.quantile(0.99),
            p999: histogram.quantile(0.999),
            max: histogram.max(),
            mean: histogram.mean().round() as u64,
            histogram: hdr::encode(histogram),
        })
    }

    /// The whole histogram, to bucket precision.
    ///
    /// # Errors
    /// When the text is not what [`hdr::encode`] writes.
    pub fn decode(&self) -> Result<Histogram, hdr::DecodeError> {
        hdr::decode(&self.histogram)
    }
}

/// Content lengths in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LengthFigures {
    /// Shortest content.
    pub min: u64,
    /// Length of the 25th percentile; absent where all are of one length.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p25: Option<u64>,
    /// Median length.
    pub p50: u64,
    /// Length of the 75th percentile, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p75: Option<u64>,
    /// Longest content.
    pub max: u64,
}

/// What happened in one interval of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Start, nanoseconds after the start of the run, of which this result may be one of many.
    pub start_ns: u64,
    /// Length, nanoseconds.
    pub duration_ns: u64,
    /// Correct answers.
    pub operations: u64,
    /// Failures of any kind.
    pub failures: u64,
    /// Median response time, nanoseconds; 0 without operations.
    pub p50: u64,
    /// 99th percentile of the response time, nanoseconds; 0 without operations.
    pub p99: u64,
    /// Longest response time, nanoseconds; 0 without operations.
    pub max: u64,
    /// Users of scripts that took part at its end; 0 of other loads.
    #[serde(skip_serializing_if = "is_none", default)]
    pub users: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A figure of one layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// How it was computed, every symbol with its unit.
    pub formula: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_gives_back_its_histogram() {
        let mut histogram = Histogram::new();
        (1..=5000).for_each(|value| histogram.record(value * 7));
        let distribution = Distribution::of(&histogram).unwrap();
        assert_eq!(distribution.count, 5000);
        assert_eq!(distribution.decode().unwrap().quantile(0.5), distribution.p50);
        assert_eq!(Distribution::of(&Histogram::new()), None);
    }
}
