//! A block: one run of one variant, and the figures that stand for it.

mod fault;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plumb_folder::{IntervalLog, read_record};
use plumb_measure::statistics::{
    MSER5_DECIDES, autocorrelation, correlation_time, moves_one_way, mser5, standard_deviation,
    trend,
};
use plumb_measure::{
    BatchMeans, Delivery, Distribution, Histogram, NipingFigures, ResultRecord, RoundTripMeans,
    RunRecord, StreamFigures, hdr,
};

use crate::LabError;
use crate::order::Turn;

/// Batches below which nothing is said about the order of operations.
const BATCHES_MIN: usize = 20;
/// Rank correlation with time from which on times moved one way.
const ONE_WAY: f64 = 0.5;

pub use fault::{BlockFault, foreign_load};

/// One run of one variant.
#[derive(Clone, Debug)]
pub struct Block {
    /// Of which variant, in which cell.
    pub turn: Turn,
    /// Number of the round, from one.
    pub round: u64,
    /// Its place among all blocks of the experiment in order of time, from one.
    pub number: u64,
    /// The run as it was written down.
    pub record: RunRecord,
    /// What stands for it, one entry a point of the plan.
    pub points: Vec<Point>,
}

/// What stands for a block at one point of its plan.
#[derive(Clone, Debug)]
pub struct Point {
    /// The point: `size`, `connections`, ...
    pub labels: BTreeMap<String, String>,
    /// Response times behind the warm-up; absent when nothing succeeded.
    pub response: Option<Response>,
    /// Correct answers a second behind the warm-up.
    pub throughput_per_s: f64,
    /// Bits a second that streams carried, in both directions together.
    pub bits_per_s: Option<f64>,
    /// Rows a second that came into the table of a sink, by its own time stamps.
    pub rows_per_s: Option<f64>,
    /// Processor time an operation of the load generator, nanoseconds, over the whole block.
    pub client_cpu_ns: Option<f64>,
    /// Processor time an operation of the server, nanoseconds, over the whole block.
    pub server_cpu_ns: Option<f64>,
    /// The means of the parts of round trips that were taken apart, over the whole block.
    pub round_trip: Option<RoundTripMeans>,
    /// The figure that a command of the user printed.
    pub figure: Option<f64>,
    /// What such a command took, in the order and units of [`crate::COST`].
    pub cost: [Option<f64>; 4],
    /// Share of the operations that was cut off as warm-up, from 0 to 1.
    pub warm_up: f64,
    /// Whether response times came to a steady state.
    pub settling: Settling,
    /// What the order of the operations tells; absent below 100 of them.
    pub order: Option<OrderFacts>,
}

/// Whether response times came to a steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settling {
    /// They did, behind the warm-up if there was one, or too few are known to tell.
    Settled,
    /// They wavered to the end, up and down: no warm-up can be told from that, nothing is cut off.
    Wavers,
    /// They moved one way to the end.
    Never,
}

/// Response times of a block, nanoseconds.
#[derive(Clone, Debug)]
pub struct Response {
    /// All of them.
    pub histogram: Histogram,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The mean.
    pub mean: f64,
    /// The figures of niping, where the layer gives them.
    pub niping: Option<NipingFigures>,
}

/// What the order of the operations in a block tells.
#[derive(Clone, Copy, Debug)]
pub struct OrderFacts {
    /// So many independent operations would say as much about the mean.
    pub effective_samples: f64,
    /// Correlation of neighbouring batches.
    pub autocorrelation: f64,
    /// Standard error of the mean as a share of it.
    pub standard_error: f64,
}

impl Block {
    /// Reads the run in `folder` as the block of `turn` in `round`, which has that `number` in the experiment.
    ///
    /// # Errors
    /// [`LabError::Folder`] when the run or its interval log cannot be read.
    pub fn read(folder: &Path, turn: Turn, (round, number): (u64, u64)) -> Result<Self, LabError> {
        let record = read_record(folder)?;
        let log = IntervalLog::of(folder);
        let points = record
            .results
            .iter()
            .map(|result| Point::of(result, &log))
            .collect::<Result<_, _>>()?;
        Ok(Self { turn, round, number, record, points })
    }
}

