//! A median, and how well it is known.

use serde::{Deserialize, Serialize};

use plumb_measure::real;
use plumb_measure::statistics::{self, half_width};
use plumb_measure::{Distribution, Histogram, Interval, ResultRecord};

/// With fewer operations not even the shortest and the longest enclose the median at 95 %: both lie
/// on the same side of it in 2 of 2^n cases.
pub(super) const SAMPLES_MIN: u64 = 6;
/// The quantile of the normal distribution at 97.5 %.
const NORMAL: f64 = 1.96;
/// Neighbours that are taken together, in turn: where they are alike, the larger groups scatter
/// more than the smaller ones allow, and the widest of the three counts.
const GROUPS: [usize; 3] = [1, 2, 4];
/// Fewer groups scatter too much themselves to say how much they do.
const GROUPS_MIN: usize = 5;
/// An interval with fewer operations than the usual number over this has few.
const FEW: u64 = 10;
/// Draws of which the shortest and the longest enclose the median.
const DRAWS_MIN: usize = 6;

/// A median and the interval in which it lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Middle {
    /// The median, nanoseconds.
    pub ns: u64,
    /// Lower end, nanoseconds.
    pub low_ns: u64,
    /// Upper end, nanoseconds.
    pub high_ns: u64,
    /// Intervals of the run that say how alike neighbours are, which widens the 95 % interval; 0:
    /// it reaches from the shortest to the longest time, for want of intervals.
    pub intervals: u64,
}

impl Middle {
    /// The median of `times`, between two of its own order statistics.
    ///
    /// Were the operations independent, the share of those below the true median would lie within
    /// `0.5 +- 1.96 * sqrt(0.25 / n)` in 95 % of all runs of `n` operations. Operations close in time
    /// are alike, so each interval of the run is taken as one draw, weighted by its operations: an
    /// interval of two operations counts as two of thousands, not as one of twenty. The wider of the
    /// two applies, but reaches no further than the medians of the intervals themselves.
    ///
    /// # Source
    /// Order statistics: Conover, Practical Nonparametric Statistics, 3.2. Shares from clusters of
    /// unequal size: Cochran, Sampling Techniques, 3.12 and 11.
    pub(super) fn of(times: &Distribution, result: &ResultRecord) -> Self {
        Self::between(times, result, medians)
    }

    /// The same of the times over a connection that callers wait for first: the medians of the
    /// intervals have that wait in them, and are no ends of these.
    pub(super) fn over_connection(times: &Distribution, result: &ResultRecord) -> Self {
        Self::between(times, result, |_| None)
    }

    fn between(
        times: &Distribution,
        result: &ResultRecord,
        ends: impl Fn(&[Interval]) -> Option<(u64, u64)>,
    ) -> Self {
        if times.count < SAMPLES_MIN {
            return Self::alone(times);
        }
        let busy: Vec<Interval> =
            result.intervals.iter().copied().filter(|it| it.operations > 0).collect();
        let all = result.response_ns.as_ref().unwrap_or(times);
        let (Ok(own), Ok(all)) = (times.decode(), all.decode()) else { return Self::alone(times) };
        let Some(clustered) = share_half_width(&busy, &all) else { return Self::alone(times) };
        let alone = NORMAL * (0.25 / real(times.count)).sqrt();
        let half = clustered.max(alone);
        let (shortest, longest) = ends(&busy).unwrap_or((times.min, times.max));
        Self {
            ns: times.p50,
            low_ns: at(&own, 0.5 - half).max(shortest).min(at(&own, 0.5 - alone)),
            high_ns: at(&own, 0.5 + half).min(longest).max(at(&own, 0.5 + alone)),
            intervals: busy.len() as u64,
        }
    }

    /// The median of `times`, of whose order nothing is known.
    pub(super) fn alone(times: &Distribution) -> Self {
        Self { ns: times.p50, low_ns: times.min, high_ns: times.max, intervals: 0 }
    }
}

