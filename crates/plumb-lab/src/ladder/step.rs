//! What came of one step, and how well its figures are known.

use std::path::Path;

use plumb_folder::{IntervalLog, read_record};
use plumb_measure::statistics::half_width;
use plumb_measure::{ForeignLook, LadderDrift, ResultRecord, Span, hdr};
use serde::Serialize;

use crate::LabError;

/// Throughput of a step that has grown by less than this power of its level is flat.
const FLAT: f64 = 0.25;
/// A mean response time that has grown by more than this power of the level grows.
const GROWS: f64 = 0.5;
/// Stretches that the interval of throughput comes from: in shorter ones whole operations are few.
const STRETCHES: usize = 10;
/// Operations of which all but one in a thousand are no longer: what a line lacks of the others is not
/// noticed beside its scatter.
const NOTICED: f64 = 0.999;
/// A normal variable is within so many standard deviations of its mean in 95 of 100 cases.
const Z95: f64 = 1.96;

/// One run of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Users, connections or operations a second that were asked for.
    pub level: u32,
    /// Its run, within the folder of the ladder; absent where it left none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Its recorded part, nanoseconds.
    pub length_ns: u64,
    /// True when its figures may be used and no longer run of the level stands in its place.
    pub counts: bool,
    /// True of the run that shows whether the machine drifted.
    pub repeated: bool,
    /// Why its figures may not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Absent where nothing succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// What is known of foreign load meanwhile; it is written down in its run.
    #[serde(skip)]
    pub foreign: Option<ForeignLook>,
}

/// What the run of a step says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepRun {
    /// Absent where nothing succeeded.
    pub figures: Option<Figures>,
    /// Why they may not be used.
    pub invalid: Option<String>,
    /// What is known of foreign load meanwhile.
    pub foreign: Option<ForeignLook>,
}

/// Figures of a step. A half is that of the 95 % interval, as a share of the figure; absent where
/// too little was measured to tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Correct answers a second.
    pub throughput_per_s: f64,
    /// Its half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput_half: Option<f64>,
    /// The mean response time, nanoseconds.
    pub mean_ns: u64,
    /// Its half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_half: Option<f64>,
    /// The 95th percentile of the response time, nanoseconds.
    pub p95_ns: u64,
    /// Its half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_half: Option<f64>,
}

/// What `folder` holds of a step that asked for operations during `length`.
///
/// # Errors
/// [`LabError::Folder`] when the run or its interval log cannot be read, [`LabError::NoResult`] when
/// it was given up before there was any.
pub fn step_run(folder: &Path, length: Span) -> Result<StepRun, LabError> {
    let record = read_record(folder)?;
    let result = record.results.first().ok_or(LabError::NoResult)?;
    let validity = &result.validity;
    let usable = validity.valid && validity.latency_valid && result.dropped == 0;
    let why = || validity.reasons.first().map_or("not valid".into(), |it| it.text.clone());
    let figures = figures(folder, result, length)?;
    let invalid = match figures {
        Some(_) if usable => None,
        Some(_) => Some(why()),
        None => Some(validity.reasons.first().map_or("no operation succeeded".into(), |_| why())),
    };
    Ok(StepRun { figures, invalid, foreign: ForeignLook::of(&record, Some(result)) })
}

fn figures(
    folder: &Path,
    result: &ResultRecord,
    length: Span,
) -> Result<Option<Figures>, LabError> {
    let Some(response) = &result.response_ns else { return Ok(None) };
    let tag = hdr::log_tag("response", &result.labels);
    let lines = by_interval(IntervalLog::of(folder).lines(&tag)?);
    let times = hdr::decode(&response.histogram).ok();
    let longest_ns =
        times.as_ref().map_or(response.max, |it| it.quantile(NOTICED).min(response.max));
    let inner = complete(&lines, longest_ns, length);
    let per_s: Vec<f64> = inner.chunks(inner.len().div_ceil(STRETCHES).max(1)).map(rate).collect();
    let busy = inner.iter().filter(|line| !line.histogram.is_empty());
    let means: Vec<f64> = busy.map(|line| line.histogram.mean()).collect();
    let share = |half: Option<f64>, of: f64| half.filter(|_| of > 0.0).map(|half| half / of);
    let mean_per_s = per_s.iter().sum::<f64>() / count(per_s.len() as u64).max(1.0);
    Ok(Some(Figures {
        throughput_per_s: begun_per_s(result, length),
        throughput_half: share(half_width(&per_s), mean_per_s),
        mean_ns: response.mean,
        mean_half: share(half_width(&means), count(response.mean)),
        p95_ns: response.p95,
        p95_half: times.as_ref().and_then(p95_half),
    }))
}

/// Those of `lines` that lack no operation of at most `longest_ns`: one that was begun before the first of
/// them is in none, wherever it ends, and behind `length` nothing begins any more.
fn complete(lines: &[hdr::LogLine], longest_ns: u64, length: Span) -> &[hdr::LogLine] {
    let Some(first) = lines.first() else { return &[] };
    let from_ns = first.start_ns.saturating_add(longest_ns);
    let to_ns = first.start_ns.saturating_add(length.ns());
    let from = lines.partition_point(|line| line.start_ns < from_ns);
    let to = lines.partition_point(|line| line.start_ns.saturating_add(line.length_ns) <= to_ns);
    lines.get(from..to).unwrap_or_default()
}

