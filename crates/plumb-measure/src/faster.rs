//! The faster nine tenths of times: their mean, and how well it is known.
//!
//! A few times that are very long leave the mean of all hardly known. The mean of the rest may be
//! known well; it is a figure of its own, and says nothing of those that were left out.

use crate::statistics::{standard_deviation, standard_error, student};
use crate::{BatchMeans, Estimate, Histogram};

/// The share that is left out, the slowest.
pub(crate) const LEFT_OUT: f64 = 0.1;
/// Of fewer times not even one is left out.
const TIMES_MIN: u64 = 10;
/// The quantile of the normal distribution at 97.5 %.
const NORMAL: f64 = 1.96;
/// At least this share is never left out.
const KEPT_MIN: f64 = 0.1;

impl Estimate {
    /// The mean of the faster nine tenths of `times`, with the interval that all times and the
    /// means of their batches, in order, allow. Bucket by bucket: within 1/2,048 of the exact one.
    ///
    /// Half the interval is `t * m * s / (0.9 * sqrt(n))`: `n` times; `s` their standard deviation
    /// (nanoseconds) when each of the slowest tenth is replaced by the slowest that is not left out;
    /// `t` Student's quantile at 97.5 %; `m`, at least 1, by how much more means of batches scatter
    /// than they would if the times were independent. Absent for fewer than ten times.
    ///
    /// # Source
    /// Tukey and McLaughlin, Less vulnerable confidence and significance procedures for location
    /// based on a single sample: trimming/winsorization 1, Sankhya A 25, 1963. Batches: Schmeiser,
    /// Batch size effects in the analysis of simulation output, Operations Research 30, 1982.
    #[must_use]
    pub fn of_the_faster(times: &Histogram, batches: Option<&BatchMeans>) -> Self {
        Self::faster_around(times, batches.map_or(&[], |batches| &batches.mean_ns))
    }

    /// The same with the interval that `values`, in order, allow: the times themselves, or the means
    /// of their batches.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of seconds")]
    pub(crate) fn faster_around(times: &Histogram, values: &[u64]) -> Self {
        let values: Vec<f64> = values.iter().map(|ns| *ns as f64).collect();
        let sorted = Sorted::of(times);
        let half = (times.count() >= TIMES_MIN).then(|| sorted.half_width(&values)).flatten();
        Self {
            mean_ns: signed(sorted.mean_without(LEFT_OUT)),
            half_width_ns: half.map(|half| signed(half).unsigned_abs()),
            count: times.count(),
        }
    }

    /// The same with half its interval wider by `ns` nanoseconds.
    #[must_use]
    pub(crate) fn known_less_by(self, ns: u64) -> Self {
        Self { half_width_ns: self.half_width_ns.map(|half| half.saturating_add(ns)), ..self }
    }
}

/// By how much the mean of the faster nine tenths of `times`, those of a whole, may differ from what
/// the faster nine tenths of its `parts` add up to, nanoseconds.
///
/// Two things are in it. Of a part that was measured `fewest` times, a tenth of the sample is some
/// other share of all that it could have been: between `low` and `high`, the interval of Wilson
/// around a tenth. And each part is slow in other operations: the means of the faster nine tenths of
/// `k` parts add up to no more than that of the whole, and to no less than that of the whole without
/// its slowest `k` tenths, if the parts are independent, or slow together. So the figure is how far
/// the mean of the whole moves when `low`, or the larger of `high` and `k` tenths, is left out. Where
/// nothing takes much longer than the rest, or less than `low` of the operations do, it is small;
/// where about a tenth do, it is large, and nothing is told.
///
/// # Source
/// That the sum is no more: means without the slowest share are superadditive, as expected shortfall
/// is subadditive (Acerbi and Tasche, On the coherence of expected shortfall, J. Banking and Finance
/// 26, 2002). Wilson, Probable inference, the law of succession, and statistical inference, J. Am.
/// Statist. Assoc. 22, 1927.
pub(crate) fn left_out_elsewhere_ns(times: &Histogram, fewest: u64, parts: usize) -> u64 {
    let sorted = Sorted::of(times);
    let (low, high) = wilson(LEFT_OUT, fewest);
    let apart = LEFT_OUT * f64::from(u32::try_from(parts).unwrap_or(u32::MAX));
    let most = high.max(apart).min(1.0 - KEPT_MIN);
    let mean = sorted.mean_without(LEFT_OUT);
    let moved = (mean - sorted.mean_without(most)).max(sorted.mean_without(low) - mean);
    signed(moved).unsigned_abs()
}

