//! What other tools are given of a run: the file of single operations, HdrHistogram's tables of
//! percentiles, and the figures for Prometheus while a run goes on.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::path::{Path, PathBuf};

use kit::http::{Reply, ReplyServer};
use kit::operations::{FIXED, page, run};
use kit::web::Web;
use kit::{Program, names_in, only_run, plumb, read, record, unread};
use rustix::process::Signal;
use tempfile::tempdir;

/// Looks at the figures until something has happened; each is a round trip.
const LOOKS_MAX: usize = 100_000;

#[test]
fn every_operation_has_its_line_and_the_lines_agree_with_the_record() {
    let (_folder, record, samples) = run(&["--connections=1,2"]);
    let mut lines = samples.lines();
    assert_eq!(
        lines.next(),
        Some(
            "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,\
         failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect"
        )
    );
    let rows: Vec<&str> = lines.collect();
    assert_eq!(rows.len(), 80, "{samples}");
    let good =
        rows.iter().filter(|line| line.contains(",200,OK,") && line.contains(",true,,5,")).count();
    let gone = rows
        .iter()
        .filter(|line| {
            line.contains(",404,Not Found,") && line.contains(",false,unexpected-status,")
        })
        .count();
    let results = record["results"].as_array().expect("results");
    let operations: u64 = results.iter().filter_map(|it| it["operations"].as_u64()).sum();
    assert_eq!((good as u64, good + gone), (operations, 80), "{samples}");
    let by = |name: &str| rows.iter().filter(|line| line.contains(name)).count();
    assert_eq!(by(",plumb 1-1,") + by(",plumb 1-2,"), 80, "{samples}");
    assert!(by(",plumb 1-2,") > 0, "{samples}");
    assert_eq!(rows.iter().filter(|line| line.contains(",2,2,")).count(), 40, "{samples}");
    for line in rows {
        let fields: Vec<u64> = {
            let all: Vec<&str> = line.split(',').collect();
            let last = &all[all.len() - 3..];
            [all[0], all[1], last[0], last[2]]
                .iter()
                .map(|it| it.parse().expect("a number"))
                .collect()
        };
        let [start, elapsed, latency, connect] = fields[..] else { panic!("{line}") };
        assert!(start > 1_700_000_000_000 && elapsed >= latency && latency >= connect, "{line}");
    }
    assert!(samples.contains("/a,b\",200,"), "a label with a comma is quoted: {samples}");
}

#[test]
fn an_operation_without_an_answer_has_its_line_too() {
    let folder = tempdir().expect("a temporary folder");
    let site = ReplyServer::start(|_, number| match number % 3 {
        2 => Reply::Close(Vec::new()),
        _ => Reply::page("hello"),
    });
    let words = ["--as-given", "--jtl", "samples.jtl", "--count=30", &site.url("/")];
    plumb(&[&FIXED[..], &words].concat(), folder.path()).with(1);
    let samples = read(&folder.path().join("samples.jtl"));
    let closed = "Non HTTP response code: closed,Non HTTP response message: closed,plumb 1-1,,false,closed,0,";
    let with = |part: &str| samples.lines().filter(|line| line.contains(part)).count() as u64;
    let record = record(&only_run(folder.path()));
    let result = &record["results"][0];
    assert_eq!(Some(with(closed)), result["failures"]["closed"].as_u64(), "{samples}");
    assert_eq!(Some(with(",200,OK,")), result["operations"].as_u64(), "{samples}");
    assert_eq!(samples.lines().count(), 31);
}

#[test]
fn a_file_of_operations_is_never_overwritten() {
    let folder = tempdir().expect("a temporary folder");
    let site = ReplyServer::start(page);
    fs::write(folder.path().join("mine.jtl"), "mine").expect("a file");
    let words = ["--jtl", "mine.jtl", "--count=2", &site.url("/")];
    let ended = plumb(&[&FIXED[..], &words].concat(), folder.path()).with(2);
    assert!(ended.stderr.contains("cannot write mine.jtl"), "{ended:?}");
    assert_eq!(read(&folder.path().join("mine.jtl")), "mine");
    assert!(names_in(&folder.path().join("plumb-runs")).is_empty());
}