/// The shortest and the longest median of the intervals, those with few operations aside; `None`
/// when there are too few of them: of six draws and more, all lie on one side of the median in less
/// than 1 of 20 cases.
fn medians(intervals: &[Interval]) -> Option<(u64, u64)> {
    let operations: u64 = intervals.iter().map(|it| it.operations).sum();
    let usual = operations / (intervals.len() as u64).max(1);
    let heavy = || intervals.iter().filter(|it| it.operations * FEW >= usual).map(|it| it.p50);
    (heavy().count() >= DRAWS_MIN).then_some(())?;
    Some((heavy().min()?, heavy().max()?))
}

/// Half the width of the 95 % interval of the share of operations below the median, as the
/// `intervals` of a run scatter; `None` for fewer than two.
fn share_half_width(intervals: &[Interval], all: &Histogram) -> Option<f64> {
    let operations: u64 = intervals.iter().map(|it| it.operations).sum();
    let weight = |it: &Interval| real(it.operations) / real(operations.max(1));
    // an interval whose median lies at 0.7 of all times has some 0.3 of its own below that of all
    let below = |it: &Interval| 1.0 - place(all, it.p50);
    let mean: f64 = intervals.iter().map(|it| weight(it) * below(it)).sum();
    let count = real(intervals.len() as u64);
    let deviations: Vec<f64> =
        intervals.iter().map(|it| count * weight(it) * (below(it) - mean)).collect();
    let grouped = |size: &usize| {
        let groups: Vec<f64> = deviations.chunks(*size).filter_map(statistics::mean).collect();
        half_width(&groups)
    };
    let enough = |size: &&usize| **size == 1 || deviations.len() / **size >= GROUPS_MIN;
    GROUPS.iter().filter(enough).filter_map(grouped).max_by(f64::total_cmp)
}

/// The share of `all` below `ns`, half of those in its bucket among them.
fn place(all: &Histogram, ns: u64) -> f64 {
    let before = (ns - (ns >> 10)).checked_sub(1).map_or(0, |ns| all.count_at_or_below(ns));
    f64::midpoint(real(before), real(all.count_at_or_below(ns))) / real(all.count().max(1))
}

