//! The results of one plan at one point, over all runs that repeat it.

use plumb_measure::statistics::median;

use super::entry::{Entry, Measure, Point, Times};
use crate::figures::{real, total};
use crate::labels::LabelMap;
use crate::trust::Trust;

/// One point of one plan.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// What tells it from the other cells of its kind.
    pub(super) labels: LabelMap,
    /// Number of the plan.
    pub(super) plan: usize,
    /// Labels of the point within its run.
    pub(super) point: LabelMap,
    /// Its results: number of the run and of the result in it, in order of time.
    pub(super) members: Vec<(usize, usize)>,
    pub(super) figures: Figures,
}

/// What the results of a cell come to. Only results that may be used have a part in it: in a
/// latency those that are valid, in a throughput those whose throughput stands, too.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    /// How far any of them may be used.
    pub(super) trust: Option<Trust>,
    /// Results behind the times.
    pub(super) timed: usize,
    /// Results behind the throughput.
    pub(super) rated: usize,
    /// Operations, failures and dropped work of all results, usable or not.
    pub(super) operations: u64,
    pub(super) failures: u64,
    pub(super) dropped: u64,
    /// Each quantile is the median of those of the runs; the maximum is the longest of all.
    pub(super) times: Option<Times>,
    /// The lowest and the highest median of a run, nanoseconds; `None` for a single one.
    pub(super) medians: Option<(u64, u64)>,
    /// Median over the runs, operations a second.
    pub(super) rate: Option<f64>,
    /// The lowest and the highest.
    pub(super) rates: Option<(f64, f64)>,
    /// Medians over the runs.
    pub(super) measures: Vec<Measure>,
    pub(super) client_cpu_ns: Option<f64>,
    pub(super) server_cpu_ns: Option<f64>,
    pub(super) busy_pct: Option<f64>,
    pub(super) interrupt_pct: Option<f64>,
    /// How busy the machine was in the run in which it was busiest.
    pub(super) busiest_pct: Option<f64>,
    /// Over all results together.
    pub(super) swapped_pages: Option<u64>,
    pub(super) retransmitted: Option<u64>,
}

impl Cell {
    /// True when several runs repeat it.
    pub(super) fn repeated(&self) -> bool {
        self.members.len() > 1
    }

    /// How far its figures may be used.
    pub(super) fn trust(&self) -> Trust {
        self.figures.trust.unwrap_or(Trust::Nothing)
    }

    /// Works its figures out.
    pub(super) fn summed_up(mut self, entries: &[Entry]) -> Self {
        let points: Vec<&Point> =
            self.members.iter().map(|(run, at)| &entries[*run].points[*at]).collect();
        self.figures = Figures::of(&points);
        self
    }
}

impl Figures {
    fn of(points: &[&Point]) -> Self {
        let full: Vec<&Point> =
            points.iter().copied().filter(|point| point.trust == Trust::Full).collect();
        let standing: Vec<&Point> =
            points.iter().copied().filter(|point| point.trust.leaves_any()).collect();
        let unchecked = points.iter().any(|point| point.trust == Trust::Unchecked);
        let trust = match (full.is_empty(), standing.is_empty()) {
            (false, _) => Trust::Full,
            (true, false) => Trust::Throughput,
            (true, true) if unchecked => Trust::Unchecked,
            (true, true) => Trust::Nothing,
        };
        // a single result shows its figures whatever they are worth: the table strikes them out
        let (timed, rated) = match points {
            [_] => (points, points),
            _ => (&full[..], &standing[..]),
        };
        let times: Vec<Times> = timed.iter().filter_map(|point| point.times).collect();
        let rates: Vec<f64> =
            rated.iter().map(|point| point.throughput_per_s).filter(|rate| *rate > 0.0).collect();
        let machines = || rated.iter().filter_map(|point| point.machine);
        let middle = |values: Vec<f64>| median(&values);
        Self {
            trust: Some(trust),
            timed: times.len(),
            rated: rates.len(),
            operations: total(points.iter().map(|point| point.operations)),
            failures: total(points.iter().map(|point| point.failures)),
            dropped: total(points.iter().map(|point| point.dropped)),
            times: middle_times(&times),
            medians: range(times.iter().map(|times| times.p50)).filter(|_| times.len() > 1),
            rate: median(&rates),
            rates: ends(&rates).filter(|_| rates.len() > 1),
            measures: measures(timed, rated),
            client_cpu_ns: middle(
                rated.iter().filter_map(|point| point.client_cpu_ns.map(real)).collect(),
            ),
            server_cpu_ns: middle(
                rated.iter().filter_map(|point| point.server_cpu_ns.map(real)).collect(),
            ),
            busy_pct: middle(machines().filter_map(|machine| machine.busy_pct).collect()),
            busiest_pct: machines().filter_map(|machine| machine.busy_pct).reduce(f64::max),
            interrupt_pct: middle(machines().filter_map(|machine| machine.interrupt_pct).collect()),
            swapped_pages: summed(machines().map(|machine| machine.swapped_pages)),
            retransmitted: summed(machines().map(|machine| machine.retransmitted)),
        }
    }
}