/// The response times of `result` behind its first `operations`, from the `log` of its run: whole
/// intervals only, and how long these intervals lasted.
fn behind(
    log: &IntervalLog,
    result: &ResultRecord,
    operations: u64,
) -> Result<Option<(Histogram, u64)>, LabError> {
    let mut before = 0;
    let settled: Vec<_> = result
        .intervals
        .iter()
        .skip_while(|interval| {
            let skip = before < operations;
            before += interval.operations;
            skip
        })
        .collect();
    if settled.is_empty() {
        return Ok(None);
    }
    let tag = hdr::log_tag("response", &result.labels);
    let mut starts = BTreeSet::new();
    let mut histogram = Histogram::new();
    for line in log.lines(&tag)? {
        starts.insert(line.start_ns); // several labels share one interval
        if starts.len() > result.intervals.len() - settled.len() {
            histogram.merge(&line.histogram);
        }
    }
    let duration_ns = settled.iter().map(|interval| interval.duration_ns).sum();
    Ok((!histogram.is_empty()).then_some((histogram, duration_ns)))
}

impl Point {
    #[expect(clippy::cast_precision_loss, reason = "figures to compare, to three digits")]
    pub(crate) fn of(result: &ResultRecord, log: &IntervalLog) -> Result<Self, LabError> {
        let batches = result.batches.as_ref();
        let (settling, operations) = batches.map_or((Settling::Settled, 0), warm_up);
        let behind = match operations {
            0 => None,
            operations => behind(log, result, operations)?,
        };
        // operations that were looked into are in no histogram, and count in every rate
        let known = result.operations.saturating_sub(result.looked_into()).max(1) as f64;
        let warm_up =
            behind.as_ref().map_or(0.0, |(histogram, _)| 1.0 - histogram.count() as f64 / known);
        let throughput_per_s =
            behind.as_ref().map_or(result.throughput_per_s, |(histogram, ns)| {
                let operations = histogram.count() as f64 * result.operations as f64 / known;
                operations * 1e9 / (*ns).max(1) as f64
            });
        let cut = behind.map(|(histogram, _)| Response::of(histogram, result.niping));
        let response = match (cut, &result.response_ns) {
            (Some(cut), _) => Some(cut),
            (None, Some(whole)) => Some(Response::whole(whole, result.niping)?),
            (None, None) => None,
        };
        let order = match (&response, batches) {
            (Some(response), Some(batches)) => {
                OrderFacts::of(&response.histogram, batches, operations)
            }
            _ => None,
        };
        let figure =
            |name: &str| result.figures.iter().find(|it| it.name == name).map(|it| it.value);
        Ok(Self {
            labels: result.labels.clone(),
            response,
            throughput_per_s,
            bits_per_s: result.stream.as_ref().map(bits_per_s),
            rows_per_s: result.delivery.as_ref().and_then(Delivery::rows_per_s),
            client_cpu_ns: result.cpu.map(|cpu| cpu.client_ns_per_op as f64),
            server_cpu_ns: result.cpu.and_then(|cpu| cpu.server_ns_per_op).map(|ns| ns as f64),
            round_trip: result.round_trip.as_ref().and_then(RoundTripMeans::of),
            figure: figure(crate::FIGURE),
            cost: crate::COST.map(figure),
            warm_up,
            settling,
            order,
        })
    }
}

fn bits_per_s(streams: &StreamFigures) -> f64 {
    let ways = [&streams.to_server, &streams.from_server];
    ways.into_iter().flatten().map(|way| way.bits_per_s).sum()
}