/// The time at the share `q` of `times`; beyond 0 and 1 the shortest and the longest.
fn at(times: &Histogram, q: f64) -> u64 {
    match q {
        q if q <= 0.0 => times.min(),
        q if q >= 1.0 => times.max(),
        q => times.quantile(q),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::statistics::SplitMix64;

    /// A run whose intervals hold these times.
    fn run(intervals: &[Vec<u64>]) -> (Distribution, ResultRecord) {
        let mut whole = Histogram::new();
        let mut record = ResultRecord::default();
        for times in intervals {
            let mut histogram = Histogram::new();
            times.iter().for_each(|ns| histogram.record(*ns));
            whole.merge(&histogram);
            record.intervals.push(Interval {
                users: 0,
                start_ns: 0,
                duration_ns: 1,
                operations: histogram.count(),
                failures: 0,
                p50: histogram.quantile(0.5),
                p99: histogram.quantile(0.99),
                max: histogram.max(),
            });
        }
        let times = Distribution::of(&whole).unwrap();
        record.response_ns = Some(times.clone());
        (times, record)
    }

    fn middle(intervals: &[Vec<u64>]) -> Middle {
        let (times, record) = run(intervals);
        Middle::of(&times, &record)
    }

    /// `n` times around `ns`, each another.
    fn around(ns: u64, n: u64) -> Vec<u64> {
        (0..n).map(|at| ns - ns / 10 + at * ns / 5 / n).collect()
    }

    #[test]
    fn the_interval_of_independent_times_is_that_of_their_ranks() {
        let spread: Vec<Vec<u64>> = (0..20)
            .map(|shift| (0..50).map(|at| 100_000 + (at * 20 + shift * 7 % 20) * 100).collect())
            .collect();
        let middle = middle(&spread);
        // of 1,000 times, scipy.stats.quantile_test(x).confidence_interval(0.95) takes the 469th
        // and the 531st
        let expected = |rank: u64| 100_000 + (rank - 1) * 100;
        assert!(middle.low_ns.abs_diff(expected(469)) <= 300, "{middle:?}");
        assert!(middle.high_ns.abs_diff(expected(531)) <= 300, "{middle:?}");
    }

    #[test]
    fn an_interval_of_two_operations_does_not_count_as_one_of_thousands() {
        let mut intervals = vec![around(60_000, 5_905); 19];
        intervals.push(vec![100_000_000, 110_000_000]);
        let middle = middle(&intervals);
        assert!(middle.low_ns > 59_000 && middle.high_ns < 61_000, "{middle:?}");
        assert_eq!(middle.intervals, 20);
    }

    #[test]
    fn a_run_that_was_slow_for_a_while_is_not_known_well() {
        let slow = around(60_000, 1_000);
        let middle =
            middle(&[slow.clone(), slow.clone(), slow.clone(), slow, around(7_000, 8_000)]);
        // most operations fall into the one quick interval
        assert!(middle.ns < 8_000, "{middle:?}");
        assert!(middle.low_ns < 7_000 && middle.high_ns > 54_000, "{middle:?}");
    }

    #[test]
    fn the_interval_reaches_no_further_than_the_medians_of_the_run() {
        // half of the time starved: the pooled median lies in between, and a long tail is no median
        let intervals: Vec<Vec<u64>> = (0..10)
            .map(|at| {
                let mut times = around(if at % 4 < 2 { 20_000 } else { 60_000 }, 500);
                times.push(5_000_000);
                times
            })
            .collect();
        let middle = middle(&intervals);
        assert!(middle.low_ns >= 19_000 && middle.high_ns <= 61_000, "{middle:?}");
        assert!(middle.high_ns - middle.low_ns > 30_000, "{middle:?}");
    }

    #[test]
    fn without_intervals_the_median_lies_between_the_shortest_and_the_longest() {
        let (times, record) = run(&[vec![10, 1_000, 90_000]]);
        for record in [record, ResultRecord::default()] {
            let alone = Middle::of(&times, &record);
            assert_eq!((alone.low_ns, alone.high_ns, alone.intervals), (10, 90_000, 0));
        }
    }

    #[test]
    fn six_operations_are_known_from_the_first_to_the_last() {
        let middle = middle(&[vec![1, 5, 9], vec![2, 6, 11]]);
        assert_eq!((middle.low_ns, middle.high_ns), (1, 11));
    }

    /// In how many of 150 runs the interval holds the true median, where the level of the times
    /// moves by `drift` at the beginning of each interval.
    fn held(drift: f64) -> u32 {
        const TRUE_NS: f64 = 100_000.0;
        let mut random = SplitMix64::new(7);
        let mut held = 0;
        for _ in 0..150 {
            let mut level = 0.0;
            let intervals: Vec<Vec<u64>> = (0..20)
                .map(|_| {
                    level = 0.5 * level + drift * (random.uniform() - 0.5);
                    let n = 20 + random.below(200);
                    let one = |random: &mut SplitMix64| {
                        TRUE_NS * (level + 0.4 * (random.uniform() - 0.5)).exp()
                    };
                    (0..n).map(|_| whole(one(&mut random))).collect()
                })
                .collect();
            let middle = middle(&intervals);
            held += u32::from(middle.low_ns <= 100_100 && middle.high_ns >= 99_900);
        }
        held
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "100,000 or so")]
    fn whole(ns: f64) -> u64 {
        ns as u64
    }

    #[test]
    fn the_interval_holds_the_median_as_often_as_it_says() {
        for drift in [0.0, 0.1] {
            let held = held(drift);
            assert!(held >= 130, "with a drift of {drift} in {held} of 150");
        }
    }
}
