//! A high dynamic range histogram of nanoseconds, with the bucket layout of HdrHistogram.

mod bucket;
mod form;

pub(crate) use form::COUNT_MAX;

/// Buckets a power of two is divided into: half of the 2,048 that three significant digits need.
const HALF: usize = 1 << HALF_BITS;
/// `log2(HALF)`.
pub(crate) const HALF_BITS: u32 = 10;
/// Values at or above `2^TOP_BIT` share the last bucket.
pub(crate) const TOP_BIT: u32 = 42;
/// Number of counters: 2,048 of width one, then 1,024 for every further power of two.
const COUNTERS: usize = (TOP_BIT - HALF_BITS) as usize * HALF + HALF;

/// Counts of values in buckets whose width is at most 1/1,024 of the value.
///
/// The range is 0 to [`Histogram::HIGHEST`] (about 73 minutes in nanoseconds); a larger value is
/// counted in the last bucket, while [`max`](Histogram::max), [`min`](Histogram::min) and
/// [`sum`](Histogram::sum) stay exact whatever the value.
///
/// Written down (serde) it keeps all of that: what is read back equals what was written, so that
/// histograms of several machines merge as if they had been recorded on one.
///
/// # Source
/// The layout is that of Gil Tene's HdrHistogram with a lowest discernible value of 1 and three
/// significant digits, so that its own tools read what [`crate::hdr`] writes.
#[derive(Clone)]
pub struct Histogram {
    counts: Box<[u64]>, // as many of the COUNTERS as the values need, or all of them
    total: u64,         // the sum of `counts`
    sum: u128,
    min: u64, // u64::MAX while empty
    max: u64,
}

impl Histogram {
    /// The highest value that has a bucket of its own, in the unit recorded (nanoseconds).
    pub const HIGHEST: u64 = (1 << TOP_BIT) - 1;

    /// An empty histogram. It takes 264 KiB, allocated once with the first value that is recorded;
    /// one that is read or merged takes what its values need.
    #[must_use]
    pub fn new() -> Self {
        Self { counts: Box::default(), total: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts `n` equal values.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        let index = index_of(value.min(Self::HIGHEST));
        match self.counts.get_mut(index) {
            Some(count) => *count += n,
            None => self.widen(COUNTERS)[index] = n,
        }
        self.total += n;
        self.sum += u128::from(value) * u128::from(n);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Makes room for so many counters.
    #[cold]
    fn widen(&mut self, counters: usize) -> &mut [u64] {
        self.counts = if self.counts.is_empty() {
            vec![0; counters].into()
        } else {
            let mut counts = std::mem::take(&mut self.counts).into_vec();
            counts.resize(counters, 0);
            counts.into()
        };
        &mut self.counts
    }

    /// Adds every value of `other`. Associative and commutative.
    pub fn merge(&mut self, other: &Self) {
        if other.total == 0 {
            return;
        }
        if self.counts.len() < other.counts.len() {
            self.widen(other.counts.len());
        }
        let touched = other.touched(); // the rest stays memory that was never asked for
        for (mine, theirs) in self.counts[touched.clone()].iter_mut().zip(&other.counts[touched]) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets every value; keeps the memory.
    pub fn clear(&mut self) {
        if self.total == 0 {
            return;
        }
        let touched = self.touched();
        self.counts[touched].fill(0);
        self.total = 0;
        self.sum = 0;
        self.min = u64::MAX;
        self.max = 0;
    }

    /// The counters that may be above zero; only of a histogram that is not empty.
    fn touched(&self) -> std::ops::RangeInclusive<usize> {
        index_of(self.min.min(Self::HIGHEST))..=index_of(self.max.min(Self::HIGHEST))
    }

    /// Number of values recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// True when nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The exact sum of all values.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact smallest value; 0 when empty.
    #[must_use]
    pub fn min(&self) -> u64 {
        if self.total == 0 { 0 } else { self.min }
    }

    /// The exact largest value; 0 when empty.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The exact arithmetic mean; 0 when empty.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn mean(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum as f64 / self.total as f64 }
    }

    /// The quantile `q` (0 to 1): the smallest value `v` such that at least `ceil(q * n)` (and at
    /// least one) of the `n` values are at most `v`, no interpolation; 0 when empty.
    ///
    /// `v` is the upper end of its bucket, at most 1/1,024 above the exact order statistic, and
    /// never outside the exact minimum and maximum.
    #[must_use]
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = rank(q, self.total);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return highest_in(index).clamp(self.min(), self.max);
            }
        }
        self.max
    }

    /// Number of values in the buckets up to and including that of `value`.
    #[must_use]
    pub fn count_at_or_below(&self, value: u64) -> u64 {
        self.counts.iter().take(index_of(value.min(Self::HIGHEST)) + 1).sum()
    }

    /// The occupied buckets in ascending order: upper end and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.occupied().map(|(index, count)| (highest_in(index).min(self.max), count))
    }

    /// The occupied buckets in ascending order: lower end, upper end and count; the ends lie within
    /// the exact minimum and maximum.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.occupied().map(|(index, count)| {
            let (low, high) = (lowest_in(index), highest_in(index));
            (low.clamp(self.min(), self.max), high.clamp(self.min(), self.max), count)
        })
    }

    /// The occupied counters in ascending order: index and count.
    fn occupied(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let first = index_of(self.min.min(Self::HIGHEST));
        let counted = self.counters().iter().enumerate().skip(first);
        counted.filter(|(_, count)| **count > 0).map(|(index, count)| (index, *count))
    }

    /// The occupied buckets in ascending order: middle, within the exact minimum and maximum, and
    /// count.
    pub(crate) fn middles(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.occupied().map(|(index, count)| {
            let middle = u64::midpoint(lowest_in(index), highest_in(index));
            (middle.clamp(self.min(), self.max), count)
        })
    }

    /// The counters up to the last occupied one, for the encoder.
    pub(crate) fn counters(&self) -> &[u64] {
        if self.total == 0 { &[] } else { &self.counts[..=*self.touched().end()] }
    }

    /// Adds `n` values to the counter `index`, as a decoder finds them: only the bucket is known,
    /// so minimum, maximum and sum take the middle of the bucket. False when there is no such
    /// counter, or when there are more values than a written histogram holds.
    pub(crate) fn add_counter(&mut self, index: usize, n: u64) -> bool {
        if index >= COUNTERS || n > COUNT_MAX - self.total {
            return false;
        }
        if index >= self.counts.len() {
            // counters come in ascending order
            let wider = (index + 1).max(2 * self.counts.len()).next_multiple_of(HALF);
            self.widen(wider.min(COUNTERS));
        }
        let middle = u64::midpoint(lowest_in(index), highest_in(index));
        self.record_n(middle, n);
        true
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.total, self.sum, self.min, self.max) == (other.total, other.sum, other.min, other.max)
            && (self.total == 0 || self.counts[self.touched()] == other.counts[other.touched()])
    }
}

