use plumb_measure::{CpuQuota, CpuUse, Histogram, Scope, Validity};
use plumb_size::analysis::Figure;
use plumb_size::model::Setup;
use plumb_size::sizing::{Question, Sizing, Target, size};
use serde_json::{Value, json};

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
    step(record, &record.results[0], 10, None, &machine_of(record)).unwrap()
}

fn machine_of(record: &RunRecord) -> Machine {
    Machine::of(std::slice::from_ref(record), None).unwrap()
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
        let machine = machine_of(&record);
        (machine.cores, machine.quota, machine.is_of_server_alone)
    };
    assert_eq!(with(None, None), (4, None, false));
    assert_eq!(with(None, quota(1.5, false)), (2, Some(1.5), true));
    assert_eq!(with(None, quota(2.0, false)), (2, None, true));
    assert_eq!(with(Some(1), quota(1.5, false)), (1, None, true));
    assert_eq!(with(Some(1), quota(1.5, true)), (1, None, true));
    // in one group with the load generator, whose time is of the quota as well
    assert_eq!(with(None, quota(1.5, true)), (2, Some(1.5), false));
    assert_eq!(step_of(&record).generator_s, Some(0.002));
}

fn quota(processors: f64, with_client: bool) -> Option<CpuQuota> {
    Some(CpuQuota { processors, with_client, throttled: None })
}

/// The record of a step of users without think time, at four processors of which the server, 8 ms an
/// operation, has 3.5 at most, and the load generator takes `driver_ms` an operation.
#[expect(clippy::cast_possible_truncation, reason = "figures of a small run")]
#[expect(clippy::cast_sign_loss, reason = "none is negative")]
fn contended(users: u32, driver_ms: f64) -> RunRecord {
    let (server_s, driver_s) = (0.008, driver_ms / 1e3);
    let alone = f64::from(users) / (server_s + driver_s);
    let per_s = alone.min(4.0 / (server_s + driver_s)).min(3.5 / server_s);
    let mut times = Histogram::new();
    let operations = (per_s * 100.0).round() as u64;
    times.record_n((f64::from(users) / per_s * 1e9) as u64, operations);
    let mut record = record(&[7]);
    let result = &mut record.results[0];
    result.labels.insert("users".into(), users.to_string());
    result.validity = Validity::of([]);
    (result.operations, result.duration_ns) = (operations, 100_000_000_000);
    result.throughput_per_s = real(operations) / 100.0;
    result.response_ns = Distribution::of(&times);
    let client_ns_per_op = (driver_s * 1e9) as u64;
    let server_ns_per_op = Some(8_000_000);
    result.cpu = Some(CpuUse { client_ns_per_op, server_ns_per_op, ..CpuUse::default() });
    let host = result.host.as_mut().unwrap();
    host.busy_pct = Some(per_s * (server_s + driver_s) / 4.0 * 100.0);
    host.tested_quota = quota(3.5, false);
    record
}

/// What follows from such steps for 16 users.
fn sized(driver_ms: f64) -> (Machine, Sizing) {
    let records: Vec<RunRecord> =
        [1, 2, 3, 4, 6, 8, 16].map(|users| contended(users, driver_ms)).into();
    let machine = Machine::of(&records, None).unwrap();
    let of = |it: &RunRecord| step(it, &it.results[0], users(&it.results[0])?, None, &machine);
    let ladder = Ladder::of(records.iter().filter_map(of).collect()).unwrap();
    let setup = Setup {
        cores: machine.cores,
        quota: machine.quota,
        server_quota: machine.server_quota,
        ..Setup::default()
    };
    let target = Some(Target { figure: Figure::Mean, most_s: 1.0 });
    let question = Question { users: 16, think_s: None, target, seed: 1 };
    (machine, size(ladder, &setup, question).unwrap())
}

#[test]
fn a_load_generator_that_leaves_the_server_less_than_its_quota_is_no_unknown_limit() {
    for driver_ms in [3.0, 4.0] {
        let (machine, sizing) = sized(driver_ms);
        assert_eq!(sizing.refusals, Vec::<String>::new());
        assert_eq!((machine.cores, machine.quota, machine.shared), (4, None, true));
        let measured = 4.0 / (0.008 + driver_ms / 1e3);
        assert!((sizing.knee.limit_per_s.value / measured - 1.0).abs() < 0.01, "{:?}", sizing.knee);
        // without the load generator the quota is what bounds the server
        let answered = sizing.answer.unwrap().throughput_per_s;
        assert!((answered.value / (3.5 / 0.008) - 1.0).abs() < 0.01, "{answered:?}");
    }
    // beside one that takes little, the quota is what is full
    let (machine, sizing) = sized(0.2);
    assert_eq!((machine.cores, machine.quota, machine.server_quota), (4, Some(3.5), None));
    assert_eq!(sizing.refusals, Vec::<String>::new());
    assert!(
        (sizing.knee.limit_per_s.value / (3.5 / 0.008) - 1.0).abs() < 0.01,
        "{:?}",
        sizing.knee
    );
}

#[test]
fn a_machine_that_others_keep_busy_leaves_the_server_its_quota() {
    let mut record = record(&[7]);
    record.results[0].validity = Validity::of([]);
    let mut with = |busy_pct, foreign_pct| {
        let host = record.results[0].host.as_mut().unwrap();
        (host.busy_pct, host.foreign_pct) = (Some(busy_pct), foreign_pct);
        host.tested_quota = quota(0.5, false);
        let machine = machine_of(&record);
        (machine.cores, machine.quota, machine.server_quota)
    };
    assert_eq!(with(97.0, Some(85.0)), (1, Some(0.5), None));
    assert_eq!(with(97.0, Some(1.0)), (4, None, Some(0.5)), "it and the load generator do");
    assert_eq!(with(97.0, None), (4, None, Some(0.5)));
}

