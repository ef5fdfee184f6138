//! `plumb size` end to end, on ladders whose landscape is known.

mod declared;

use crate::kit;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kit::plumb;
use plumb_folder::RunFolder;
use plumb_measure::{
    CpuUse, Distribution, DriverFacts, Finding, FindingKind, Histogram, HostFacts, HostUse,
    Interval, Plan, Program, ResultRecord, RunRecord, SCHEMA, Scope, Status, Target, Validity,
};
use plumb_size::analysis::Analysis;
use plumb_size::landscape::{Element, Landscape, Servers, Station};
use serde_json::json;
use tempfile::tempdir;

/// Two processors that each operation needs for 50 ms, and 20 ms of waiting.
fn landscape() -> Landscape {
    let station = |name: &str, servers, service_s| {
        let name = name.into();
        Element::Station(Station { name, servers, service_s, variation: 1.0, background: 0.0 })
    };
    let cores = station("cores", Servers::Shared(2), 0.050);
    Landscape { elements: vec![cores, station("wait", Servers::Delay, 0.020)] }
}

const THINK_S: f64 = 1.0;
const LADDER: [u32; 7] = [1, 5, 10, 20, 30, 40, 60];

/// The record of one step, as the exact network has it; times are exponential.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "figures of a test")]
fn result(users: u32) -> ResultRecord {
    let solved = Analysis::of(&landscape(), THINK_S, 100).expect("it is a landscape");
    let rate = solved.throughput_per_s(users as usize);
    let mean_ns = solved.mean_s(users as usize) * 1e9;
    let mut response = Histogram::new();
    let operations = 4_000_u32;
    for at in 0..operations {
        let share = (f64::from(at) + 0.5) / f64::from(operations);
        response.record((-mean_ns * (1.0 - share).ln()) as u64);
    }
    let duration_ns = (f64::from(operations) / rate * 1e9).round() as u64;
    let host = HostUse {
        samples: 100,
        busy_pct: Some(rate * 0.050 / 2.0 * 100.0 + 1.0),
        foreign_pct: Some(0.5),
        memory_used_bytes: Some((1 << 30) + u64::from(users) * (2 << 20)),
        tested: vec![4_711],
        ..HostUse::default()
    };
    let generator_ns = 1_000_000;
    ResultRecord {
        labels: BTreeMap::from([("users".into(), users.to_string())]),
        operations: operations.into(),
        duration_ns,
        throughput_per_s: f64::from(operations) * 1e9 / duration(duration_ns),
        response_ns: Distribution::of(&response),
        cpu: Some(CpuUse { client_ns_per_op: generator_ns, ..CpuUse::default() }),
        validity: Validity::of([]),
        driver: DriverFacts::default(),
        host: Some(host),
        ..ResultRecord::default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures of a test")]
fn duration(ns: u64) -> f64 {
    ns as f64
}

fn record(users: &[u32]) -> RunRecord {
    RunRecord {
        schema: SCHEMA.into(),
        plumb: Program { version: "0.1.0".into() },
        started: "2026-11-22T10:00:00Z".into(),
        status: Status::Complete,
        plan: Plan {
            layer: "http".into(),
            verb: "load".into(),
            command: vec!["plumb".into()],
            options: BTreeMap::from([("scenario-text".into(), json!("a scenario"))]),
            load: "closed".into(),
            seed: 1,
        },
        host: HostFacts {
            name: "app1".into(),
            kernel: "Linux 6.12".into(),
            cpus: 2,
            placement: "not pinned".into(),
            clock: "CLOCK_MONOTONIC".into(),
            clock_read_ns: 30,
            facts: BTreeMap::new(),
        },
        far: None,
        target: Target { address: "http://app1:8000/".into(), transport: None, server: None },
        validity: Validity::of([]),
        floor: None,
        results: users.iter().map(|users| result(*users)).collect(),
    }
}

fn written(record: &RunRecord, at: &Path, name: &str) -> PathBuf {
    let folder = RunFolder::create_new(&at.join(name)).expect("a new folder");
    folder.write_record(record).expect("it can be written");
    folder.path().to_path_buf()
}

#[test]
fn a_ladder_is_sized_in_every_form() {
    let at = tempdir().expect("a folder");
    written(&record(&LADDER), at.path(), "ladder");
    let words = ["size", "ladder", "--users", "30", "--target", "p95=1s"];
    let text = plumb(&words, at.path()).with(0).stdout;
    assert!(text.starts_with("30 users who think for 1.0"), "{text}");
    assert!(
        text.contains("cores is full first") && text.contains("Predicted from the other"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("Whether the machine drifted while these runs were taken"), "{text}");
    let markdown = plumb(&[&words[..], &["--markdown"]].concat(), at.path()).with(0).stdout;
    assert!(markdown.contains("| users | a second | mean |"), "{markdown}");
    let json = plumb(&[&words[..], &["--json"]].concat(), at.path()).with(0).json();
    assert_eq!(json["schema"], "plumb.size/1");
    let knee = json["sizing"]["knee"]["users"]["value"].as_f64().expect("a number");
    let known = landscape().knee_users(THINK_S).expect("it has one");
    assert!((knee / known - 1.0).abs() < 0.05, "{knee} {known}");
    let exact = Analysis::of(&landscape(), THINK_S, 30).expect("it is one").throughput_per_s(30);
    let found = json["sizing"]["answer"]["throughput_per_s"]["value"].as_f64().expect("a number");
    assert!((found / exact - 1.0).abs() < 0.03, "{found} {exact}");
    assert_eq!(json["sizing"]["answer"]["upgrades"][0]["bottleneck"], "cores");
}

#[test]
fn steps_of_several_runs_are_one_ladder() {
    let at = tempdir().expect("a folder");
    for users in LADDER {
        written(&record(&[users]), at.path(), &format!("runs/{users}"));
    }
    let json = plumb(&["size", "runs", "--users", "30", "--json"], at.path()).with(0).json();
    assert_eq!(json["sizing"]["ladder"]["steps"].as_array().map(Vec::len), Some(LADDER.len()));
}

/// The ladder as one run of which this machine knows nothing of the server's, one step behind the
/// other.
fn measured_from_outside() -> RunRecord {
    let mut record = record(&LADDER);
    let mut start_ns = 0;
    for result in &mut record.results {
        result.host = None;
        let duration_ns = result.duration_ns;
        result.intervals = vec![Interval { start_ns, duration_ns, ..Interval::default() }];
        start_ns += duration_ns + 30_000_000_000;
    }
    record
}

/// What perfmon of a Windows an hour ahead of UTC recorded meanwhile, every 15 s.
fn perfmon(record: &RunRecord) -> String {
    let mut text = "\"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)\",\
                    \"\\\\SAP01\\Processor(_Total)\\% Processor Time\"\r\n"
        .to_owned();
    let end = record.results.last().map(|it| &it.intervals[0]).expect("a ladder has steps");
    for s in (0..=(end.start_ns + end.duration_ns) / 1_000_000_000 + 15).step_by(15) {
        let step = record.results.iter().find(|it| {
            let interval = &it.intervals[0];
            s * 1_000_000_000 <= interval.start_ns + interval.duration_ns
        });
        let busy = step.map_or(0.0, |it| it.throughput_per_s * 0.050 / 2.0 * 100.0) + 0.5;
        let (hour, minute, second) = (11 + s / 3_600, s % 3_600 / 60, s % 60);
        writeln!(text, "\"11/22/2026 {hour:02}:{minute:02}:{second:02}.000\",\"{busy}\"\r")
            .expect("a text takes it");
    }
    text
}

#[test]
fn a_ladder_of_a_windows_is_sized_from_what_perfmon_recorded() {
    let at = tempdir().expect("a folder");
    let record = measured_from_outside();
    written(&record, at.path(), "ladder");
    std::fs::write(at.path().join("sap01.csv"), perfmon(&record)).expect("it can be written");
    let words = ["size", "ladder", "--users", "30", "--recording", "sap01.csv", "--cores", "2"];
    let json = plumb(&[&words[..], &["--json"]].concat(), at.path()).with(0).json();
    let knee = json["sizing"]["knee"]["users"]["value"].as_f64().expect("a number");
    let known = landscape().knee_users(THINK_S).expect("it has one");
    assert!((knee / known - 1.0).abs() < 0.05, "{knee} {known}");
    let read = &json["runs"];
    assert_eq!((&read["machine"], &read["shared"]), (&json!("SAP01"), &json!(false)));
    let text = plumb(&words, at.path()).with(0).stdout;
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("is taken as UTC+01:00 (the file says so)"), "{unwrapped}");
    let refused = |more: &[&str], why: &str| {
        let ended = plumb(&[&words[..6], more].concat(), at.path()).with(2);
        assert!(ended.stderr.contains(why) && ended.stdout.is_empty(), "{}", ended.stderr);
    };
    refused(&[], "give --cores N");
    refused(&["--cores", "2", "--recording-clock", "CET"], "such as +01:00");
    refused(&["--cores", "2", "--recording-clock", "-03:00"], "give --recording-clock");
}

#[test]
fn what_lies_beyond_the_ladder_is_refused_with_what_to_measure() {
    let at = tempdir().expect("a folder");
    written(&record(&LADDER), at.path(), "ladder");
    let ended = plumb(&["size", "ladder", "--users", "1000"], at.path()).with(3);
    assert!(ended.stdout.starts_with("Not answered:"), "{}", ended.stdout);
    let unwrapped = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("measure up to at least 500 users"), "{unwrapped}");
    let what_if = ["size", "ladder", "--users", "100", "--what-if", "cores=8"];
    let text = plumb(&what_if, at.path()).with(0).stdout;
    assert!(text.contains("(model, not measured)"), "{text}");
}

#[test]
fn a_ladder_without_a_knee_says_so() {
    let at = tempdir().expect("a folder");
    written(&record(&[1, 2, 4, 6, 8]), at.path(), "low");
    let text = plumb(&["size", "low", "--users", "10"], at.path()).with(0).stdout;
    assert!(text.contains("shows no knee up to 8 users"), "{text}");
}

#[test]
fn a_server_on_a_machine_that_nobody_watched_is_not_sized() {
    let at = tempdir().expect("a folder");
    let mut one = record(&LADDER);
    let hosts = one.results.iter_mut().filter_map(|it| it.host.as_mut());
    hosts.for_each(|host| host.tested.clear());
    written(&one, at.path(), "ladder");
    let refused = plumb(&["size", "ladder", "--users", "20"], at.path()).with(2).stderr;
    assert!(refused.contains("fewer than three steps know how busy"), "{refused}");
}

#[test]
fn steps_that_are_not_valid_are_left_out_and_named() {
    let at = tempdir().expect("a folder");
    let mut one = record(&LADDER);
    let text = "foreign load: others took half".to_owned();
    let finding = Finding { kind: FindingKind::ForeignLoad, scope: Scope::Everything, text };
    one.results[2].validity = Validity::of([finding]);
    written(&one, at.path(), "ladder");
    let text = plumb(&["size", "ladder", "--users", "20"], at.path()).with(0).stdout;
    assert!(text.contains("Left out, not valid: 10 users: foreign load"), "{text}");
}

#[test]
fn what_is_no_ladder_is_refused() {
    let at = tempdir().expect("a folder");
    written(&record(&LADDER), at.path(), "good");
    written(&record(&[5]), at.path(), "one");
    let mut other = record(&[80]);
    other.host.name = "app2".into();
    written(&other, at.path(), "other");
    let mut rate = record(&LADDER);
    rate.plan.load = "open".into();
    written(&rate, at.path(), "rate");
    let refused = |words: &[&str], why: &str| {
        let ended = plumb(&[&["size"], words].concat(), at.path()).with(2);
        assert!(ended.stderr.contains(why) && ended.stdout.is_empty(), "{}", ended.stderr);
    };
    refused(&["one", "--users", "5"], "at least 4");
    refused(&["good", "other", "--users", "5"], "different landscapes: machine");
    refused(&["rate", "--users", "5"], "load at a rate");
    refused(&["nowhere", "--users", "5"], "nowhere");
    refused(&["good", "--users", "0"], "--users");
    refused(&["good", "--users", "5", "--target", "p77=1s"], "p95=TIME");
    refused(&["good", "--users", "5", "--what-if", "cores"], "is no change");
    refused(&["good", "--users", "5", "--what-if", "cpu=4"], "there are: outside, cores, waiting");
    refused(&["good", "--users", "5", "--servers", "database=2"], "no step has a part `database`");
}

#[test]
fn what_is_under_way_at_the_end_of_a_load_does_not_make_it_slower() {
    let at = tempdir().expect("a folder");
    for users in LADDER {
        let mut one = record(&[users]);
        let mean_ns = one.results[0].response_ns.as_ref().map_or(0, |it| it.mean);
        // operations begin for so long, and the last of them are waited for
        let begun_us = one.results[0].duration_ns / 1_000;
        one.plan.options.insert("for".into(), json!(format!("{begun_us}us")));
        let result = &mut one.results[0];
        result.duration_ns = begun_us * 1_000 + mean_ns;
        result.throughput_per_s *= duration(begun_us * 1_000) / duration(result.duration_ns);
        written(&one, at.path(), &format!("ladder/{users}"));
    }
    let json = plumb(&["size", "ladder", "--users", "60", "--json"], at.path()).with(0).json();
    let think_s = json["sizing"]["ladder"]["think_s"].as_f64().expect("a number");
    assert!((think_s - THINK_S).abs() < 0.01, "{think_s}");
    let highest = &json["sizing"]["ladder"]["steps"][LADDER.len() - 1];
    let solved = Analysis::of(&landscape(), THINK_S, 100).expect("it is a landscape");
    let found = highest["throughput_per_s"].as_f64().expect("a number");
    assert!((found / solved.throughput_per_s(60) - 1.0).abs() < 0.01, "{found}");
}

#[test]
fn the_capacity_report_is_one_page_that_loads_nothing() {
    let at = tempdir().expect("a folder");
    written(&record(&LADDER), at.path(), "ladder");
    let words = ["size", "ladder", "--users", "30", "--target", "p95=1s", "--html", "page.html"];
    let text = plumb(&words, at.path()).with(0).stdout;
    let page = std::fs::read_to_string(at.path().join("page.html")).expect("it was written");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("default-src 'none'"), "{page}");
    assert!(page.matches("<script").count() == 1 && !page.contains("src="), "{page}");
    // the answer stands on the page as in the terminal, with its charts
    assert!(page.contains("30 users who think for") && text.starts_with("30 users who think for"));
    assert_eq!(page.matches("<figure class=\"chart\"").count(), 2);
    for drawn in ["held-out", "knee-range", "class=\"limit\"", "class=\"asked\"", "spread s0"] {
        assert!(page.contains(drawn), "{drawn}: {page}");
    }
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        unwrapped.contains("With 4 cores in the place of 2 the bottleneck is still cores, at"),
        "{text}"
    );
    assert!(unwrapped.contains("One figure at a time is taken 10 % smaller and larger"), "{text}");
    let nowhere = [&words[..7], &["nowhere/page.html"]].concat();
    let refused = plumb(&nowhere, at.path()).with(2).stderr;
    assert!(refused.contains("cannot write nowhere/page.html"), "{refused}");
}