/// The 95 % interval of a share of which `share` was seen among `n`, 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "a count of operations")]
fn wilson(share: f64, n: u64) -> (f64, f64) {
    let n = n.max(1) as f64;
    let square = NORMAL * NORMAL;
    let middle = share + square / (2.0 * n);
    let half = NORMAL * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    let scale = 1.0 + square / n;
    ((middle - half) / scale, (middle + half) / scale)
}

/// Times in ascending order, nanoseconds, each with how many there are of it.
struct Sorted {
    times: Vec<(f64, f64)>,
    count: f64,
}

impl Sorted {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of seconds, and their count")]
    fn of(times: &Histogram) -> Self {
        let all = times.middles().map(|(ns, count)| (ns as f64, count as f64)).collect();
        Self { times: all, count: times.count() as f64 }
    }

    /// The mean when the slowest share `left_out`, 0 to below 1, is left out: of the time at the
    /// limit, what belongs to either side. 0 of nothing.
    fn mean_without(&self, left_out: f64) -> f64 {
        let keep = (1.0 - left_out) * self.count;
        let (mut kept, mut sum) = (0.0, 0.0);
        for (ns, count) in &self.times {
            let taken = count.min(keep - kept);
            if taken <= 0.0 {
                break;
            }
            kept += taken;
            sum += taken * ns;
        }
        if kept > 0.0 { sum / kept } else { 0.0 }
    }

    /// The slowest time that is not left out whole.
    fn limit(&self) -> f64 {
        let rank = self.count - (LEFT_OUT * self.count).floor();
        let mut seen = 0.0;
        let mut times = self.times.iter();
        let found = times.find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found.map_or(0.0, |(ns, _)| *ns)
    }

    /// Standard deviation of the population, of times that are `limit` at most.
    fn deviation(&self, limit: f64) -> f64 {
        let capped = || self.times.iter().map(|(ns, count)| (ns.min(limit), count));
        let mean = capped().map(|(ns, count)| ns * count).sum::<f64>() / self.count;
        let squares: f64 = capped().map(|(ns, count)| (ns - mean).powi(2) * count).sum();
        (squares / (self.count - 1.0)).sqrt()
    }

    /// See [`Estimate::of_the_faster`]; `None` where `values` are too few to tell.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of times, of which Student's quantile takes 30 at most"
    )]
    fn half_width(&self, values: &[f64]) -> Option<f64> {
        let (error, freedom) = standard_error(values)?;
        let root = self.count.sqrt();
        let alike = ratio(error, self.deviation(f64::INFINITY) / root).max(memory(values)?);
        let kept = self.count - (LEFT_OUT * self.count).floor();
        let student = student(freedom.min(kept as usize - 1));
        Some(student * alike * self.deviation(self.limit()) / ((1.0 - LEFT_OUT) * root))
    }
}

/// By how much more the mean of `values` scatters than if they were independent, at least 1, when
/// each of the slowest tenth of them is no slower than the others: what a few slow ones would hide.
#[expect(clippy::cast_precision_loss, reason = "a count of batches")]
fn memory(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let limit = *sorted.get((values.len() - values.len() / 10).checked_sub(1)?)?;
    let capped: Vec<f64> = values.iter().map(|value| value.min(limit)).collect();
    let alone = standard_deviation(&capped)? / (values.len() as f64).sqrt();
    Some(ratio(standard_error(&capped)?.0, alone))
}

