//! How well the figures of a whole run are known, from the intervals that it was written down in.

use std::collections::BTreeMap;
use std::path::Path;

use plumb_folder::{FolderError, read_intervals};
use plumb_measure::statistics::{Bounded, ratio_half_width};
use plumb_measure::{Histogram, ResultRecord, hdr};

use crate::LabError;

/// The response times of `result` by interval, in order of time; `None` where the interval log in the
/// run `folder`, or beside that record, is not there or does not hold all of them.
///
/// # Errors
/// [`LabError::Folder`] when the log is there and cannot be read.
pub(super) fn response_intervals(
    folder: &Path,
    result: &ResultRecord,
) -> Result<Option<Vec<Histogram>>, LabError> {
    let Some(whole) = &result.response_ns else { return Ok(None) };
    let tag = hdr::log_tag("response", &result.labels);
    let folder = if folder.is_file() { folder.parent().unwrap_or(folder) } else { folder };
    let lines = match read_intervals(folder, &tag) {
        Err(FolderError::NoRun { .. }) => return Ok(None),
        other => other?,
    };
    // an interval has a line for each row of the recorder
    let mut intervals: BTreeMap<u64, Histogram> = BTreeMap::new();
    for line in lines {
        intervals.entry(line.start_ns).or_default().merge(&line.histogram);
    }
    let intervals: Vec<Histogram> = intervals.into_values().collect();
    let all: u64 = intervals.iter().map(Histogram::count).sum();
    Ok((all == whole.count).then_some(intervals))
}

/// How many operations of each interval took no longer than `limit`, none without one, and how many there
/// were.
pub(super) fn shares(intervals: &[Histogram], limit: Option<u64>) -> Vec<(f64, f64)> {
    let up_to = |it: &Histogram| limit.map_or(0, |limit| it.count_at_or_below(limit));
    intervals.iter().map(|it| (float(up_to(it)), float(it.count()))).collect()
}

/// The median of a `whole` run, to its bucket, and its 95 % interval; `None` where so few intervals or
/// operations say nothing. `shares` tells of the intervals of the run what [`shares`] does.
///
/// What varies from interval to interval is the share of operations that are no slower than the median
/// of the whole, which needs no minimum of operations in each; the ends are the quantiles as far from
/// the middle as that share is known.
///
/// # Source
/// Woodruff, Confidence intervals for medians and other position measures, J. Amer. Statist. Assoc.
/// 47, 1952.
pub(super) fn median(
    whole: &Histogram,
    shares: impl Fn(Option<u64>) -> Vec<(f64, f64)>,
) -> Option<Bounded> {
    let (first, last) = bucket(whole, 0.5)?;
    let half = |limit| ratio_half_width(&shares(limit));
    // many operations may lie in the bucket of the median: what is below it varies, too
    let half = half(Some(last))?.max(half(first.checked_sub(1))?);
    if half >= 0.5 {
        return None;
    }
    let ((low, _), (_, high)) = (bucket(whole, 0.5 - half)?, bucket(whole, 0.5 + half)?);
    Some(Bounded { low: float(low), value: float(last), high: float(high) })
}

/// The ends of the bucket of the quantile `q`; `None` of nothing.
fn bucket(histogram: &Histogram, q: f64) -> Option<(u64, u64)> {
    let quantile = (!histogram.is_empty()).then(|| histogram.quantile(q))?;
    let mut ranges = histogram.ranges();
    ranges.find(|(_, last, _)| *last >= quantile).map(|(first, last, _)| (first, last))
}

/// The throughput of a whole run and its 95 % interval; `None` where so few intervals say nothing, or
/// nothing was answered.
pub(super) fn throughput(result: &ResultRecord) -> Option<Bounded> {
    let value = result.throughput_per_s;
    let parts = result.intervals.iter().map(|it| (float(it.operations), float(it.duration_ns)));
    let parts: Vec<(f64, f64)> = parts.collect();
    let (operations, ns) = parts.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    // as a share: calls that were looked into are in no interval, and count in the throughput; however
    // regular they are, one operation more or less may have fallen into the run
    let share = (ratio_half_width(&parts)? / (operations / ns)).max(1.0 / operations);
    let reach = share.exp();
    reach.is_finite().then(|| Bounded { low: value / reach, value, high: value * reach })
}

#[expect(clippy::cast_precision_loss, reason = "figures to compare, to three digits")]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests;
