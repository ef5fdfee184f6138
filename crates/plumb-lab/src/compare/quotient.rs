//! How well the figures of a whole run are known, from the intervals that it was written down in.

use std::collections::BTreeMap;

use plumb_folder::{FolderError, IntervalLog};
use plumb_measure::statistics::{Bounded, ratio_half_width};
use plumb_measure::{Histogram, ResultRecord, StreamInterval, hdr};

use crate::LabError;

/// Operations below which a median has no interval of 95 %, whatever they are like: all of five lie on
/// one side of it in one of sixteen cases.
const OPERATIONS_MIN: u64 = 6;

/// What the interval log says of one interval of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Operations in it.
    operations: u64,
    /// Those that were faster than the bucket of the median of the whole run.
    below: u64,
    /// Those that were no slower than that bucket.
    up_to: u64,
    /// The sum of their times, nanoseconds, to the width of a bucket of each.
    sum_ns: u64,
    /// Its length, nanoseconds.
    length_ns: u64,
}

/// The intervals of time of `result`, in order; `None` where the interval `log` of its run
/// is not there or does not hold all of its response times.
///
/// # Errors
/// [`LabError::Folder`] when the log is there and cannot be read.
pub(super) fn parts_of(
    log: &IntervalLog,
    result: &ResultRecord,
) -> Result<Option<Vec<Part>>, LabError> {
    let Some(times) = &result.response_ns else { return Ok(None) };
    let (first, last) = Histogram::bucket_of(times.p50);
    let tag = hdr::log_tag("response", &result.labels);
    let mut parts: BTreeMap<u64, Part> = BTreeMap::new();
    let read = log.visit(&tag, |line| {
        // an interval has a line for each row of the recorder
        let part = parts.entry(line.start_ns).or_default();
        let up_to = |limit| line.histogram.count_at_or_below(limit);
        part.operations += line.histogram.count();
        part.below += first.checked_sub(1).map_or(0, up_to);
        part.up_to += up_to(last);
        let sum_ns = u64::try_from(line.histogram.sum()).unwrap_or(u64::MAX);
        part.sum_ns = part.sum_ns.saturating_add(sum_ns);
        part.length_ns = part.length_ns.max(line.length_ns);
    });
    match read {
        Err(FolderError::NoRun { .. }) => return Ok(None),
        other => other?,
    }
    let parts: Vec<Part> = parts.into_values().collect();
    let all: u64 = parts.iter().map(|it| it.operations).sum();
    Ok((all == times.count).then_some(parts))
}

/// The median `p50` of a `whole` run of these `parts`, and its 95 % interval; `None` where so few
/// intervals or operations say nothing.
///
/// What varies from interval to interval is the share of operations that are no slower than the median
/// of the whole, which needs no minimum of operations in each; the ends are those of the buckets of the
/// quantiles as far from the middle as that share is known.
///
/// # Source
/// Woodruff, Confidence intervals for medians and other position measures, J. Amer. Statist. Assoc.
/// 47, 1952.
pub(super) fn median(whole: &Histogram, p50: u64, parts: &[Part]) -> Option<Bounded> {
    let half = |of: fn(&Part) -> u64| {
        let shares = parts.iter().map(|it| (float(of(it)), float(it.operations)));
        ratio_half_width(&shares.collect::<Vec<_>>())
    };
    // many operations may lie in the bucket of the median: what is below it varies, too
    let half = half(|it| it.up_to)?.max(half(|it| it.below)?);
    if whole.count() < OPERATIONS_MIN || half >= 0.5 {
        return None;
    }
    // the median of the record is exact at the ends of all times, the quantiles of `whole` are not
    let bucket = |q| Histogram::bucket_of(whole.quantile(q));
    let (low, high) = (bucket(0.5 - half).0.min(p50), bucket(0.5 + half).1.max(p50));
    Some(Bounded { low: float(low), value: float(p50), high: float(high) })
}

/// The `mean` of a whole run of these `parts`, and its 95 % interval; `None` where so few intervals or
/// operations say nothing.
pub(super) fn mean(mean: u64, parts: &[Part]) -> Option<Bounded> {
    let sums = parts.iter().map(|it| (float(it.sum_ns), float(it.operations)));
    let half = ratio_half_width(&sums.collect::<Vec<_>>())?;
    let operations: u64 = parts.iter().map(|it| it.operations).sum();
    let value = float(mean);
    let reach = (half / value).exp();
    let is_known = operations >= OPERATIONS_MIN && reach.is_finite();
    is_known.then_some(Bounded { low: value / reach, value, high: value * reach })
}

/// The answers of each interval of time, bytes of streams, and its length; nothing where none is written
/// down. `parts` tells what [`parts_of`] does, of a run whose record has no intervals.
pub(super) fn answers(result: &ResultRecord, parts: &[Part]) -> Vec<(f64, f64)> {
    let of_stream = |it: &StreamInterval| {
        let ways = || it.to_server.iter().chain(&it.from_server);
        let bytes = ways().map(|way| way.bytes).sum();
        (bytes, ways().map(|way| way.duration_ns).max().unwrap_or_default())
    };
    let pairs: Vec<(u64, u64)> = match &result.stream {
        Some(stream) => stream.intervals.iter().map(of_stream).collect(),
        None if result.intervals.is_empty() => {
            parts.iter().map(|it| (it.operations, it.length_ns)).collect()
        }
        None => result.intervals.iter().map(|it| (it.operations, it.duration_ns)).collect(),
    };
    pairs.into_iter().map(|(answers, ns)| (float(answers), float(ns))).collect()
}

/// The throughput of a whole run with these [`answers`], and its 95 % interval; `None` where so few
/// intervals say nothing, or nothing was answered.
pub(super) fn throughput(result: &ResultRecord, answers: &[(f64, f64)]) -> Option<Bounded> {
    let value = result.throughput_per_s;
    let (all, ns) = answers.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let operations = float(result.operations.saturating_sub(result.looked_into()));
    // as a share: calls that were looked into are in no interval, and count in the throughput; however
    // regular they are, one operation more or less may have fallen into the run
    let share = (ratio_half_width(answers)? / (all / ns)).max(1.0 / operations);
    let reach = share.exp();
    reach.is_finite().then(|| Bounded { low: value / reach, value, high: value * reach })
}

#[expect(clippy::cast_precision_loss, reason = "figures to compare, to three digits")]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests;
