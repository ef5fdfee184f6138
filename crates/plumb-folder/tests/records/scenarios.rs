//! A run of a scenario at two numbers of users: groups, thresholds, users that end.

use std::collections::BTreeMap;

use plumb_measure::{
    FindingKind, LengthFigures, PartRecord, ResultRecord, RunRecord, ScenarioFigures, Scope,
    ThresholdRecord,
};

use super::build::{Load, Shape, distribution, labels, run};

/// A list and its details with a background load, for 10 and for 20 users.
pub(crate) fn scenario() -> RunRecord {
    let few = level("10", 1, 4_010_000_000);
    let many = level("20", 3, 3_120_000_000);
    let mut record = run("http", "load", "http://erp.example:8000 (flights)", vec![few, many]);
    record.plan.options.insert("scenario".into(), "flights.toml".into());
    record.plan.options.insert("scenario-text".into(), "name = \"flights\"\n".into());
    record
}

fn level(users: &str, factor: u64, duration_ns: u64) -> ResultRecord {
    let shape = Shape { base_ns: 9_000_000 * factor, tail_ns: 1_200_000 };
    let mut result = Load {
        labels: labels(&[("users", users)]),
        shape,
        operations: 420,
        duration_ns,
        codes: vec![(200, 420)],
        length_bytes: Some((1_037, 1_048, 417_136)),
        in_pieces: true,
        ..Load::default()
    }
    .found(FindingKind::ThresholdMissed, Scope::Nothing, "1 threshold missed: order p95 < 1s")
    .found(FindingKind::UsersEnded, Scope::Nothing, "3 users of reader ended: users.csv ran dry")
    .done();
    let list = Shape { base_ns: 37_000_000 * factor, tail_ns: 900_000 };
    result.parts = vec![
        part("reader", "list", list, 20),
        part("reader", "detail", shape, 400),
        PartRecord {
            response_ns: None,
            service_ns: None,
            first_byte_ns: None,
            ..part("background", "message", shape, 0)
        },
    ];
    result.groups = vec![part("reader", "order", list, 20)];
    let start_up = Shape { base_ns: 210_000, tail_ns: 9_000 };
    let slower = Shape { base_ns: 640_000, tail_ns: 9_000 };
    result.scenarios = vec![
        ScenarioFigures {
            name: "reader".into(),
            load: "closed".into(),
            users: users.parse().unwrap_or(0),
            begun: users.parse().unwrap_or(0),
            scripts: 20,
            broken: 1,
            ended: BTreeMap::from([("users.csv ran dry".into(), 3)]),
            start_up_ns: Some(distribution(&start_up.histogram(9))),
            ..ScenarioFigures::default()
        },
        ScenarioFigures {
            name: "background".into(),
            load: "open".into(),
            users: 5,
            begun: 1,
            scripts: 2,
            empty: 2,
            start_up_ns: Some(distribution(&slower.histogram(1))),
            ..ScenarioFigures::default()
        },
    ];
    let threshold = |text: &str, found: Option<f64>, unit: &str, met| ThresholdRecord {
        text: text.into(),
        found,
        unit: unit.into(),
        met,
    };
    result.thresholds = vec![
        threshold("order p95 < 1s", Some(1.25e9), "ns", false),
        threshold("failures < 0.1%", Some(0.0), "%", true),
        threshold("throughput > 100/s", Some(104.7), "1/s", true),
        threshold("requests >= 420", Some(420.0), "1", true),
        threshold("message p95 < 1s", None, "ns", false),
    ];
    result.driver.start_up_ns = Some(distribution(&start_up.histogram(10)));
    result
}

fn part(scenario: &str, name: &str, shape: Shape, operations: u64) -> PartRecord {
    let times = distribution(&shape.histogram(operations.max(1)));
    PartRecord {
        name: name.into(),
        labels: BTreeMap::from([("scenario".into(), scenario.into())]),
        operations,
        throughput_per_s: 100.0,
        response_ns: Some(times.clone()),
        service_ns: Some(times.clone()),
        first_byte_ns: Some(times),
        codes: BTreeMap::from([("200".into(), operations)]),
        length: Some(LengthFigures {
            min: 1_037,
            p25: Some(1_041),
            p50: 1_048,
            p75: Some(1_052),
            max: 1_058,
        }),
        ..PartRecord::default()
    }
}