/// Operations a second of the time in which they began: a step waits for what is under way behind its
/// `length`.
fn begun_per_s(result: &ResultRecord, length: Span) -> f64 {
    let begun_ns = result.begun_within_ns(Some(length));
    result.throughput_per_s * count(result.duration_ns) / count(begun_ns)
}

/// A line an interval of `lines`, which have one an interval and row: requests of one user may take
/// longer than those of another in every interval alike.
fn by_interval(lines: Vec<hdr::LogLine>) -> Vec<hdr::LogLine> {
    let mut whole: Vec<hdr::LogLine> = Vec::new();
    for line in lines {
        match whole.last_mut().filter(|last| last.start_ns == line.start_ns) {
            Some(last) => last.histogram.merge(&line.histogram),
            None => whole.push(line),
        }
    }
    whole
}

/// Operations a second of so many intervals.
fn rate(lines: &[hdr::LogLine]) -> f64 {
    let operations: u64 = lines.iter().map(|line| line.histogram.count()).sum();
    let length_ns: u64 = lines.iter().map(|line| line.length_ns).sum();
    count(operations) * 1e9 / count(length_ns).max(1.0)
}

/// Half the interval of the 95th percentile, as a share of it: between the order statistics that
/// it lies between in 95 of 100 cases, were operations independent of each other. `None` where
/// the upper one is not there.
fn p95_half(of: &plumb_measure::Histogram) -> Option<f64> {
    let error = Z95 * (0.95 * 0.05 / count(of.count())).sqrt();
    if 0.95 + error >= 1.0 {
        return None;
    }
    let (low, high) = (of.quantile(0.95 - error), of.quantile(0.95 + error));
    let middle = count(of.quantile(0.95));
    (middle > 0.0).then(|| count(high - low) / 2.0 / middle)
}

impl Figures {
    /// The widest of the halves that a step must be long enough for; `None` where one is not known.
    #[must_use]
    pub fn widest(&self) -> Option<f64> {
        Some(self.throughput_half?.max(self.p95_half?))
    }

    /// True when throughput is flat between `before` and this, of a level `factor` times as high,
    /// while the response time grows.
    #[must_use]
    pub fn is_beyond_knee(&self, before: &Self, factor: f64) -> bool {
        let power = |one: f64, two: f64| (one / two).ln() / factor.ln();
        power(self.throughput_per_s, before.throughput_per_s) < FLAT
            && power(count(self.mean_ns), count(before.mean_ns)) > GROWS
    }