#[test]
fn a_run_in_which_nobody_found_the_server_does_not_take_its_processors() {
    let mut found = record(&[7]);
    found.results[0].host.as_mut().unwrap().tested_quota = quota(1.5, false);
    for records in [[record(&[]), found.clone()], [found, record(&[])]] {
        let machine = Machine::of(&records, None).unwrap();
        assert_eq!((machine.name.as_str(), machine.cores, machine.quota), ("srv", 2, Some(1.5)));
        assert!(machine.is_of_server_alone && !machine.shared);
    }
    let machine = machine_of(&record(&[]));
    assert_eq!((machine.name.as_str(), machine.cores), ("that of http://srv/", 0));
}

/// A run of the steps `valid` and, of 30 users, one in which answers failed.
fn kept(valid: &[u32]) -> tempfile::TempDir {
    let mut run = contended(30, 1.0);
    let result = run.results.remove(0);
    run.results = valid.iter().map(|users| contended(*users, 1.0).results.remove(0)).collect();
    let text = "5 answers of 528 had a status that was not expected (5 with 503)".to_owned();
    let found = Finding { kind: FindingKind::UnexpectedStatus, scope: Scope::Everything, text };
    run.results.push(ResultRecord { validity: Validity::of([found]), ..result });
    let folder = tempfile::tempdir().unwrap();
    let run_folder = folder.path().join("run");
    std::fs::create_dir(&run_folder).unwrap();
    std::fs::write(run_folder.join("run.json"), run.to_json()).unwrap();
    folder
}

#[test]
fn a_step_that_was_left_out_for_failures_is_known_to_the_ladder() {
    let folder = kept(&[1, 2, 3, 4]);
    let (read, ladder) = super::read(&[folder.path().into()], None).unwrap();
    let failed = ladder.failed().unwrap();
    assert!((failed.users - 30.0).abs() < 1e-9 && failed.what.starts_with("5 answers of 528"));
    assert_eq!(read.left_out.len(), 1);
    // too few steps are left, and more of these would not help
    let folder = kept(&[1, 2, 3]);
    let error = super::read(&[folder.path().into()], None).unwrap_err().to_string();
    assert!(
        error.contains("not valid: 1 step, the first of 30 users: 5 answers of 528"),
        "{error}"
    );
}

#[test]
fn a_limit_of_foreign_load_that_was_raised_for_a_step_is_known_to_the_answer() {
    let folder = kept(&[1, 2, 3, 4]);
    let path = folder.path().join("run/run.json");
    let mut run = RunRecord::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let accepted = |run: &RunRecord| {
        std::fs::write(&path, run.to_json()).unwrap();
        super::read(&[folder.path().into()], None).unwrap().0.accepted_load
    };
    assert_eq!(accepted(&run), None);
    run.validity.foreign_limit = Some(plumb_measure::ForeignLimit {
        share: "100%".parse().unwrap(),
        source: plumb_measure::LimitSource::Option,
    });
    for (result, took) in run.results.iter_mut().zip([3.0, 84.0, 2.0, 1.0, 99.0]) {
        result.host.as_mut().unwrap().foreign_pct = Some(took);
    }
    let most = accepted(&run).and_then(|it| it.most_pct);
    assert_eq!(most, Some(84.0), "the last step is left out");
}

#[test]
fn what_helps_late_work_stands_behind_no_other_reason() {
    let folder = kept(&[]);
    let path = folder.path().join("run/run.json");
    let mut run = RunRecord::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let mut late = run.results[0].clone();
    let text = "driver-limited: 1 % of the work began late".to_owned();
    let lag = Finding { kind: FindingKind::SchedulingLag, scope: Scope::Latency, text };
    late.validity = Validity::of([lag]);
    run.results.push(late);
    let refused = |run: &RunRecord| {
        std::fs::write(&path, run.to_json()).unwrap();
        super::read(&[folder.path().into()], None).unwrap_err().to_string()
    };
    let failed = refused(&run);
    assert!(failed.contains("first: 30 users: 5 answers") && !failed.contains("--lag"), "{failed}");
    run.results.reverse();
    let late = refused(&run);
    assert!(late.contains("began late") && late.ends_with(super::LATE), "{late}");
}

/// A record of a step of 30 users with such a finding.
fn found(kind: FindingKind, scope: Scope, status: Status) -> RunRecord {
    let mut run = contended(30, 1.0);
    run.status = status;
    run.results[0].validity = Validity::of([Finding { kind, scope, text: "it was so".into() }]);
    run
}

#[test]
fn a_step_that_was_interrupted_before_its_first_operation_did_not_fail() {
    let failed = |run: &RunRecord| failed_step(run, &run.results[0], 30).map(|step| step.what);
    let mut run = found(FindingKind::NoOperations, Scope::Everything, Status::Interrupted);
    assert_eq!(failed(&run), None);
    run.results[0].failures.insert("time-out".into(), 4);
    assert_eq!(failed(&run).as_deref(), Some("it was so"));
    let run = found(FindingKind::NoOperations, Scope::Everything, Status::Complete);
    assert_eq!(failed(&run).as_deref(), Some("it was so"));
}

#[test]
fn a_step_of_which_operations_were_turned_away_is_none_of_the_ladder() {
    let mut run = found(FindingKind::Refused, Scope::Nothing, Status::Complete);
    assert!(is_usable(&run.results[0]));
    run.results[0].refused = 7;
    assert!(run.results[0].validity.valid && !is_usable(&run.results[0]));
    assert_eq!(failed_step(&run, &run.results[0], 30).unwrap().what, "it was so");
}