#[test]
fn a_refused_question_has_a_page_too_and_no_box() {
    let at = tempdir().expect("a folder");
    written(&record(&LADDER), at.path(), "ladder");
    let words = ["size", "ladder", "--users", "1000", "--target", "p95=1s", "--html", "page.html"];
    plumb(&words, at.path()).with(3);
    let page = std::fs::read_to_string(at.path().join("page.html")).expect("it was written");
    assert!(page.contains("Not answered:") && page.contains("body class=\"bad\""), "{page}");
    assert!(!page.contains("What these users need"), "{page}");
}

#[test]
fn what_if_speaks_of_arrivals_time_outs_and_queues() {
    let at = tempdir().expect("a folder");
    written(&record(&LADDER), at.path(), "ladder");
    let what_if = |changes: &str| {
        let words = ["size", "ladder", "--users", "30", "--json", "--what-if", changes];
        plumb(&words, at.path())
    };
    // 30 a second of 50 ms on two processors: they are busy by three quarters
    let open = what_if("arrivals=30/s").with(0).json();
    let open = &open["what_if"];
    assert_eq!(open["plan"]["load"]["open"]["rate_per_s"], 30.0);
    let (model, simulated) = (&open["model"]["mean_s"], &open["simulated"]["mean_s"]["value"]);
    let apart = model.as_f64().expect("a mean") / simulated.as_f64().expect("a mean") - 1.0;
    assert!(apart.abs() < 0.10, "{open}");
    let same = what_if("arrivals=30/s").with(0).json();
    assert_eq!(&same["what_if"], open, "one seed is one result");
    let open = open["ranges"]["simulated"]["mean_s"]["high"].as_f64();
    assert!(open.is_some_and(|high| high > 0.0), "the ladder leaves it an end: {same}");
    let impatient = what_if("users=60, timeout=1s, retries=2, back-off=1s").with(0).json();
    let found = &impatient["what_if"]["simulated"];
    assert!(
        found["timed_out"].as_u64() > Some(0) && found["retried"].as_u64() > Some(0),
        "{found}"
    );
    assert_eq!(impatient["what_if"]["unknown_to_model"], json!(["time-outs"]));
    let refused = |changes: &str, why: &str| {
        let stderr = what_if(changes).with(2).stderr;
        assert!(stderr.contains(why), "{stderr}");
    };
    refused("arrivals=100/s", "operations a second are more than cores can do");
    refused("arrivals=10/s, users=5", "users is of users, and arrivals are of none");
    refused("arrivals=10", "is no change");
    refused("cores.queue=5", "there is no `cores`");
}

