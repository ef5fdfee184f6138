//! What is demanded of the figures: `list p95 < 200ms`, `failures < 0.1%`.

use std::collections::BTreeSet;
use std::ops::Range;

use plumb_engine::CrewFigures;
use plumb_measure::{Histogram, Recorder, Row as Figures, Span, ThresholdRecord, real};
use plumb_wire::document::nearest;

use super::compile::{PREPARATION, Row};

/// A demand on the figures of a load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Threshold {
    text: String,
    of: Of,
    figure: Figure,
    operator: Operator,
    /// In the unit of the figure.
    bound: f64,
    /// A share of the operations, not their number.
    share: bool,
}

/// Whose figures.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Of {
    All,
    /// The scenario with this number, and its rows.
    Scenario(usize, Range<usize>),
    Row(usize),
    Group(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    /// A quantile of the response times or, of the first byte, the second.
    Quantile(f64, Time),
    Mean(Time),
    Max(Time),
    Min(Time),
    Failures,
    Dropped,
    Throughput,
    Requests,
    /// The length of the load.
    Duration,
    StartUp(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Response,
    FirstByte,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// How a threshold is written.
const FORM: &str = "a threshold is [STEP or SCENARIO] [ttfb] FIGURE < VALUE, where FIGURE is p50, p95, p99.9, \
                    mean, min, max, failures, throughput, requests, dropped, time or start-up, \
                    such as `list p95 < 200ms`, `failures < 0.1%` or `throughput > 100/s`";

impl Threshold {
    /// Reads a threshold on `rows` and `groups`.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn parse(text: &str, rows: &[Row], groups: &[Row]) -> Result<Self, String> {
        let form = || FORM.to_owned();
        let (at, word, operator) = operator_in(text).ok_or_else(form)?;
        let (left, value) = (text[..at].trim(), text[at + word.len()..].trim());
        let (rest, name) = left.rsplit_once(char::is_whitespace).unwrap_or(("", left));
        let (rest, time) = match rest.trim().strip_suffix("ttfb") {
            Some(rest) if rest.is_empty() || rest.ends_with(char::is_whitespace) => {
                (rest, Time::FirstByte)
            }
            _ => (rest, Time::Response),
        };
        let figure = figure(name, time).ok_or_else(form)?;
        let of = whose(rest.trim(), rows, groups)?;
        let users = matches!(figure, Figure::Dropped | Figure::StartUp(_));
        if users && matches!(of, Of::Row(_) | Of::Group(_)) {
            return Err(format!(
                "{name} is a figure of a scenario or of the whole load, not of a step"
            ));
        }
        if figure == Figure::Duration && of != Of::All {
            return Err(format!("{name} is a figure of the whole load: leave the name out"));
        }
        let (bound, share) = bound(figure, value)?;
        Ok(Self { text: text.trim().into(), of, figure, operator, bound, share })
    }

    /// What was found in a load of `duration_ns`, of whose scenarios `crews` tells, and whether it is
    /// as demanded.
    pub(crate) fn judge(
        &self,
        recorder: &Recorder,
        crews: &[CrewFigures],
        duration_ns: u64,
    ) -> ThresholdRecord {
        let found = self.found(recorder, crews, duration_ns);
        let met = found.is_some_and(|found| match self.operator {
            Operator::Less => found < self.bound,
            Operator::LessOrEqual => found <= self.bound,
            Operator::Greater => found > self.bound,
            Operator::GreaterOrEqual => found >= self.bound,
        });
        let unit = match self.figure {
            Figure::Failures if self.share => "%",
            Figure::Failures | Figure::Dropped | Figure::Requests => "1",
            Figure::Throughput => "1/s",
            _ => "ns",
        };
        ThresholdRecord { text: self.text.clone(), found, unit: unit.into(), met }
    }

    fn found(&self, recorder: &Recorder, crews: &[CrewFigures], duration_ns: u64) -> Option<f64> {
        let rows: Vec<&Figures> = match &self.of {
            Of::All => recorder.rows().iter().collect(),
            Of::Scenario(_, rows) => recorder.rows().get(rows.clone())?.iter().collect(),
            Of::Row(row) => recorder.rows().get(*row).into_iter().collect(),
            Of::Group(row) => recorder.groups().get(*row).into_iter().collect(),
        };
        let (dropped, start_up) = match &self.of {
            Of::Scenario(number, _) => {
                let crew = crews.get(*number)?;
                (crew.dropped, &crew.start_up)
            }
            Of::All | Of::Row(_) | Of::Group(_) => (recorder.dropped, &recorder.start_up),
        };
        let operations: u64 = rows.iter().map(|row| row.response.count()).sum();
        let failures = match self.of {
            Of::All => recorder.failures().total(),
            Of::Scenario(..) | Of::Row(_) | Of::Group(_) => {
                rows.iter().map(|row| row.failures.total()).sum()
            }
        };
        let times = |time: Time| {
            let mut all = Histogram::new();
            rows.iter().for_each(|row| {
                all.merge(match time {
                    Time::Response => &row.response,
                    Time::FirstByte => &row.first_byte,
                });
            });
            Some(all).filter(|all| !all.is_empty())
        };
        let seconds = real(duration_ns) / 1e9;
        match self.figure {
            Figure::Quantile(q, time) => times(time).map(|all| real(all.quantile(q))),
            Figure::Mean(time) => times(time).map(|all| all.mean()),
            Figure::Max(time) => times(time).map(|all| real(all.max())),
            Figure::Min(time) => times(time).map(|all| real(all.min())),
            Figure::Failures if self.share => {
                let all = operations + failures;
                (all > 0).then(|| 100.0 * real(failures) / real(all))
            }
            Figure::Failures => Some(real(failures)),
            Figure::Dropped => Some(real(dropped)),
            Figure::Throughput => (seconds > 0.0).then(|| real(operations) / seconds),
            Figure::Requests => Some(real(operations)),
            Figure::Duration => Some(real(duration_ns)),
            Figure::StartUp(q) => (!start_up.is_empty()).then(|| real(start_up.quantile(q))),
        }
    }
}

fn operator_in(text: &str) -> Option<(usize, &'static str, Operator)> {
    let at = text.rfind(['<', '>'])?;
    [
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ]
    .into_iter()
    .find(|(word, _)| text[at..].starts_with(word))
    .map(|(word, operator)| (at, word, operator))
}

fn figure(name: &str, time: Time) -> Option<Figure> {
    let plain = time == Time::Response;
    Some(match name {
        "mean" => Figure::Mean(time),
        "max" => Figure::Max(time),
        "min" => Figure::Min(time),
        "median" => Figure::Quantile(0.5, time),
        "failures" if plain => Figure::Failures,
        "dropped" if plain => Figure::Dropped,
        "throughput" if plain => Figure::Throughput,
        "requests" if plain => Figure::Requests,
        "time" if plain => Figure::Duration,
        "start-up" if plain => Figure::StartUp(1.0),
        _ => {
            let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
            let known = percent > 0.0 && percent <= 100.0;
            known.then(|| Figure::Quantile(percent / 100.0, time))?
        }
    })
}

/// What `name` means: the row of a step or a group, with its scenario before it where steps of
/// several have that name; else a scenario.
fn whose(name: &str, rows: &[Row], groups: &[Row]) -> Result<Of, String> {
    let name = name.trim_matches(['"', '\'']);
    if name.is_empty() {
        return Ok(Of::All);
    }
    let full = |row: &Row| format!("{}/{}", row.scenario, row.name);
    let recorded = |row: &Row| row.scenario != PREPARATION;
    let is = |row: &Row| recorded(row) && (row.name == name || full(row) == name);
    let found: Vec<Of> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| is(row))
        .map(|(at, _)| Of::Row(at))
        .chain(groups.iter().enumerate().filter(|(_, row)| is(row)).map(|(at, _)| Of::Group(at)))
        .collect();
    match &found[..] {
        [only] => Ok(only.clone()),
        [] => scenario(name, rows).ok_or_else(|| {
            let known = rows.iter().chain(groups).filter(|row| recorded(row));
            let known = known.flat_map(|row| [row.name.clone(), row.scenario.clone()]);
            let meant = nearest(name, known).map(|meant| format!("; did you mean `{meant}`?"));
            format!("there is no step, group or scenario `{name}`{}", meant.unwrap_or_default())
        }),
        _ => Err(format!(
            "`{name}` is in several scenarios: write SCENARIO/{name}, or give groups names of \
             their own"
        )),
    }
}