#[test]
fn tables_of_percentiles_are_what_hdrhistogram_says() {
    let (folder, record, _) = run(&["--connections=2"]);
    let run = only_run(folder.path()).display().to_string();
    plumb(&["report", &run, "--hgrm", "tables"], folder.path()).with(0);
    let tables = folder.path().join("tables");
    let names = names_in(&tables);
    let [part, whole] = names.as_slice() else { panic!("one page succeeded: {names:?}") };
    assert_eq!(whole, "1-connections-2.hgrm");
    assert!(part.starts_with("1-1-http-127.0.0.1-"), "{part}");
    let encoded = record["results"][0]["response_ns"]["histogram"].as_str().expect("a histogram");
    fs::write(folder.path().join("encoded"), encoded).expect("a file");
    let table = tables.join(whole);
    let python = std::env::var_os("PLUMB_TEST_PYTHON").map(PathBuf::from);
    let python =
        python.expect("PLUMB_TEST_PYTHON must name a Python with hdrhistogram: run ./test");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/percentiles.py");
    let words =
        [&script, &folder.path().join("encoded"), &table].map(|it| it.display().to_string());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let found = Program::start_as(&python, &words, folder.path()).wait().with(0).json();
    assert_eq!(found["wrong"], serde_json::json!([]), "{found}");
    assert!(found["right"].as_u64() > Some(10), "{found}");
    assert_eq!(found["count"], record["results"][0]["operations"]);
    let mean = format!("#[Mean    = {:12.3}, ", found["mean"].as_f64().expect("a mean"));
    assert!(read(&table).contains(&mean), "{mean}");
    // a check has no histogram to show
    let ended = plumb(&["report", "missing", "--hgrm", "tables"], folder.path()).with(2);
    assert!(ended.stderr.contains("missing"), "{ended:?}");
}

#[test]
fn the_figures_of_a_run_are_shown_while_it_goes_on() {
    let folder = tempdir().expect("a temporary folder");
    let site = ReplyServer::start(page);
    let url = site.url("/");
    let words = ["--metrics=127.0.0.1:0", "--interval=10ms", "--for=1h", "--connections=2", &url];
    let program = Program::start(&[&FIXED[..], &words].concat(), folder.path());
    let line = program.log_line();
    let place = line.strip_prefix("metrics on http://").expect("it says where");
    let address = place.strip_suffix("/metrics").expect("the path");
    let counted = format!("plumb_run_operations_total{{connections=\"2\",row=\"{url}\"}} ");
    let figures = |path| Web::connect(address).ask("GET", path, &[], b"");
    let text = (0..LOOKS_MAX)
        .map(|_| figures("/metrics").with(200))
        .find(|reply| {
            let text = reply.text();
            let count = text.lines().find_map(|line| line.strip_prefix(&counted));
            count.is_some_and(|count| count.parse::<u64>().expect("a number") > 0)
        })
        .expect("operations are counted")
        .text();
    for part in [
        "plumb_run_info{layer=\"http\",verb=\"ping\",".to_owned(),
        format!(
            "plumb_run_response_seconds{{connections=\"2\",row=\"{url}\",quantile=\"0.99\"}} 0."
        ),
        "plumb_run_users 2\n".to_owned(),
        "plumb_run_received_bytes_total{connections=\"2\"} ".to_owned(),
    ] {
        assert!(text.contains(&part), "no {part} in\n{text}");
    }
    let reply = figures("/metrics").with(200);
    assert_eq!(reply.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    figures("/").with(404);
    Web::connect(address).ask("POST", "/metrics", &[], b"x").with(405);
    program.signal(Signal::INT);
    program.wait().with(130);
    let run = only_run(folder.path());
    fs::remove_dir_all(run).expect("it is there");
    // it measures when nobody reads where they are shown
    unread(&[&FIXED[..], &["--metrics=127.0.0.1:0", "--count=20", &url]].concat(), folder.path());
    assert_eq!(record(&only_run(folder.path()))["results"][0]["operations"], 20);
    let ended = plumb(&[&FIXED[..], &["--metrics=unix:x", &url]].concat(), folder.path()).with(2);
    assert!(ended.stderr.contains("HOST:PORT"), "{ended:?}");
}