/// The sum of what was counted; `None` where nobody counted.
fn summed(counts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    counts.flatten().reduce(u64::saturating_add)
}

/// Each quantile the median of those of the runs; the longest of all.
fn middle_times(all: &[Times]) -> Option<Times> {
    let of = |pick: fn(&Times) -> u64| {
        let values: Vec<f64> = all.iter().map(|times| real(pick(times))).collect();
        median(&values).map(rounded)
    };
    Some(Times {
        count: total(all.iter().map(|times| times.count)),
        p25: of(|times| times.p25)?,
        p50: of(|times| times.p50)?,
        p75: of(|times| times.p75)?,
        p90: of(|times| times.p90)?,
        p99: of(|times| times.p99)?,
        p999: of(|times| times.p999)?,
        max: all.iter().map(|times| times.max).max()?,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a median of integers, rounded, is one of them or lies between two"
)]
pub(super) fn rounded(value: f64) -> u64 {
    value.round() as u64
}

fn range(values: impl Iterator<Item = u64> + Clone) -> Option<(u64, u64)> {
    Some((values.clone().min()?, values.max()?))
}

fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    Some((least, most))
}

/// The figures of the layer that the results have, each the median over those that have it: of the
/// `timed` ones what is made of response times, of the `rated` ones the rest.
fn measures(timed: &[&Point], rated: &[&Point]) -> Vec<Measure> {
    let mut found: Vec<Measure> = Vec::new();
    for figure in rated.iter().flat_map(|point| &point.figures) {
        if found.iter().any(|known| known.name == figure.name && known.unit == figure.unit) {
            continue;
        }
        let points = if figure.of_times { timed } else { rated };
        let same = points.iter().flat_map(|point| &point.figures).filter(|other| {
            other.name == figure.name && other.unit == figure.unit && other.value.is_finite()
        });
        let values: Vec<f64> = same.map(|figure| figure.value).collect();
        if let Some(value) = median(&values) {
            found.push(Measure { value, ..figure.clone() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(name: &str, value: f64, of_times: bool) -> Measure {
        Measure { name: name.into(), unit: "x".into(), value, of_times }
    }

    fn point(trust: Trust, p50: u64, rate: f64) -> Point {
        let times = Times {
            count: 10,
            p25: p50 - 1,
            p50,
            p75: p50 + 1,
            p90: p50 + 2,
            p99: p50 + 3,
            p999: p50 + 4,
            max: p50 + 5,
        };
        Point {
            labels: LabelMap::new(),
            trust,
            operations: 10,
            failures: u64::from(trust == Trust::Nothing),
            dropped: 0,
            throughput_per_s: rate,
            times: Some(times),
            figures: vec![measure("tr", rate, false), measure("av2", real(p50), true)],
            client_cpu_ns: None,
            server_cpu_ns: None,
            machine: None,
        }
    }

    #[test]
    fn what_is_not_valid_has_no_part_in_a_figure() {
        let points = [
            point(Trust::Full, 100, 10.0),
            point(Trust::Nothing, 9_000, 900.0),
            point(Trust::Full, 104, 14.0),
            point(Trust::Throughput, 7_000, 15.0),
        ];
        let figures = Figures::of(&points.iter().collect::<Vec<_>>());
        assert_eq!((figures.timed, figures.rated), (2, 3));
        let times = figures.times.unwrap();
        assert_eq!((times.p50, times.max, times.count), (102, 109, 20));
        assert_eq!(figures.medians, Some((100, 104)));
        assert_eq!(figures.rate.map(rounded), Some(14));
        assert_eq!(figures.rates.map(|(low, high)| (rounded(low), rounded(high))), Some((10, 15)));
        assert_eq!((figures.operations, figures.failures), (40, 1));
        assert_eq!(figures.trust, Some(Trust::Full));
        let limited = [point(Trust::Throughput, 100, 10.0), point(Trust::Throughput, 104, 14.0)];
        let figures = Figures::of(&limited.iter().collect::<Vec<_>>());
        let names: Vec<&str> = figures.measures.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["tr"], "what is made of times has none");
    }

    #[test]
    fn runs_that_are_all_invalid_come_to_nothing_and_a_single_one_is_shown() {
        let (one, other) = (point(Trust::Nothing, 100, 10.0), point(Trust::Nothing, 200, 20.0));
        let both = Figures::of(&[&one, &other]);
        assert!(both.times.is_none() && both.rate.is_none() && both.measures.is_empty());
        assert_eq!(both.trust, Some(Trust::Nothing));
        let alone = Figures::of(&[&one]);
        assert_eq!(alone.times.map(|times| times.p50), Some(100));
        assert_eq!((alone.trust, alone.medians), (Some(Trust::Nothing), None));
    }
}