#[test]
fn a_what_if_is_called_by_its_changes_in_every_form() {
    let at = tempdir().expect("a folder");
    written(&record(&LADDER), at.path(), "ladder");
    let changes = "cores.service/2,cores=3";
    let size = |form: &[&str]| {
        let words = ["size", "ladder", "--users", "30", "--what-if", changes];
        plumb(&[&words, form].concat(), at.path()).with(0).stdout
    };
    let called = "What if cores.service/2, cores=3: 30 users who think for 1.00";
    let text = size(&["--html", "page.html"]);
    let page = std::fs::read_to_string(at.path().join("page.html")).expect("a page");
    for form in [&text, &size(&["--markdown"]), &page] {
        assert!(form.contains(called) && form.contains("own noise"), "{form}");
    }
}

#[test]
fn runs_of_other_builds_and_ladders_without_a_valid_step_are_refused() {
    let at = tempdir().expect("a folder");
    written(&record(&LADDER), at.path(), "good");
    let mut other = record(&[80]);
    other.plumb.version = "0.2.0".into();
    written(&other, at.path(), "build");
    let mut kernel = record(&[80]);
    kernel.host.kernel = "Linux 6.13".into();
    written(&kernel, at.path(), "kernel");
    let mut invalid = record(&LADDER);
    for result in &mut invalid.results {
        let text = "foreign load: others took half".to_owned();
        let finding = Finding { kind: FindingKind::ForeignLoad, scope: Scope::Everything, text };
        result.validity = Validity::of([finding]);
    }
    written(&invalid, at.path(), "invalid");
    for result in &mut invalid.results {
        let text =
            "driver-limited: 1 % of the work began 134 ms or more after it was due".to_owned();
        let finding = Finding { kind: FindingKind::SchedulingLag, scope: Scope::Latency, text };
        result.validity = Validity::of([finding]);
    }
    written(&invalid, at.path(), "late");
    let refused = |runs: &[&str], why: &str| {
        let ended = plumb(&[&["size"], runs, &["--users", "5"]].concat(), at.path()).with(2);
        assert!(ended.stderr.contains(why) && ended.stdout.is_empty(), "{}", ended.stderr);
    };
    refused(&["good", "build"], "different landscapes: plumb");
    refused(&["good", "kernel"], "different landscapes: kernel");
    refused(&["invalid"], "no step is valid; the first: 1 user: foreign load");
    refused(&["late"], "or accept that work begins late with the load's --lag, such as --lag 5ms");
}

#[test]
fn saps_like_figures_are_of_the_sales_scenario_alone() {
    let at = tempdir().expect("a folder");
    written(&record(&LADDER), at.path(), "ladder");
    let text = plumb(&["size", "ladder", "--users", "30", "--saps-like"], at.path()).with(3).stdout;
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("SAPS-like, not certified Not said: "), "{text}");
    let json = ["size", "ladder", "--users", "30", "--saps-like", "--json"];
    let json = plumb(&json, at.path()).with(3).json();
    assert!(json["saps_like"]["Err"].is_string(), "{}", json["saps_like"]);
}