/// How the response times settled, and how many operations belong to the warm-up.
///
/// The rule looks at the ranks of the batches: one stall late in a block would otherwise pass for a
/// warm-up that lasts until it. On a machine that wavers the rule often prefers a calm moment near
/// the end to all before it. That is no warm-up unless the times moved one way all along.
#[expect(clippy::cast_precision_loss, reason = "places among a thousand")]
fn warm_up(batches: &BatchMeans) -> (Settling, u64) {
    let means = &batches.mean_ns;
    let mut sorted = means.clone();
    sorted.sort_unstable();
    let rank = |mean: &u64| {
        let below = sorted.partition_point(|other| other < mean);
        let up_to = sorted.partition_point(|other| other <= mean);
        (below + up_to) as f64
    };
    let ranks: Vec<f64> = means.iter().map(rank).collect();
    // the rule looks for no end of the warm-up in the last part of a block, which is much of a short one
    if means.len() < MSER5_DECIDES && moves_one_way(&ranks) {
        return (Settling::Never, 0);
    }
    match mser5(&ranks) {
        Some(found) if means.len() >= BATCHES_MIN => {
            if found.settled {
                (Settling::Settled, found.values as u64 * batches.operations)
            } else if trend(&ranks).abs() >= ONE_WAY {
                (Settling::Never, 0)
            } else {
                (Settling::Wavers, 0)
            }
        }
        _ => (Settling::Settled, 0),
    }
}

impl Response {
    #[expect(clippy::cast_precision_loss, reason = "times of less than a year")]
    fn of(histogram: Histogram, niping: Option<NipingFigures>) -> Self {
        Self {
            p50: histogram.quantile(0.5) as f64,
            p95: histogram.quantile(0.95) as f64,
            p99: histogram.quantile(0.99) as f64,
            mean: histogram.mean(),
            niping: niping.and_then(|all| NipingFigures::of(&histogram, all.payload_bytes())),
            histogram,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "times of less than a year")]
    fn whole(distribution: &Distribution, niping: Option<NipingFigures>) -> Result<Self, LabError> {
        let histogram = distribution.decode().map_err(LabError::Histogram)?;
        Ok(Self {
            p50: distribution.p50 as f64,
            p95: distribution.p95 as f64,
            p99: distribution.p99 as f64,
            mean: distribution.mean as f64,
            niping,
            histogram,
        })
    }
}

