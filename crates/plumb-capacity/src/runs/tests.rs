use plumb_measure::{CpuQuota, CpuUse, Histogram};
use serde_json::json;

use super::*;

#[test]
fn a_time_within_another_holds_a_place_once() {
    let all_ms = |ms: u64| {
        let mut times = Histogram::new();
        (0..10).for_each(|_| times.record(ms * 1_000_000));
        Distribution::of(&times).unwrap()
    };
    let account = [
        ("front", 2),
        ("queue", 5),
        ("load", 1),
        ("database", 40),
        ("database.wire", 38),
        ("database.logon", 1),
        ("db", 40),
        ("render", 1),
        ("total", 50),
        ("request", 50),
    ];
    let told_ns = account.map(|(name, ms)| (name.to_owned(), all_ms(ms))).into();
    let parts = told(&[PartRecord { operations: 10, told_ns, ..PartRecord::default() }]);
    let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["database", "load", "queue", "render"]);
    let held_s: f64 = parts.iter().filter(|(name, _)| name != "queue").map(|it| it.1).sum();
    assert!((held_s - 0.042).abs() < 1e-9, "{parts:?}");
}

/// The record of a step of ten users at a machine of four processors, half of them busy, whose driver
/// took 2 ms an operation.
fn record(tested: &[u32]) -> RunRecord {
    let mut times = Histogram::new();
    times.record_n(10_000_000, 1_000);
    let host = HostUse {
        busy_pct: Some(50.0),
        memory_used_bytes: Some(1 << 30),
        tested: tested.to_vec(),
        ..HostUse::default()
    };
    let result = ResultRecord {
        labels: BTreeMap::from([("users".to_owned(), "10".to_owned())]),
        operations: 1_000,
        duration_ns: 10_000_000_000,
        response_ns: Distribution::of(&times),
        cpu: Some(CpuUse { client_ns_per_op: 2_000_000, ..CpuUse::default() }),
        host: Some(host),
        ..ResultRecord::default()
    };
    let facts = json!({
        "name": "srv", "kernel": "Linux", "cpus": 4, "placement": "", "clock": "", "clock_read_ns": 0,
        "facts": {}
    });
    let plan = json!({
        "layer": "http", "verb": "load", "command": [], "options": {}, "load": "closed", "seed": 1
    });
    let record = json!({
        "schema": plumb_measure::SCHEMA, "plumb": { "version": "1" }, "started": "", "status": "complete",
        "plan": plan, "host": facts, "target": { "address": "http://srv/" },
        "validity": result.validity, "results": [result]
    });
    serde_json::from_value(record).unwrap()
}

fn step_of(record: &RunRecord) -> Step {
    step(record, &record.results[0], 10, None).unwrap()
}

#[test]
fn a_load_generator_elsewhere_takes_no_processor_time_of_the_server() {
    let mut record = record(&[7]);
    assert_eq!(step_of(&record).generator_s, Some(0.002));
    let mut driven_by = |remotes: Value| {
        record.plan.options.insert("remotes".into(), remotes);
        (shared(&record), step_of(&record).generator_s)
    };
    let local = json!([{ "name": "local-1", "host": "srv" }, { "name": "local-2", "host": "srv" }]);
    assert_eq!(driven_by(local), (true, Some(0.002)));
    let elsewhere = json!([{ "name": "load1", "host": "load1" }]);
    assert_eq!(driven_by(elsewhere), (false, None));
    // started by somebody else: another program, as whose its time is not in what is busy
    let beside = json!([{ "name": "east", "host": "srv" }]);
    assert_eq!(driven_by(beside), (false, None));
    assert!(
        step_of(&record).busy_cores.is_some_and(|busy| busy > 1.9),
        "it is watched all the same"
    );
}

#[test]
fn a_machine_on_which_no_server_was_found_is_not_the_one_under_test() {
    let here = step_of(&record(&[7]));
    assert!(here.busy_cores.is_some() && here.memory_bytes.is_some() && here.generator_s.is_some());
    let elsewhere = step_of(&record(&[]));
    assert_eq!((elsewhere.busy_cores, elsewhere.memory_bytes), (None, None));
    assert_eq!(elsewhere.generator_s, None);
}

#[test]
fn a_quota_bounds_the_server_or_both_sides() {
    let mut record = record(&[7]);
    let mut with = |tested_cpus, tested_quota| {
        let host = record.results[0].host.as_mut().unwrap();
        (host.tested_cpus, host.tested_quota) = (tested_cpus, tested_quota);
        (placed(&record), quota(&record))
    };
    let of = |processors, with_client| Some(CpuQuota { processors, with_client });
    assert_eq!(with(None, None), (None, None));
    assert_eq!(with(None, of(1.5, false)), (Some(1.5), None));
    assert_eq!(with(Some(1), of(1.5, false)), (Some(1.0), None));
    assert_eq!(with(Some(1), of(1.5, true)), (Some(1.0), Some(1.5)));
    assert_eq!([1.5, 2.0, 0.5].map(whole), [2, 2, 1]);
    // in one group with the load generator, whose time is of the quota as well
    assert_eq!(with(None, of(1.5, true)), (None, Some(1.5)));
    assert_eq!(step_of(&record).generator_s, Some(0.002));
}