    /// How far a figure of the repeated step is from the first, as a share, and how far it may be.
    #[must_use]
    pub fn drift_from(&self, first: &Self) -> [LadderDrift; 2] {
        let both = |one: Option<f64>, two: Option<f64>| Some((one?.powi(2) + two?.powi(2)).sqrt());
        [
            LadderDrift {
                share: self.throughput_per_s / first.throughput_per_s - 1.0,
                within: both(self.throughput_half, first.throughput_half),
            },
            LadderDrift {
                share: count(self.mean_ns) / count(first.mean_ns) - 1.0,
                within: both(self.mean_half, first.mean_half),
            },
        ]
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn count(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use plumb_folder::RunFolder;
    use plumb_measure::{Distribution, Histogram};

    use super::*;

    fn figures(throughput_per_s: f64, mean_ns: u64, half: f64) -> Figures {
        Figures {
            throughput_per_s,
            throughput_half: Some(half),
            mean_ns,
            mean_half: Some(half),
            p95_ns: 2 * mean_ns,
            p95_half: Some(half),
        }
    }

    #[test]
    fn the_knee_is_flat_throughput_and_growing_times() {
        let before = figures(100.0, 50, 0.01);
        assert!(figures(104.0, 95, 0.01).is_beyond_knee(&before, 2.0));
        assert!(!figures(180.0, 60, 0.01).is_beyond_knee(&before, 2.0), "it still grows");
        assert!(!figures(104.0, 51, 0.01).is_beyond_knee(&before, 2.0), "nobody waits longer");
    }

    #[test]
    fn a_drift_is_more_than_what_both_runs_leave_open() {
        let first = figures(100.0, 1_000, 0.03);
        let shown = |again: Figures| again.drift_from(&first).map(|it| it.is_shown());
        assert_eq!(shown(figures(104.0, 1_040, 0.03)), [false, false], "within a twentieth");
        assert_eq!(shown(figures(90.0, 1_200, 0.03)), [true, true]);
        assert_eq!(shown(figures(90.0, 1_200, 0.30)), [false, false], "not known well enough");
    }

    /// What is read of 20 intervals of 500 ms, in each of which every row has so many operations of so
    /// many milliseconds.
    fn read_back(rows: &[(u64, u64)]) -> Figures {
        let at = tempfile::tempdir().unwrap();
        let mut folder = RunFolder::create_new(&at.path().join("run")).unwrap();
        let result = ResultRecord {
            throughput_per_s: 40.0,
            duration_ns: 10_000_000_000,
            ..ResultRecord::default()
        };
        let tag = hdr::log_tag("response", &result.labels);
        let (mut log, mut all) = (hdr::log_header(0, "then"), Histogram::new());
        for interval in 0..20 {
            for (operations, ms) in rows {
                let mut histogram = Histogram::new();
                histogram.record_n(ms * 1_000_000, *operations);
                all.merge(&histogram);
                log += &hdr::log_line(&tag, interval * 500_000_000, 500_000_000, &histogram);
            }
        }
        folder.append_intervals(&log).unwrap();
        let result = ResultRecord { response_ns: Distribution::of(&all), ..result };
        super::figures(folder.path(), &result, Span::from_ms(10_000)).unwrap().unwrap()
    }

    /// What is read of a load of 10 s in intervals of 200 ms. `each` are operations that begin so many
    /// times a second and take so many milliseconds; all that began are waited for.
    fn read_load(each: &[(u64, u64)]) -> Figures {
        let at = tempfile::tempdir().unwrap();
        let mut folder = RunFolder::create_new(&at.path().join("run")).unwrap();
        let longest_ms = each.iter().map(|(_, ms)| *ms).max().unwrap();
        let mut lines =
            vec![Histogram::new(); usize::try_from((10_000 + longest_ms).div_ceil(200)).unwrap()];
        let mut all = Histogram::new();
        for (per_s, ms) in each {
            for number in 0..per_s * 10 {
                let ends_ms = number * 1_000 / per_s + ms;
                lines[usize::try_from(ends_ms / 200).unwrap()].record(ms * 1_000_000);
                all.record(ms * 1_000_000);
            }
        }
        let result = ResultRecord::default();
        let tag = hdr::log_tag("response", &result.labels);
        let mut log = hdr::log_header(0, "then");
        for (interval, line) in lines.iter().enumerate() {
            log += &hdr::log_line(&tag, interval as u64 * 200_000_000, 200_000_000, line);
        }
        folder.append_intervals(&log).unwrap();
        let duration_ns = (10_000 + longest_ms) * 1_000_000;
        let throughput_per_s = count(all.count()) * 1e9 / count(duration_ns);
        let response_ns = Distribution::of(&all);
        let result = ResultRecord { duration_ns, throughput_per_s, response_ns, ..result };
        super::figures(folder.path(), &result, Span::from_ms(10_000)).unwrap().unwrap()
    }

    #[test]
    fn what_begins_before_a_step_and_ends_behind_it_is_no_change_over_time() {
        for ms in [0, 500, 1_000, 3_000, 8_000] {
            let figures = read_load(&[(50, ms)]);
            assert!((figures.throughput_per_s - 50.0).abs() < 1e-9, "{ms} ms: {figures:?}");
            assert!(
                figures.throughput_half.is_some_and(|half| half < 1e-9),
                "{ms} ms: {figures:?}"
            );
        }
        let mixed = read_load(&[(25, 5), (25, 1_000)]);
        assert!(mixed.mean_half.is_some_and(|half| half < 1e-9), "{mixed:?}");
        let longer_than_the_step = read_load(&[(50, 10), (1, 9_900)]);
        assert_eq!(longer_than_the_step.widest(), None, "{longer_than_the_step:?}");
    }

    #[test]
    fn one_long_operation_in_a_thousand_takes_no_interval() {
        for longest_ms in [10, 7_000, 9_900] {
            let figures = read_load(&[(1_000, 10), (1, longest_ms)]);
            assert!(figures.widest().is_some_and(|half| half < 2e-3), "{longest_ms}: {figures:?}");
        }
        let few = read_load(&[(99, 10), (1, 9_900)]);
        assert_eq!(few.widest(), None, "of a hundred operations one is missed: {few:?}");
    }

    #[test]
    fn rows_that_differ_are_no_change_over_time() {
        for rows in [&[(10, 5), (10, 500)][..], &[(99, 5), (1, 500)], &[(0, 0), (20, 5), (0, 0)]] {
            let figures = read_back(rows);
            for half in [figures.throughput_half, figures.mean_half] {
                assert!(half.is_some_and(|half| half < 1e-9), "{rows:?}: {figures:?}");
            }
        }
    }

    #[test]
    fn the_interval_of_a_percentile_lies_between_order_statistics() {
        let mut times = Histogram::new();
        for at in 1..=1_000_u64 {
            times.record(at * 1_000);
        }
        // ranks 936.5 and 963.5 of 1,000
        let half = p95_half(&times).unwrap();
        assert!((half - 13.5 / 950.0).abs() < 2e-3, "{half}");
        let mut few = Histogram::new();
        few.record_n(1_000, 50);
        assert_eq!(p95_half(&few), None, "above the 95th of 50 there are too few");
    }
}