/// `error` over `alone`, at least 1.
fn ratio(error: f64, alone: f64) -> f64 {
    if alone > 0.0 { (error / alone).max(1.0) } else { 1.0 }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a float is cast to the nearest integer in range"
)]
fn signed(ns: f64) -> i64 {
    ns.round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::SplitMix64;
    use crate::{Batches, CannotBeSplit, FasterCalls, PartKind, Series, TimePart};

    const US: f64 = 1_000.0;

    /// A time of exponential distribution around this mean.
    fn tail(random: &mut SplitMix64, mean: f64) -> f64 {
        -(1.0 - random.uniform()).ln() * mean
    }

    fn recorded(times: impl IntoIterator<Item = f64>) -> Series {
        let mut series = Series::default();
        times.into_iter().for_each(|ns| series.record(signed(ns).unsigned_abs()));
        series
    }

    #[test]
    fn the_slowest_tenth_is_left_out_and_one_at_the_limit_in_part() {
        let mean = |n: u32| Sorted::of(&recorded((1..=n).map(f64::from)).times).mean_without(0.1);
        assert!((mean(10) - 5.0).abs() < 1e-9, "1 to 9: {}", mean(10));
        // of 15 times 1.5 are left out: the fifteenth, and half of the fourteenth
        assert!((mean(15) - (91.0 + 7.0) / 13.5).abs() < 1e-9, "{}", mean(15));
        let spoilt = (1..=19).map(f64::from).chain([1e9]);
        assert_eq!(recorded(spoilt).faster().mean_ns, 10, "9.5 of 1 to 18");
        assert_eq!(recorded([]).faster(), Estimate::default());
    }

    #[test]
    fn too_few_times_have_no_interval() {
        let half = |n: u32| recorded((1..=n).map(f64::from)).faster().half_width_ns;
        assert_eq!(half(9), None);
        assert!(half(10).is_some_and(|half| half > 0));
    }

    #[test]
    fn the_interval_is_that_of_the_winsorized_variance() {
        // 1 to 20 with 19 and 20 replaced by 18: a deviation of 5.68725 by hand, and for 17 degrees
        // of freedom Student's quantile is 2.110
        let half = recorded((1..=20).map(|n| 1e3 * f64::from(n))).faster().half_width_ns.unwrap();
        let expected = 2.110 * 5_687.25 / (0.9 * 20_f64.sqrt());
        assert!(half.abs_diff(signed(expected).unsigned_abs()) < 20, "{half} {expected}");
    }

    #[test]
    fn wilson_encloses_the_share() {
        // statsmodels.stats.proportion.proportion_confint(3, 30, method="wilson")
        let (low, high) = wilson(0.1, 30);
        assert!((low - 0.0346).abs() < 1e-3 && (high - 0.2562).abs() < 1e-3, "{low} {high}");
    }

    /// The share of 400 samples of `n` times whose interval holds `truth`.
    fn covered(n: usize, truth: f64, mut next: impl FnMut() -> f64) -> f64 {
        let hits = (0..400).filter(|_| {
            let known = recorded((0..n).map(|_| next())).faster();
            known.mean_ns.abs_diff(signed(truth)) <= known.half_width_ns.unwrap()
        });
        f64::from(u32::try_from(hits.count()).unwrap()) / 400.0
    }

    /// The mean of the faster nine tenths of an exponential distribution around 1.
    const EXPONENTIAL: f64 = 0.744_157; // (1 - 0.1 (1 + ln 10)) / 0.9

    #[test]
    fn the_interval_holds_the_true_mean_in_about_95_of_100_samples() {
        for n in [30, 200, 2_000] {
            let mut random = SplitMix64::new(n as u64);
            let truth = 100.0 * US + 40.0 * US * EXPONENTIAL;
            let share = covered(n, truth, || 100.0 * US + tail(&mut random, 40.0 * US));
            assert!((0.91..=0.99).contains(&share), "{n} times: {share}");
        }
    }

    #[test]
    fn a_few_times_that_are_very_long_do_not_spoil_the_interval() {
        // two of a hundred: of the others, 0.08 / 0.98 are left out
        let left: f64 = 0.08 / 0.98;
        let others = (1.0 - left * (1.0 - left.ln())) / (1.0 - left);
        for n in [50, 1_000] {
            let mut random = SplitMix64::new(7 + n as u64);
            let share = covered(n, 40.0 * US * others, || {
                let slow = random.uniform() < 0.02;
                tail(&mut random, 40.0 * US) + if slow { 10_000.0 * US } else { 0.0 }
            });
            assert!((0.91..=0.99).contains(&share), "{n} times: {share}");
        }
    }

    #[test]
    fn times_that_are_like_their_neighbours_have_a_wider_interval() {
        // a level that holds for some 20 times on the average, and a tail on each of them
        let mut random = SplitMix64::new(5);
        let mut next = {
            let mut level = 0.0;
            move || {
                if random.uniform() < 0.05 {
                    level = 50.0 * US * random.uniform();
                }
                100.0 * US + level + tail(&mut random, 10.0 * US)
            }
        };
        let truth = Sorted::of(&recorded((0..2_000_000).map(|_| next())).times).mean_without(0.1);
        let share = covered(2_000, truth, next);
        assert!((0.90..=0.995).contains(&share), "{share}");
    }

    /// Calls whose server, way and driver take known times, and looks of the same kinds.
    struct Model {
        random: SplitMix64,
        /// The share of calls for which the server takes 50 ms more.
        slow: f64,
        /// The share of calls that the way takes 50 ms more for.
        far: f64,
    }

    impl Model {
        /// A time of this mean, of which two thirds are the same each time. One in two hundred meets a
        /// processor that is gone for 8 ms.
        fn time(&mut self, mean_us: f64) -> f64 {
            let gone =
                if self.random.uniform() < 0.005 { tail(&mut self.random, 8e3 * US) } else { 0.0 };
            mean_us * US * 2.0 / 3.0 + tail(&mut self.random, mean_us * US / 3.0) + gone
        }

        fn at_times(&mut self, share: f64) -> f64 {
            if self.random.uniform() < share { 50_000.0 * US } else { 0.0 }
        }

        fn server(&mut self) -> f64 {
            let slow = self.slow;
            self.time(70.0) + self.at_times(slow)
        }

        fn wire(&mut self) -> f64 {
            let far = self.far;
            self.time(110.0) + self.at_times(far)
        }

        /// Means of server, wire and rest over the faster nine tenths of the calls.
        fn truth(&mut self) -> [f64; 3] {
            let mut calls: Vec<[f64; 3]> =
                (0..20_000).map(|_| [self.server(), self.wire(), self.time(15.0)]).collect();
            calls.sort_by(|one, other| {
                one.iter().sum::<f64>().total_cmp(&other.iter().sum::<f64>())
            });
            calls.truncate(18_000);
            [0, 1, 2].map(|at| calls.iter().map(|call| call[at]).sum::<f64>() / 18_000.0)
        }

        /// What 2,000 calls and so many looks of each kind tell.
        fn account(&mut self, looks: usize) -> Result<FasterCalls, CannotBeSplit> {
            let mut batches = Batches::default();
            let calls = (0..2_000).map(|_| self.server() + self.wire() + self.time(15.0));
            let calls = recorded(calls.inspect(|ns| batches.record(signed(*ns).unsigned_abs())));
            let wire = recorded((0..looks).map(|_| self.wire()));
            let statement = recorded((0..looks).map(|_| self.server() + self.time(20.0)));
            let empty = recorded((0..looks).map(|_| self.time(20.0)));
            let part = |kind, time| TimePart { kind, time, how: String::new() };
            let parts = vec![
                part(PartKind::Server, statement.faster().less(&[empty.faster()])),
                part(PartKind::Wire, wire.faster()),
            ];
            FasterCalls::of(&calls.times, batches.means().as_ref(), parts, "")
        }
    }

    #[test]
    fn the_parts_add_up_and_are_those_that_were_put_in() {
        let mut model = Model { random: SplitMix64::new(1), slow: 0.0, far: 0.0 };
        let truth = model.truth();
        let told = model.account(400).unwrap();
        let sum: i64 = told.parts.iter().map(|part| part.time.mean_ns).sum();
        assert_eq!(sum, told.client.mean_ns);
        for (part, truth) in told.parts.iter().zip(truth) {
            // what is slow in other calls than the whole is in the interval of that
            let half = part.time.half_width_ns.unwrap() + told.client.half_width_ns.unwrap();
            assert!(part.time.mean_ns.abs_diff(signed(truth)) <= half, "{part:?} {truth}");
        }
        let kinds: Vec<PartKind> = told.parts.iter().map(|part| part.kind).collect();
        assert_eq!(kinds, [PartKind::Server, PartKind::Wire, PartKind::Rest]);
    }

    /// Of 20 accounts, how many are told, and how many of these tell a part, or the rest, beyond its
    /// interval and that of the whole.
    fn judged(slow: f64, far: f64, looks: usize) -> (u32, u32) {
        let mut model = Model { random: SplitMix64::new(looks as u64), slow, far };
        let truth = model.truth();
        let (mut told, mut false_ones) = (0, 0);
        for account in (0..20).filter_map(|_| model.account(looks).ok()) {
            let whole_half = account.client.half_width_ns.unwrap();
            let is_false = account.parts.iter().zip(truth).any(|(part, truth)| {
                let half = part.time.half_width_ns.unwrap() + whole_half;
                part.time.mean_ns.abs_diff(signed(truth)) > half
            });
            told += 1;
            false_ones += u32::from(is_false);
        }
        (told, false_ones)
    }

    #[test]
    fn where_many_times_are_very_long_nothing_false_is_told() {
        let shares = [0.0, 0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5];
        for looks in [16, 50, 200] {
            for slow in shares {
                for far in [0.0, slow] {
                    let (told, false_ones) = judged(slow, far, looks);
                    assert!(
                        false_ones <= 1,
                        "slow {slow}, far {far}, {looks} looks: {false_ones} of {told} false"
                    );
                }
            }
        }
    }

    #[test]
    fn where_few_times_are_very_long_the_others_are_told() {
        for (slow, looks) in [(0.0, 50), (0.01, 50), (0.0, 200), (0.03, 200)] {
            let (told, _) = judged(slow, 0.0, looks);
            assert!(told >= 16, "{told} of 20 told with {slow} and {looks} looks");
        }
    }
}