impl Eq for Histogram {}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.total)
            .field("min", &self.min())
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

/// The counter of a value; `value <= HIGHEST`.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "an index is below COUNTERS")]
fn index_of(value: u64) -> usize {
    let exponent = (63 - HALF_BITS) - (value | (2 * HALF as u64 - 1)).leading_zeros(); // 0 for < 2,048
    let mantissa = value >> exponent; // in [1,024, 2,048) once the exponent is above 0
    ((u64::from(exponent) << HALF_BITS) + mantissa) as usize
}

/// Width of the bucket of counter `index`, as a power of two.
fn exponent_of(index: usize) -> u32 {
    u32::try_from(index >> HALF_BITS).unwrap_or(u32::MAX).saturating_sub(1)
}

/// The smallest value of counter `index`.
pub(crate) fn lowest_in(index: usize) -> u64 {
    let exponent = exponent_of(index);
    (index as u64 - (u64::from(exponent) << HALF_BITS)) << exponent
}

/// The largest value of counter `index`.
pub(crate) fn highest_in(index: usize) -> u64 {
    lowest_in(index) + (1 << exponent_of(index)) - 1
}

/// The place, from 1, of the quantile `q` (0 to 1) among `total` values in order. A product that lies
/// above a whole number by no more than the rounding of `q` and of itself is that number: 99.9 / 100 is
/// one unit in the last place above 0.999.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts stay far below 2^53, and the rank is clamped to 1..=total"
)]
pub(crate) fn rank(q: f64, total: u64) -> u64 {
    let place = q * total as f64 * (1.0 - 4.0 * f64::EPSILON);
    (place.ceil() as u64).clamp(1, total.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_counter_holds_the_values_between_its_ends() {
        for index in 0..COUNTERS {
            assert_eq!(index_of(lowest_in(index)), index);
            assert_eq!(index_of(highest_in(index)), index);
        }
        assert_eq!(index_of(Histogram::HIGHEST), COUNTERS - 1);
    }

    #[test]
    fn a_percentage_and_a_share_have_the_same_rank() {
        // tenths of a percent, and the usual hundredths beyond
        for hundredths in (10..10_000_u64).step_by(10).chain([9_995, 9_999, 10_000]) {
            let percent: f64 = format!("{}e-2", hundredths).parse().unwrap();
            let share: f64 = format!("{}e-4", hundredths).parse().unwrap();
            for total in 1..=5_000 {
                let exact = (total * hundredths).div_ceil(10_000).max(1);
                assert_eq!(rank(percent / 100.0, total), exact, "p{percent} of {total}");
                assert_eq!(rank(share, total), exact, "{share} of {total}");
            }
        }
    }

    #[test]
    fn one_that_was_emptied_equals_one_that_was_never_used() {
        let mut emptied = of(&[5, 1 << 40]);
        emptied.clear();
        assert_eq!(emptied, Histogram::new());
        let mut merged = Histogram::new();
        merged.merge(&emptied);
        assert_eq!((merged.count_at_or_below(u64::MAX), merged.buckets().count()), (0, 0));
        assert_ne!(of(&[5, 7, 9]), of(&[5, 5, 11]));
        assert_ne!(of(&[5, 6, 10, 11]), of(&[5, 7, 9, 11]));
    }

    #[test]
    fn an_empty_histogram_answers_zero() {
        let empty = Histogram::new();
        assert_eq!((empty.min(), empty.max(), empty.quantile(0.5)), (0, 0, 0));
        assert!(empty.mean().abs() < f64::EPSILON);
    }

    #[test]
    fn a_value_beyond_the_range_keeps_its_exact_maximum() {
        let mut histogram = Histogram::new();
        histogram.record(u64::MAX);
        assert_eq!((histogram.count(), histogram.max()), (1, u64::MAX));
        assert_eq!(histogram.sum(), u128::from(u64::MAX));
    }

    #[test]
    fn one_outlier_moves_the_mean_and_not_the_median() {
        let mut histogram = Histogram::new();
        histogram.record_n(10_000_000, 999);
        histogram.record(3_000_000_000);
        assert!((histogram.mean() - 12_990_000.0).abs() < 1.0);
        assert!(histogram.quantile(0.5).abs_diff(10_000_000) <= 10_000_000 / 1024);
    }

    #[test]
    fn quantiles_of_the_first_thousand_integers_are_exact() {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|value| histogram.record(value));
        assert_eq!(histogram.quantile(0.0), 1);
        assert_eq!(histogram.quantile(0.5), 500);
        assert_eq!(histogram.quantile(0.999), 999);
        assert_eq!(histogram.quantile(1.0), 1000);
        assert_eq!(histogram.count_at_or_below(250), 250);
    }

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    proptest! {
        #[test]
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank among at most 200 values"
        )]
        fn a_quantile_is_within_a_thousandth_of_the_order_statistic(
            mut values in prop::collection::vec(0u64..10_000_000_000, 1..200),
            q in 0.0f64..=1.0,
        ) {
            let got = of(&values).quantile(q);
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1];
            prop_assert!(got >= exact && got - exact <= exact / 1024);
        }

        #[test]
        fn merging_is_associative_and_equals_recording_together(
            a in prop::collection::vec(any::<u64>(), 0..50),
            b in prop::collection::vec(any::<u64>(), 0..50),
            c in prop::collection::vec(any::<u64>(), 0..50),
        ) {
            let mut left = of(&a);
            left.merge(&of(&b));
            left.merge(&of(&c));
            let mut tail = of(&b);
            tail.merge(&of(&c));
            let mut right = of(&a);
            right.merge(&tail);
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(left, of(&[a, b, c].concat()));
        }

        #[test]
        fn another_implementation_counts_the_same(
            values in prop::collection::vec((0..42_u32, any::<u64>(), 1..9_u64), 0..60),
            // of 0 they give the lower end of the first counter, and we its upper one
            quantiles in prop::collection::vec(1..=1_024_u16, 8),
        ) {
            let mut ours = Histogram::new();
            let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, Histogram::HIGHEST, 3)
                .expect("these bounds are allowed");
            for (bits, value, n) in values {
                let value = value & ((1 << bits) - 1); // as many small ones as large ones
                ours.record_n(value, n);
                theirs.record_n(value, n).expect("it is within the bounds");
            }
            prop_assert_eq!(ours.count(), theirs.len());
            let buckets: Vec<_> = ours.buckets().collect();
            let most = ours.max();
            let recorded: Vec<_> = theirs
                .iter_recorded()
                .map(|it| (it.value_iterated_to().min(most), it.count_since_last_iteration()))
                .collect();
            prop_assert_eq!(buckets, recorded);
            for quantile in quantiles {
                let q = f64::from(quantile) / 1_024.0; // which both multiply without an error
                let their = theirs.value_at_quantile(q).clamp(ours.min(), ours.max());
                prop_assert_eq!(ours.quantile(q), their, "{}", q);
            }
        }
    }
}
