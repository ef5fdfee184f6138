//! The figures of niping, from the exact sums that a histogram keeps.

use serde::{Deserialize, Serialize};

use crate::Histogram;

/// niping's averages and transfer rates over one series of round trips.
///
/// With `t` the round-trip times in seconds, `n` their number and `len` the payload in bytes:
/// `avg = sum(t) / n`, `av2 = (sum(t) - max - min) / (n - 2)`, `tr = 2 * len / avg / 1024` and
/// `tr2 = 2 * len / av2 / 1024`, so a rate counts both directions and kB of 1,024 bytes.
///
/// # Source
/// The output blocks published with SAP Note 500235 agree with these formulas to the printed digit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NipingFigures {
    /// Mean round trip, milliseconds.
    pub avg_ms: f64,
    /// Longest round trip, milliseconds.
    pub max_ms: f64,
    /// Shortest round trip, milliseconds.
    pub min_ms: f64,
    /// Transfer rate of both directions, kB/s of 1,024 bytes.
    pub tr_kb_s: f64,
    /// Mean without one longest and one shortest sample, milliseconds; absent below three samples.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub av2_ms: Option<f64>,
    /// Transfer rate from `av2_ms`, kB/s; absent below three samples.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tr2_kb_s: Option<f64>,
    /// How many samples `av2_ms` leaves out: 2, or 0 where it is absent.
    pub left_out: u64,
}

impl NipingFigures {
    /// The figures of round trips in nanoseconds that each carried `payload_bytes` there and back;
    /// `None` when there were none.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "figures are printed to three decimals")]
    pub fn of(round_trips: &Histogram, payload_bytes: u64) -> Option<Self> {
        let n = round_trips.count();
        if n == 0 {
            return None;
        }
        let rate = |ms: f64| 2.0 * payload_bytes as f64 / (ms / 1e3) / 1024.0;
        let avg_ms = round_trips.mean() / 1e6;
        let extremes = u128::from(round_trips.max()) + u128::from(round_trips.min());
        let av2_ms = (n > 2).then(|| (round_trips.sum() - extremes) as f64 / (n - 2) as f64 / 1e6);
        Some(Self {
            avg_ms,
            max_ms: round_trips.max() as f64 / 1e6,
            min_ms: round_trips.min() as f64 / 1e6,
            tr_kb_s: rate(avg_ms),
            av2_ms,
            tr2_kb_s: av2_ms.map(rate),
            left_out: if n > 2 { 2 } else { 0 },
        })
    }

    /// The payload that these figures are about, bytes.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was a whole number of bytes before the rate was made of it"
    )]
    pub fn payload_bytes(&self) -> u64 {
        (self.tr_kb_s * 1024.0 * self.avg_ms / 1e3 / 2.0).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64], len: u64) -> NipingFigures {
        let mut round_trips = Histogram::new();
        values.iter().for_each(|value| round_trips.record(*value));
        NipingFigures::of(&round_trips, len).unwrap()
    }

    #[test]
    fn one_longest_and_one_shortest_sample_are_left_out_not_all_equal_ones() {
        let figures = of(&[1_000_000, 1_000_000, 2_000_000, 4_000_000, 4_000_000], 500);
        let av2 = figures.av2_ms.unwrap();
        assert!((av2 - (1.0 + 2.0 + 4.0) / 3.0).abs() < 1e-12);
        assert_eq!(figures.left_out, 2);
    }

    #[test]
    fn the_published_block_of_1000_messages_of_50000_bytes_comes_out_again() {
        // avg 1.904, max 9.982, min 1.656 -> tr 51287.892; av2 1.896 -> tr2 51500.092
        let mut round_trips = Histogram::new();
        round_trips.record(9_982_000);
        round_trips.record(1_656_000);
        let middle = (1_904_083_u64 * 1000 - 9_982_000 - 1_656_000) / 998;
        round_trips.record_n(middle, 998);
        let figures = NipingFigures::of(&round_trips, 50_000).unwrap();
        assert_eq!(format!("{:.3}", figures.avg_ms), "1.904");
        assert_eq!(format!("{:.3}", figures.av2_ms.unwrap()), "1.896");
        assert!((figures.tr_kb_s - 51_287.892).abs() < 1.0, "{}", figures.tr_kb_s);
        assert!((figures.tr2_kb_s.unwrap() - 51_500.092).abs() < 5.0);
    }

    #[test]
    fn below_three_samples_av2_is_absent() {
        let figures = of(&[5, 7], 1);
        assert_eq!((figures.av2_ms, figures.tr2_kb_s, figures.left_out), (None, None, 0));
        assert_eq!(NipingFigures::of(&Histogram::new(), 1), None);
    }
}
