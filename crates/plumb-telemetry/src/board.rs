//! What has been measured so far.

use std::collections::BTreeMap;

use plumb_engine::IntervalRecords;
use plumb_engine::layer::Outline;
use plumb_measure::{FailureKind, Failures, Histogram, Row};
use plumb_wire::prometheus::MetricKind;

use crate::{Family, MetricUnit, Sample, Value};

/// The quantiles of an interval that are shown.
const QUANTILES: [(f64, &str); 4] = [(0.5, "0.5"), (0.9, "0.9"), (0.99, "0.99"), (1.0, "1")];

/// The figures of a run, point by point.
#[derive(Debug)]
pub struct Board {
    run: [(&'static str, String); 3],
    /// What the rows of the points to come are called.
    names: Vec<String>,
    points: Vec<Point>,
    /// Whether the figures may be used; `None` until it is over.
    valid: Option<bool>,
}

/// The figures of one point.
#[derive(Debug, Default)]
struct Point {
    labels: BTreeMap<String, String>,
    rows: Vec<Figures>,
    connect_failures: Failures,
    /// Answers that nobody had asked for: failures of no row.
    unasked: u64,
    dropped: u64,
    /// Those of scripts that took part at the end of the last interval.
    users: Option<u64>,
    bytes_sent: u64,
    bytes_received: u64,
}

/// The figures of one row: all so far, and the response times of the last interval.
#[derive(Debug, Default)]
struct Figures {
    name: String,
    /// Correct answers, those of operations that were looked into among them.
    operations: u64,
    /// Of these, those whose response time is known.
    timed: u64,
    response_sum_ns: u128,
    failures: Failures,
    last: Histogram,
}

impl Board {
    /// Nothing was measured yet of what `outline` says.
    #[must_use]
    pub fn new(outline: &Outline) -> Self {
        let run = [
            ("layer", outline.layer.to_owned()),
            ("verb", outline.verb.to_owned()),
            ("target", outline.target.clone()),
        ];
        Self { run, names: Vec::new(), points: Vec::new(), valid: None }
    }

    /// What the rows of the points to come are called. Of several that are called alike, as URLs are
    /// without their secrets, the second and those behind it are numbered: two series of the same labels
    /// would be one with two values.
    pub fn rows(&mut self, names: &[String]) {
        self.names.clear();
        for name in names {
            let numbered = (2..).map(|number| format!("{name} ({number})"));
            let mut free = std::iter::once(name.clone()).chain(numbered);
            let free = free.find(|it| it.is_empty() || !self.names.contains(it));
            self.names.extend(free);
        }
    }

    /// A point begins.
    pub fn point(&mut self, labels: &BTreeMap<String, String>) {
        self.points.push(Point { labels: labels.clone(), ..Point::default() });
    }

    /// An interval of the last point is over.
    pub fn add(&mut self, records: &IntervalRecords) {
        let Some(point) = self.points.last_mut() else { return };
        let recorder = &records.recorder;
        point.rows.resize_with(recorder.rows().len(), Figures::default);
        for (number, (figures, row)) in point.rows.iter_mut().zip(recorder.rows()).enumerate() {
            if let Some(name) = self.names.get(number) {
                figures.name.clone_from(name);
            }
            figures.add(row);
        }
        point.connect_failures.merge(&recorder.connect_failures);
        point.unasked += recorder.unasked;
        point.users = (records.users > 0).then_some(records.users);
        point.dropped += recorder.dropped;
        point.bytes_sent += recorder.bytes_sent;
        point.bytes_received += recorder.bytes_received;
    }

    /// The run is over, and its figures may be used or not.
    pub fn ended(&mut self, valid: bool) {
        self.valid = Some(valid);
    }

    /// All metrics.
    #[must_use]
    pub fn families(&self) -> Vec<Family> {
        let run = self.run.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let run = Sample { labels: run.collect(), value: Value::Number(1) };
        let mut all = vec![family("info", MetricKind::Gauge, "What is measured.", vec![run])];
        all.extend(self.operations());
        all.push(self.responses());
        let failed = self.points.iter().flat_map(|point| {
            let of =
                |(kind, count): (FailureKind, u64)| number(point.with("kind", kind.name()), count);
            point.connect_failures.iter().map(of).collect::<Vec<_>>()
        });
        let help = "Connections that failed, by kind.";
        all.push(family("connect_failures", MetricKind::Counter, help, failed.collect()));
        let help = "Operations that could not begin in time.";
        all.push(self.counts(("dropped", MetricUnit::Count, help), |it| it.dropped));
        let help = "Bytes handed to the kernel.";
        all.push(self.counts(("sent", MetricUnit::Bytes, help), |it| it.bytes_sent));
        let help = "Bytes read from the kernel.";
        all.push(self.counts(("received", MetricUnit::Bytes, help), |it| it.bytes_received));
        all.extend(self.users());
        all.extend(self.valid.map(|valid| {
            let help = "Whether the figures of the run may be used, once it is over.";
            family("valid", MetricKind::Gauge, help, vec![number(Vec::new(), valid.into())])
        }));
        all
    }

    fn counts(
        &self,
        (name, unit, help): (&'static str, MetricUnit, &'static str),
        count: impl Fn(&Point) -> u64,
    ) -> Family {
        let samples = self.points.iter().map(|point| number(point.all(), count(point)));
        Family { unit, ..family(name, MetricKind::Counter, help, samples.collect()) }
    }

    fn operations(&self) -> [Family; 2] {
        let right =
            self.each().map(|(point, row)| number(point.with("row", &row.name), row.operations));
        let wrong = self.each().flat_map(|(point, row)| {
            let of = |(kind, count): (FailureKind, u64)| {
                let mut labels = point.with("row", &row.name);
                labels.push(("kind".into(), kind.name().into()));
                number(labels, count)
            };
            row.failures.iter().map(of).collect::<Vec<_>>()
        });
        let unasked =
            self.points.iter().filter(|point| point.unasked > 0).map(|point| {
                number(point.with("kind", FailureKind::Unasked.name()), point.unasked)
            });
        let about = ["Correct answers, warm-up left out.", "Operations that failed, by kind."];
        [
            family("operations", MetricKind::Counter, about[0], right.collect()),
            family("failures", MetricKind::Counter, about[1], wrong.chain(unasked).collect()),
        ]
    }

    fn responses(&self) -> Family {
        let help = "Response times from the due time: quantiles of the last interval with an \
                    answer, sum and count of all so far.";
        let samples = self.each().filter(|(_, row)| row.timed > 0).map(|(point, row)| {
            let quantiles = QUANTILES.map(|(q, name)| (q, name, row.last.quantile(q)));
            let value = Value::Times {
                count: row.timed,
                sum_ns: row.response_sum_ns,
                quantiles: quantiles.to_vec(),
            };
            Sample { labels: point.with("row", &row.name), value }
        });
        let bare = family("response", MetricKind::Summary, help, samples.collect());
        Family { unit: MetricUnit::Seconds, ..bare }
    }

    /// Users of the point that is measured; without scripts each is a connection.
    fn users(&self) -> Option<Family> {
        let point = self.points.last()?;
        let connections = || point.labels.get("connections")?.parse().ok();
        let users = point.users.or_else(connections)?;
        let samples = vec![number(Vec::new(), users)];
        Some(family("users", MetricKind::Gauge, "Users at work now.", samples))
    }

    /// The rows of all points; where some have names, those without are not shown.
    fn each(&self) -> impl Iterator<Item = (&Point, &Figures)> {
        let all =
            self.points.iter().flat_map(|point| point.rows.iter().map(move |row| (point, row)));
        all.filter(|(_, row)| self.names.is_empty() || !row.name.is_empty())
    }
}

impl Point {
    /// The labels of the point.
    fn all(&self) -> Vec<(String, String)> {
        self.labels.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The labels of the point, and one more; one without a value says nothing.
    fn with(&self, name: &str, value: &str) -> Vec<(String, String)> {
        let mut labels = self.all();
        labels.extend((!value.is_empty()).then(|| (name.to_owned(), value.to_owned())));
        labels
    }
}

fn family(
    name: &'static str,
    kind: MetricKind,
    help: &'static str,
    samples: Vec<Sample>,
) -> Family {
    Family { name, unit: MetricUnit::Count, kind, help, samples }
}

fn number(labels: Vec<(String, String)>, value: u64) -> Sample {
    Sample { labels, value: Value::Number(value) }
}

impl Figures {
    fn add(&mut self, row: &Row) {
        self.operations += row.response.count() + row.observed;
        self.timed += row.response.count();
        self.response_sum_ns += row.response.sum();
        self.failures.merge(&row.failures);
        if !row.response.is_empty() {
            self.last = row.response.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::{Answer, FailureKind, Interval, Moments, Recorder};

    use super::*;
    use crate::exposition;

    fn records(times_ns: &[u64], failures: usize) -> IntervalRecords {
        let mut recorder = Recorder::new(1);
        let moments = |ns| Moments { due: 0, sent: 0, first: ns, last: ns };
        times_ns.iter().for_each(|ns| recorder.record(0, moments(*ns), Answer::ok(1)));
        for _ in 0..failures {
            recorder.record(0, moments(1), Answer::failed(FailureKind::TimedOut));
        }
        recorder.bytes_sent = 100;
        recorder.connect_failures.count(FailureKind::ConnectRefused);
        let figures = Interval {
            users: 0,
            start_ns: 0,
            duration_ns: 1,
            operations: 0,
            failures: 0,
            p50: 0,
            p99: 0,
            max: 0,
        };
        IntervalRecords { began_ns: 0, figures, recorder, drivers: Vec::new(), users: 0 }
    }

    fn board() -> Board {
        Board::new(&Outline {
            layer: "http",
            verb: "ping",
            options: BTreeMap::new(),
            open: false,
            seed: 0,
            target: "http://erp/\"a\"".into(),
            pin: Vec::new(),
            points: 2,
            takes: None,
        })
    }

    #[test]
    fn counters_grow_and_quantiles_are_of_the_last_interval() {
        let mut board = board();
        board.rows(&["page".into()]);
        board.point(&BTreeMap::from([("connections".into(), "5".into())]));
        board.add(&records(&[1_000, 3_000], 1));
        board.add(&records(&[500], 0));
        board.add(&records(&[], 2));
        let text = exposition(&board.families());
        for line in [
            "plumb_run_info{layer=\"http\",verb=\"ping\",target=\"http://erp/\\\"a\\\"\"} 1",
            "plumb_run_operations_total{connections=\"5\",row=\"page\"} 3",
            "plumb_run_failures_total{connections=\"5\",row=\"page\",kind=\"timed-out\"} 3",
            "plumb_run_response_seconds_sum{connections=\"5\",row=\"page\"} 0.000004500",
            "plumb_run_response_seconds_count{connections=\"5\",row=\"page\"} 3",
            "plumb_run_response_seconds{connections=\"5\",row=\"page\",quantile=\"0.5\"} 0.000000500",
            "plumb_run_connect_failures_total{connections=\"5\",kind=\"connect-refused\"} 3",
            "plumb_run_sent_bytes_total{connections=\"5\"} 300",
            "plumb_run_users 5",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
        }
    }

    #[test]
    fn every_failure_is_in_a_counter() {
        let mut board = board();
        board.rows(&["page".into()]);
        board.point(&BTreeMap::new());
        let mut records = records(&[1_000], 2);
        records.recorder.unasked = 3;
        board.add(&records);
        let text = exposition(&board.families());
        let unasked = "plumb_run_failures_total{kind=\"unasked\"} 3";
        assert!(text.lines().any(|line| line == unasked), "{text}");
        let counters = text.lines().filter(|line| {
            let names = ["plumb_run_failures_total", "plumb_run_connect_failures_total"];
            names.iter().any(|name| line.starts_with(name))
        });
        let counts = counters.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
        assert_eq!(counts.sum::<u64>(), records.recorder.failures().total());
    }

    #[test]
    fn answers_of_what_was_looked_into_are_counted_and_in_no_time() {
        let mut board = board();
        board.point(&BTreeMap::new());
        let mut looked = records(&[1_000], 0);
        (0..3).for_each(|_| looked.recorder.look(0));
        board.add(&looked);
        board.add(&looked);
        let text = exposition(&board.families());
        for line in ["plumb_run_operations_total 8", "plumb_run_response_seconds_count 2"] {
            assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
        }
    }

    #[test]
    fn a_row_without_a_name_among_others_is_not_shown() {
        let mut board = board();
        board.rows(&[String::new(), "page".into()]);
        board.point(&BTreeMap::new());
        let recorder = Recorder::new(2);
        board.add(&IntervalRecords { recorder, ..records(&[], 0) });
        let text = exposition(&board.families());
        let rows = text.lines().filter(|line| line.starts_with("plumb_run_operations_total"));
        assert_eq!(rows.collect::<Vec<_>>(), ["plumb_run_operations_total{row=\"page\"} 0"]);
    }

    #[test]
    fn rows_that_are_called_alike_are_told_apart() {
        let mut board = board();
        board.rows(&["a", "b", "a", "a (2)", "", "", "a"].map(str::to_owned));
        board.point(&BTreeMap::new());
        let recorder = Recorder::new(7);
        board.add(&IntervalRecords { recorder, ..records(&[], 0) });
        let text = exposition(&board.families());
        let rows = text.lines().filter_map(|line| {
            line.strip_prefix("plumb_run_operations_total{row=\"")?.strip_suffix("\"} 0")
        });
        assert_eq!(rows.collect::<Vec<_>>(), ["a", "b", "a (2)", "a (2) (2)", "a (3)"], "{text}");
    }

    #[test]
    fn points_stand_side_by_side_and_none_is_shown_before_it_has_figures() {
        let mut board = board();
        assert!(!exposition(&board.families()).contains("operations_total{"));
        for connections in ["1", "64"] {
            board.point(&BTreeMap::from([("connections".into(), connections.into())]));
            board.add(&records(&[1_000], 0));
        }
        let text = exposition(&board.families());
        assert!(text.contains("operations_total{connections=\"1\"} 1\n"), "{text}");
        assert!(text.contains("operations_total{connections=\"64\"} 1\n"), "{text}");
        assert!(text.contains("plumb_run_users 64\n"), "{text}");
        let abouts = text.lines().filter(|line| line.contains("# TYPE plumb_run_operations_total"));
        assert_eq!(abouts.count(), 1);
    }
}
