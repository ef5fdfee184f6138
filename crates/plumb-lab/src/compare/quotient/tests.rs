//! Coverage: how often the interval holds the truth, of runs that are drawn and whose truth is known.

use plumb_measure::statistics::{SplitMix64, quotient_interval};

use super::*;

/// Pairs of runs that are drawn for each kind of load.
const PAIRS: u64 = 200;
/// The candidate takes so many times as long.
const SLOWER: f64 = 1.1;

/// A load of one user without think time, and the system that it meets.
#[derive(Clone, Copy)]
struct Load {
    /// Times of operations of a kind, each as likely as the others, in any unit.
    times: &'static [f64],
    /// Standard deviation of the logarithm of a time.
    spread: f64,
    /// Length of the run in the same unit, and how many intervals it has.
    length: f64,
    intervals: usize,
    /// How far an interval is like the one before, from 0 to 1: all of it goes faster or slower by a
    /// factor whose logarithm has the standard deviation `sway`.
    memory: f64,
    sway: f64,
}

/// Fifty intervals with some 19 operations each, which know nothing of each other.
const STEADY: Load =
    Load { times: &[200.0], spread: 0.3, length: 200_000.0, intervals: 50, memory: 0.0, sway: 0.0 };

/// By Box and Muller.
fn normal(random: &mut SplitMix64) -> f64 {
    let radius = (-2.0 * (1.0 - random.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.uniform()).cos()
}

impl Load {
    /// What the operations of each interval took in a run in which each takes `factor` times as long.
    fn run(self, factor: f64, random: &mut SplitMix64) -> Vec<Vec<u64>> {
        let fresh = self.sway * (1.0 - self.memory * self.memory).sqrt();
        let mut level = self.sway * normal(random);
        let length = self.length / f64::from(u32::try_from(self.intervals).unwrap());
        let mut ends = length * random.uniform(); // where the first operation ends
        let mut intervals = Vec::new();
        for number in 1..=u32::try_from(self.intervals).unwrap() {
            let mut interval = Vec::new();
            while ends < f64::from(number) * length {
                let time = self.times[random.below(self.times.len())];
                let time = factor * time * (self.spread * normal(random) + level).exp();
                interval.push(plumb_measure::rounded(time));
                ends += time;
            }
            level = self.memory * level + fresh * normal(random);
            intervals.push(interval);
        }
        intervals
    }

    /// How often, of a hundred, the intervals of the median, of the throughput and of the mean are given,
    /// and how often those that are given hold the truth.
    fn covered(self) -> [(u64, u64); 3] {
        let (mut given, mut held) = ([0; 3], [0; 3]);
        for seed in 0..PAIRS {
            let mut random = SplitMix64::new(seed);
            let runs = [1.0, SLOWER].map(|factor| self.run(factor, &mut random));
            let medians = [0, 1].map(|at| median_of(&runs[at]));
            let rates = [0, 1].map(|at| rate_of(&runs[at]));
            let means = [0, 1].map(|at| mean_of(&runs[at]));
            let all = [(0, medians, SLOWER), (1, rates, 1.0 / SLOWER), (2, means, SLOWER)];
            for (at, figures, truth) in all {
                let [Some(by), Some(of)] = figures else { continue };
                let found = quotient_interval(of, by, 0.95).unwrap();
                let quotient = of.value / by.value;
                assert!(found.low <= quotient && quotient <= found.high, "{found:?} {quotient}");
                given[at] += 1;
                held[at] += u64::from(found.low <= truth && truth <= found.high);
            }
        }
        [0, 1, 2].map(|at| (100 * given[at] / PAIRS, 100 * held[at] / given[at].max(1)))
    }
}

fn median_of(intervals: &[Vec<u64>]) -> Option<Bounded> {
    let whole = of(&intervals.concat());
    let p50 = whole.quantile(0.5);
    let (first, last) = Histogram::bucket_of(p50);
    let part = |it: &Vec<u64>| Part {
        operations: it.len() as u64,
        below: it.iter().filter(|it| **it < first).count() as u64,
        up_to: it.iter().filter(|it| **it <= last).count() as u64,
        ..Part::default()
    };
    median(&whole, p50, &intervals.iter().map(part).collect::<Vec<_>>())
}

fn mean_of(intervals: &[Vec<u64>]) -> Option<Bounded> {
    let part = |it: &Vec<u64>| Part {
        operations: it.len() as u64,
        sum_ns: it.iter().sum(),
        ..Part::default()
    };
    let of_all = of(&intervals.concat()).mean();
    mean(plumb_measure::rounded(of_all), &intervals.iter().map(part).collect::<Vec<_>>())
}

fn rate_of(intervals: &[Vec<u64>]) -> Option<Bounded> {
    let result = result(intervals);
    throughput(&result, &answers(&result, &[]))
}

fn of(times: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    times.iter().for_each(|time| histogram.record(*time));
    histogram
}

/// The result of a run with these intervals of 100 ms.
fn result(intervals: &[Vec<u64>]) -> ResultRecord {
    let ns = 100_000_000;
    let interval = |it: &Vec<u64>| plumb_measure::Interval {
        duration_ns: ns,
        operations: it.len() as u64,
        ..plumb_measure::Interval::default()
    };
    let operations = intervals.iter().map(|it| it.len() as u64).sum();
    ResultRecord {
        operations,
        throughput_per_s: float(operations) * 1e9 / float(ns * intervals.len() as u64),
        intervals: intervals.iter().map(interval).collect(),
        ..ResultRecord::default()
    }
}

#[test]
fn intervals_hold_the_truth_whatever_the_operations_are_like() {
    let heavy = Load { spread: 1.0, ..STEADY };
    // four or five in an interval
    let slow = Load { times: &[2_250.0], spread: 0.05, length: 500_000.0, ..STEADY };
    let regular = Load { spread: 0.002, ..slow };
    let short = Load { length: 40_000.0, intervals: 10, ..STEADY };
    let mixed = Load { times: &[50.0, 500.0, 5_000.0], spread: 0.03, length: 600_000.0, ..STEADY };
    let of_two = Load { times: &[50.0, 500.0, 500.0], spread: 0.1, ..mixed };
    for (name, load) in [
        ("steady", STEADY),
        ("heavy", heavy),
        ("slow", slow),
        ("regular", regular),
        ("short", short),
        ("mixed", mixed),
        ("of two kinds", of_two),
    ] {
        let found = load.covered();
        assert!(found.iter().all(|(given, held)| *given >= 98 && *held >= 95), "{name} {found:?}");
    }
}

#[test]
fn intervals_that_are_like_their_neighbours_are_not_taken_for_knowledge() {
    let short = Load { length: 40_000.0, intervals: 10, ..STEADY };
    for (load, memory, least) in [
        (STEADY, 0.5, 95),
        (STEADY, 0.8, 90),
        (STEADY, 0.9, 87),
        (short, 0.5, 96),
        (short, 0.8, 91),
    ] {
        let found = Load { memory, sway: 0.05, ..load }.covered();
        // what sways with its neighbours shows in all of a mean, and in a part of a median
        let [median, rate, mean] = found.map(|(_, held)| held);
        assert!(median.min(rate) >= least && mean >= least - 4, "{memory} {found:?}");
    }
}

#[test]
fn a_run_that_changes_has_a_median_somewhere_between_both() {
    let changed_at = |place: u32| {
        let of = |n| if n < place { vec![520; 3] } else { vec![820; 2] };
        median_of(&(0..50).map(of).collect::<Vec<_>>())
    };
    let late = changed_at(40).unwrap();
    assert_eq!((late.low, late.value, late.high), (520.0, 520.0, 820.0));
    // most of the operations before the change: nothing is known of a median of both
    assert_eq!(changed_at(25), None);
}

#[test]
fn too_few_intervals_or_operations_give_none() {
    let intervals = vec![vec![1_000]; 9];
    assert_eq!(median_of(&intervals), None);
    assert_eq!((rate_of(&intervals), mean_of(&intervals)), (None, None));
    let none = vec![Vec::new(); 20];
    assert_eq!(median_of(&none), None);
    assert_eq!((rate_of(&none), mean_of(&none)), (None, None));
    // a regular load is known to one operation, and a time to its bucket
    let intervals = vec![vec![1_000]; 20];
    let found = rate_of(&intervals).unwrap();
    assert!((found.high / found.value - 1.05).abs() < 0.01, "{found:?}");
    assert_eq!(median_of(&intervals).map(|it| it.value), Some(1_000.0));
    // operations that happen to be alike say the less the fewer they are
    let one_in_ten = |operations: usize| -> Vec<Vec<u64>> {
        (0..50).map(|at| vec![2_000; usize::from(at % 10 == 0 && at / 10 < operations)]).collect()
    };
    assert_eq!(median_of(&one_in_ten(5)), None);
    let six = [one_in_ten(5), vec![vec![2_000]; 1]].concat();
    assert_eq!(median_of(&six).map(|it| it.value), Some(2_000.0));
}

/// The median of the record is exact where it is the shortest or the longest time, and the quantiles of
/// its histogram are the middles of their buckets.
#[test]
fn a_median_lies_in_its_interval_where_all_times_are_in_one_bucket() {
    let times = [1_999_700_000, 1_999_800_000, 1_999_900_000];
    let whole = hdr::decode(&hdr::encode(&of(&times.repeat(20)))).unwrap();
    let part = Part { operations: 3, up_to: 3, ..Part::default() };
    let p50 = 1_999_900_000;
    assert_ne!(whole.quantile(0.5), p50);
    let found = median(&whole, p50, &[part; 20]).unwrap();
    assert!((found.value - 1_999_900_000.0).abs() < 0.5, "{found:?}");
    assert!(found.low < found.value && found.value < found.high, "{found:?}");
}

#[test]
fn a_stream_has_its_throughput_by_its_own_intervals() {
    let portion = |bytes| Some(plumb_measure::Portion { bytes, duration_ns: 100, lost: None });
    let stream = |intervals| ResultRecord {
        operations: 250,
        throughput_per_s: 50.0,
        stream: Some(plumb_measure::StreamFigures { intervals, ..Default::default() }),
        ..ResultRecord::default()
    };
    let one = |at: u64| StreamInterval {
        start_ns: 100 * at,
        to_server: portion(800 + at % 2),
        from_server: portion(200),
    };
    let found = stream((0..50).map(one).collect());
    let all = answers(&found, &[]);
    assert_eq!((all.len(), all[1]), (50, (1_001.0, 100.0)));
    // one buffer of 250, which hold many bytes each
    let found = throughput(&found, &all).unwrap();
    assert!((found.high / found.value - 1.004).abs() < 1e-4, "{found:?}");
    let short = stream((0..9).map(one).collect());
    assert_eq!(throughput(&short, &answers(&short, &[])), None);
    assert!(answers(&stream(Vec::new()), &[]).is_empty());
}

#[test]
fn intervals_are_read_from_the_log_of_the_run_and_only_where_all_is_in_it() {
    let at = tempfile::tempdir().unwrap();
    let mut folder = plumb_folder::RunFolder::create_new(&at.path().join("run")).unwrap();
    let times = [[10, 20], [30, 40]];
    let result = ResultRecord {
        response_ns: plumb_measure::Distribution::of(&of(times.as_flattened())),
        ..ResultRecord::default()
    };
    let read = |result| parts_of(&IntervalLog::of(&at.path().join("run")), result).unwrap();
    let tag = hdr::log_tag("response", &result.labels);
    folder.append_intervals(&hdr::log_header(0, "then")).unwrap();
    for (second, times) in (0..).zip(&times) {
        // a line for each row of the recorder
        for time in times {
            let line = hdr::log_line(&tag, second * 1_000_000_000, 1_000_000_000, &of(&[*time]));
            assert!(read(&result).is_none(), "there is more to come");
            folder.append_intervals(&line).unwrap();
        }
    }
    // the median is 20
    let parts = read(&result).unwrap();
    let part = Part { operations: 2, length_ns: 1_000_000_000, ..Part::default() };
    let [first, second] = [(1, 2, 30), (0, 0, 70)].map(|(below, up_to, sum_ns)| Part {
        below,
        up_to,
        sum_ns,
        ..part
    });
    assert_eq!(parts, [first, second]);
    // and so is the throughput of a load whose record has no intervals, as that of several clients
    assert_eq!(answers(&result, &parts), [(2.0, 1e9); 2]);
    assert!(parts_of(&IntervalLog::of(at.path()), &result).unwrap().is_none());
}