impl OrderFacts {
    #[expect(clippy::cast_precision_loss, reason = "numbers of operations")]
    /// Of the batches behind the first `operations`.
    fn of(histogram: &Histogram, batches: &BatchMeans, operations: u64) -> Option<Self> {
        let skip = usize::try_from(operations / batches.operations.max(1)).unwrap_or(0);
        let means: Vec<f64> = batches.mean_ns.iter().skip(skip).map(|ns| *ns as f64).collect();
        if means.len() < BATCHES_MIN {
            return None;
        }
        let of_means = standard_deviation(&means)?.powi(2) * correlation_time(&means)?;
        let error_of_mean = of_means / means.len() as f64;
        let mean = histogram.mean();
        let squares: f64 = histogram
            .buckets()
            .map(|(value, count)| (value as f64 - mean).powi(2) * count as f64)
            .sum();
        let variance = squares / histogram.count() as f64;
        Some(Self {
            effective_samples: (variance / error_of_mean).min(histogram.count() as f64),
            autocorrelation: autocorrelation(&means)?,
            standard_error: error_of_mean.sqrt() / mean,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_folder::RunFolder;
    use plumb_measure::Interval;

    fn batches(mean_ns: impl Iterator<Item = u64>) -> BatchMeans {
        BatchMeans { operations: 5, mean_ns: mean_ns.collect() }
    }

    /// A little up and down around `level`.
    fn around(level: u64, n: u64) -> u64 {
        level + n * 7 % 5
    }

    #[test]
    fn a_slow_start_is_a_warm_up() {
        let slow = batches((0..100).map(|n| around(if n < 20 { 300 } else { 100 }, n)));
        assert_eq!(warm_up(&slow), (Settling::Settled, 100));
        let steady = batches((0..100).map(|n| around(100, n)));
        assert_eq!(warm_up(&steady).0, Settling::Settled);
    }

    #[test]
    fn times_that_move_one_way_to_the_end_never_settle() {
        let falling = batches((0..100).map(|n| 20_000 - 90 * n - n * n / 3));
        assert_eq!(warm_up(&falling), (Settling::Never, 0));
    }

    #[test]
    fn a_short_block_that_moves_one_way_never_settles_either() {
        for n in 6..65 {
            let rising = batches((0..n).map(|at| 30_000 + 1_000 * at));
            assert_eq!(warm_up(&rising), (Settling::Never, 0), "{n}");
            let steady = batches((0..n).map(|at| around(100, at)));
            assert_ne!(warm_up(&steady).0, Settling::Never, "{n}");
        }
    }

    #[test]
    fn up_and_down_with_a_calm_end_is_no_warm_up() {
        let wavers = batches((0..100).map(|n| match n {
            60.. => 100,
            n => around(50 + 100 * (n / 10 % 2), n),
        }));
        assert_eq!(warm_up(&wavers), (Settling::Wavers, 0));
    }

    /// A block of four intervals of 100 operations each, the first twice as slow.
    fn result(labels: &BTreeMap<String, String>, times: &[u64]) -> ResultRecord {
        let mut all = Histogram::new();
        times.iter().for_each(|ns| all.record_n(*ns, 100));
        let interval = |(at, ns): (usize, &u64)| Interval {
            users: 0,
            start_ns: at as u64 * 1_000_000_000,
            duration_ns: 1_000_000_000,
            operations: 100,
            failures: 0,
            p50: *ns,
            p99: *ns,
            max: *ns,
        };
        ResultRecord {
            labels: labels.clone(),
            operations: 100 * times.len() as u64,
            throughput_per_s: 100.0,
            response_ns: Distribution::of(&all),
            intervals: times.iter().enumerate().map(interval).collect(),
            batches: Some(batches(times.iter().flat_map(|ns| (0..20).map(|n| around(*ns, n))))),
            ..ResultRecord::default()
        }
    }

    #[test]
    fn the_warm_up_is_left_out_of_the_figures() {
        let at = tempfile::tempdir().unwrap();
        let mut folder = RunFolder::create_new(&at.path().join("run")).unwrap();
        let labels = BTreeMap::from([("size".to_owned(), "1B".to_owned())]);
        let times = [4_000, 1_000, 1_000, 1_000];
        let mut log = hdr::log_header(0, "then");
        for (at, ns) in times.iter().enumerate() {
            let mut histogram = Histogram::new();
            histogram.record_n(*ns, 100);
            let start_ns = at as u64 * 1_000_000_000;
            let tag = hdr::log_tag("response", &labels);
            log += &hdr::log_line(&tag, start_ns, 1_000_000_000, &histogram);
        }
        folder.append_intervals(&log).unwrap();
        let log = IntervalLog::of(folder.path());
        let point = Point::of(&result(&labels, &times), &log).unwrap();
        let (warm_up, per_s) = (point.warm_up, point.throughput_per_s);
        assert_eq!((point.settling, warm_up, per_s), (Settling::Settled, 0.25, 100.0));
        let response = point.response.unwrap();
        assert_eq!(response.histogram.count(), 300);
        assert!(response.mean < 1_001.0, "{}", response.mean);
        // a further operation in nine was looked into: in the rates, and in no histogram
        let mut looked = result(&labels, &times);
        (looked.observed, looked.operations, looked.throughput_per_s) = (50, 450, 112.5);
        let point = Point::of(&looked, &log).unwrap();
        assert_eq!((point.warm_up, point.throughput_per_s), (0.25, 112.5));
    }
}