/// The scenario called `name`. Each has a row at least, and all of them side by side.
fn scenario(name: &str, rows: &[Row]) -> Option<Of> {
    let from = rows.iter().position(|row| row.scenario == name && name != PREPARATION)?;
    let count = rows[from..].iter().take_while(|row| row.scenario == name).count();
    let before: BTreeSet<&str> = rows[..from].iter().map(|row| row.scenario.as_str()).collect();
    let number = before.iter().filter(|scenario| **scenario != PREPARATION).count();
    Some(Of::Scenario(number, from..from + count))
}

/// The bound in the unit of `figure`; of failures also whether it is a share.
fn bound(figure: Figure, value: &str) -> Result<(f64, bool), String> {
    let number = |text: &str| {
        let number: Option<f64> = text.trim().parse().ok();
        number.filter(|number| number.is_finite() && *number >= 0.0)
    };
    match figure {
        Figure::Failures => match value.strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| (percent, true)),
            None => number(value).map(|count| (count, false)),
        }
        .ok_or_else(|| format!("`{value}` is no share such as 0.1% and no number")),
        Figure::Throughput => {
            let rate = value.strip_suffix("/s").unwrap_or(value);
            let rate = number(rate).map(|rate| (rate, false));
            rate.ok_or_else(|| format!("`{value}` is no rate such as 100/s"))
        }
        Figure::Dropped | Figure::Requests => {
            let count = number(value).map(|count| (count, false));
            count.ok_or_else(|| format!("`{value}` is no number"))
        }
        _ => {
            if value.ends_with(|last: char| last.is_ascii_digit()) {
                // other tools mean milliseconds: a threshold that nobody meant is always met
                return Err(format!("`{value}` has no unit; write for example {value}ms"));
            }
            let span: Span = value.parse().map_err(|error| format!("{error}"))?;
            Ok((real(span.ns()), false))
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::{Answer, FailureKind, Moments, Shape};

    use super::*;

    fn row(scenario: &str, name: &str) -> Row {
        Row { scenario: scenario.into(), name: name.into() }
    }

    fn rows() -> Vec<Row> {
        vec![
            row("a", "list"),
            row("a", "GET /x"),
            row("b", "GET /x"),
            row(PREPARATION, "list"),
            row(PREPARATION, "first"),
        ]
    }

    fn read(text: &str) -> Result<Threshold, String> {
        Threshold::parse(text, &rows(), &[row("a", "page")])
    }

    fn records() -> Recorder {
        let mut recorder = Recorder::new(Shape { operations: 5, groups: 1 });
        let moments = |ns| Moments { due: 0, sent: 0, first: ns / 2, last: ns };
        (1..=100).for_each(|n| recorder.record(0, moments(n * 1_000_000), Answer::ok(1)));
        recorder.record(1, moments(5), Answer::failed(FailureKind::Closed));
        recorder.record_group(0, moments(7_000_000_000), Answer::ok(0));
        recorder
    }

    /// Two scenarios, of which the second dropped work.
    fn crews() -> Vec<CrewFigures> {
        let mut late = CrewFigures { dropped: 3, ..CrewFigures::default() };
        late.start_up.record(2_000_000_000);
        vec![CrewFigures::default(), late]
    }

    fn met(text: &str) -> bool {
        read(text).unwrap().judge(&records(), &crews(), 10_000_000_000).met
    }

    #[test]
    fn a_percentile_is_that_of_the_record() {
        let moments = |ns| Moments { due: 0, sent: 0, first: ns, last: ns };
        for percentile in ["p50", "p90", "p95", "p99", "p99.9"] {
            for count in [100, 1_000, 3_000] {
                let mut recorder = Recorder::new(5);
                (1..=count).for_each(|n| recorder.record(0, moments(n * 1_000), Answer::ok(1)));
                let threshold = read(&format!("list {percentile} < 1s")).unwrap();
                let found = threshold.judge(&recorder, &crews(), 1).found.unwrap();
                let times = plumb_measure::Distribution::of(&recorder.rows()[0].response).unwrap();
                let told = match percentile {
                    "p50" => times.p50,
                    "p90" => times.p90,
                    "p95" => times.p95,
                    "p99" => times.p99,
                    _ => times.p999,
                };
                let apart = (found - real(told)).abs();
                assert!(apart < 0.5, "{percentile} of {count}: {found} and {told} ns");
            }
        }
    }

    #[test]
    fn figures_of_steps_groups_and_all_are_judged() {
        for text in [
            "list p95 < 96ms",
            "list p95 >= 95ms",
            "list ttfb max <= 50ms",
            "ttfb p50 < 30ms",
            "mean < 51ms",
            "failures < 1%",
            "failures <= 1",
            "a/GET /x failures > 0",
            "throughput > 9/s",
            "list requests >= 100",
            "page p50 > 6s",
            "dropped < 1",
            "time <= 10s",
            "a dropped < 1",
            "b dropped >= 3",
            "b start-up >= 2s",
            "a p95 < 96ms",
            "a requests >= 100",
            "a failures > 0",
            "b failures < 1",
        ] {
            assert!(met(text), "{text}");
        }
        for text in [
            "list p95 < 95ms",
            "failures < 0.9%",
            "throughput > 10/s",
            "b/GET /x p50 < 1s",
            "b dropped < 1",
            "a start-up < 1s",
            "b p50 < 1s",
        ] {
            assert!(!met(text), "{text}");
        }
        let record = read("failures < 0.1%").unwrap().judge(&records(), &crews(), 1);
        assert_eq!(record.unit, "%");
        assert!((0.9..1.0).contains(&record.found.unwrap()), "1 of 101: {record:?}");
    }

    #[test]
    fn what_is_no_threshold_is_refused_with_what_is() {
        for (text, says) in [
            ("", "a threshold is"),
            ("p95", "a threshold is"),
            ("list p101 < 1s", "a threshold is"),
            ("p95 < 200", "unit"),
            ("failures < -1", "no share"),
            ("lst p95 < 1s", "did you mean `list`?"),
            ("first p95 < 1s", "no step, group or scenario `first`"),
            ("a time < 1s", "whole load"),
            ("GET /x p95 < 1s", "several scenarios"),
            ("list dropped < 1", "whole load"),
            ("list ttfb failures < 1", "a threshold is"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
