//! HdrHistogram's table of percentiles, `.hgrm`, which its plotters read.
//!
//! # Source
//! `AbstractHistogram.outputPercentileDistribution` and `PercentileIterator` of the Java
//! implementation, with five ticks for each half of the distance to 100 %.

use std::fmt::Write as _;

use crate::Histogram;
use crate::histogram::{HALF_BITS, TOP_BIT, highest_in, lowest_in};
use crate::real;

/// Lines for each half of the distance to 100 %.
const TICKS: f64 = 5.0;
/// Nanoseconds of the unit in which values are written: microseconds with three digits are exact.
const UNIT_NS: f64 = 1_000.0;

/// The table of `histogram`, whose values are nanoseconds, in microseconds. As in the original a
/// value stands for its bucket: in the lines the highest of it, in mean and deviation the middle.
#[must_use]
pub fn table(histogram: &Histogram) -> String {
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let (mut level, mut seen) = (0.0, 0);
    let mut highest_ns = 0;
    for (index, count) in histogram.counters().iter().enumerate().filter(|(_, count)| **count > 0) {
        seen += count;
        highest_ns = highest_in(index);
        let reached = 100.0 * real(seen) / real(histogram.count());
        while reached >= level {
            line(&mut text, highest_ns, level, seen);
            level += step(level);
            if seen == histogram.count() {
                break; // what is left of the way to 100 % is one line
            }
        }
    }
    if seen > 0 {
        line(&mut text, highest_ns, 100.0, seen);
    }
    footer(&mut text, histogram, highest_ns);
    text
}

/// One line; the last, at 100 %, has no distance to it.
fn line(text: &mut String, value_ns: u64, level: f64, seen: u64) {
    let (value, share) = (real(value_ns) / UNIT_NS, level / 100.0);
    let distance = match level {
        level if level < 100.0 => format!(" {:14.2}", 1.0 / (1.0 - share)),
        _ => String::new(),
    };
    // a String takes everything
    let _ = writeln!(text, "{value:12.3} {share:.12} {seen:10}{distance}");
}

/// How far the next line is, in percent: a tick of the half that `level` lies in.
fn step(level: f64) -> f64 {
    let halves = (100.0 / (100.0 - level)).log2().floor() + 1.0;
    100.0 / (TICKS * halves.exp2())
}

fn footer(text: &mut String, histogram: &Histogram, highest_ns: u64) {
    let middles = || {
        let counters = histogram.counters().iter().enumerate();
        counters.filter(|(_, count)| **count > 0).map(|(index, count)| {
            let width = highest_in(index) - lowest_in(index) + 1;
            (real(lowest_in(index) + width / 2), real(*count))
        })
    };
    let all = real(histogram.count()).max(1.0);
    let mean = middles().map(|(value, count)| value * count).sum::<f64>() / all;
    let variance =
        middles().map(|(value, count)| (value - mean).powi(2) * count).sum::<f64>() / all;
    let (mean, deviation) = (mean / UNIT_NS, variance.sqrt() / UNIT_NS);
    let (max, count) = (real(highest_ns) / UNIT_NS, histogram.count());
    let (buckets, sub_buckets) = (TOP_BIT - HALF_BITS, 2 << HALF_BITS);
    let _ = writeln!(
        text,
        "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n\
         #[Max     = {max:12.3}, Total count    = {count:12}]\n\
         #[Buckets = {buckets:12}, SubBuckets     = {sub_buckets:12}]"
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn a_small_table_is_written_as_the_original_does() {
        let text = table(&histogram(&[1_000, 1_000, 2_000, 1_000_000]));
        let expected = [
            "       Value     Percentile TotalCount 1/(1-Percentile)",
            "",
            "       1.000 0.000000000000          2           1.00",
            "       1.000 0.100000000000          2           1.11",
            "       1.000 0.200000000000          2           1.25",
            "       1.000 0.300000000000          2           1.43",
            "       1.000 0.400000000000          2           1.67",
            "       1.000 0.500000000000          2           2.00",
            "       2.000 0.550000000000          3           2.22",
            "       2.000 0.600000000000          3           2.50",
            "       2.000 0.650000000000          3           2.86",
            "       2.000 0.700000000000          3           3.33",
            "       2.000 0.750000000000          3           4.00",
            "    1000.447 0.775000000000          4           4.44",
            "    1000.447 1.000000000000          4",
            "#[Mean    =      251.048, StdDeviation   =      432.519]",
            "#[Max     =     1000.447, Total count    =            4]",
            "#[Buckets =           32, SubBuckets     =         2048]",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_empty_table_has_a_head_and_a_foot() {
        let text = table(&Histogram::new());
        assert_eq!(text.lines().count(), 5);
        assert!(text.contains("Total count    =            0]"), "{text}");
    }

    proptest! {
        #[test]
        fn values_and_counts_never_fall(values in prop::collection::vec(0..=u64::MAX, 1..300)) {
            let all = histogram(&values);
            let text = table(&all);
            let rows: Vec<Vec<f64>> = text
                .lines()
                .skip(2)
                .take_while(|line| !line.starts_with('#'))
                .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
                .collect();
            for pair in rows.windows(2) {
                prop_assert!(pair[0].iter().zip(&pair[1]).all(|(before, after)| before <= after));
            }
            let last = rows.last().unwrap();
            prop_assert!((last[1] - 1.0).abs() < 1e-12 && (last[2] - real(all.count())).abs() < 0.5);
        }
    }
}
