//! A report over many runs, end to end: what is shown, what is refused, and what is only named.

use crate::kit;

use std::fs;
use std::path::Path;

use kit::{Server, ping, plumb};
use serde_json::Value;
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Three runs below `runs`: one plan twice, and one of another size.
fn runs(at: &Path) {
    let server = Server::start(&["--quiet"]);
    for (name, size) in [("a", "100B"), ("b", "100B"), ("c", "5000B")] {
        let out = format!("runs/{name}");
        let extent = ["--for", "400ms", "--warmup", "0s", "--interval", "50ms", "--lag", "10s"];
        let words = ["--host-interval", "10ms", "--size", size, "--out", &out];
        let ended = ping(&server.address, &[&extent[..], &words].concat(), at);
        assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.stderr);
    }
}

fn document(at: &Path, words: &[&str]) -> Value {
    plumb(&[&["report", "--json"], words].concat(), at).with(0).json()
}

#[test]
fn runs_of_one_plan_share_a_point_and_others_stand_beside_it() {
    let at = folder();
    runs(at.path());
    let found = document(at.path(), &["runs"]);
    assert_eq!(found["schema"], "plumb.report/1");
    assert_eq!(found["runs"].as_array().map(Vec::len), Some(3));
    let points = found["points"].as_array().expect("points");
    let counts: Vec<u64> = points.iter().filter_map(|point| point["runs"].as_u64()).collect();
    assert_eq!(counts, [2, 1]);
    let text = plumb(&["report", "runs", "--out", "page.html"], at.path()).with(0).stdout;
    assert!(text.starts_with("3 runs: net ping\n"), "{text}");
    let page = fs::read_to_string(at.path().join("page.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.len() < 2_000_000);
    assert!(page.contains("id=\"repeat\"") && page.contains("href=\"#validity\""));
    // the samples of the machine lie in the folder of every run
    assert!(page.contains("Processors, "), "no machine under the load");
    let ticket = plumb(&["report", "runs/a", "runs/c", "--markdown"], at.path()).with(0).stdout;
    assert!(ticket.starts_with("## 2 runs: net ping\n"), "{ticket}");
}

#[test]
fn where_no_run_can_be_shown_none_is_called_valid() {
    let at = folder();
    let server = Server::start(&["--quiet"]);
    for name in ["a", "b"] {
        let out = format!("runs/{name}");
        ping(&server.address, &["--count", "100", "--out", &out], at.path());
    }
    let broken = |name: &str| {
        fs::write(at.path().join("runs").join(name).join("run.json"), "{").expect("it is there");
        plumb(&["report", "runs"], at.path()).with(1).stdout
    };
    let one = broken("a");
    assert!(!one.contains("All runs") && !one.contains("The run is valid"), "{one}");
    let none = broken("b");
    assert!(none.contains("No run could be shown.") && !none.contains("valid"), "{none}");
}

#[test]
fn one_run_among_the_paths_is_shown_as_it_always_was() {
    let at = folder();
    runs(at.path());
    let alone = plumb(&["report", "runs/a", "--json"], at.path()).with(0).stdout;
    let record = fs::read_to_string(at.path().join("runs/a/run.json")).expect("a record");
    assert_eq!(alone, record);
    let twice = plumb(&["report", "runs/a", "runs/a/run.json", "--json"], at.path()).with(0).stdout;
    assert_eq!(twice, record);
}

#[test]
fn what_lies_beside_the_runs_is_named_and_what_was_named_is_refused() {
    let at = folder();
    runs(at.path());
    fs::create_dir(at.path().join("runs/cut")).expect("a folder");
    fs::write(at.path().join("runs/cut/run.json"), "{\"schema\": \"plumb.run/1\",\n")
        .expect("a file");
    let partial = plumb(&["report", "runs", "--json"], at.path()).with(1).json();
    let lost = &partial["not_shown"][0];
    assert_eq!(lost["place"], "runs/cut");
    assert!(lost["reason"].as_str().is_some_and(|reason| reason.contains("line 2")), "{lost}");
    let refused = plumb(&["report", "runs/a", "runs/cut"], at.path()).with(2);
    assert!(refused.stderr.contains("runs/cut/run.json: not a record of plumb"), "{refused:?}");
    let nowhere = plumb(&["report", "runs/a", "elsewhere"], at.path()).with(2);
    assert!(nowhere.stderr.starts_with("plumb: no run at elsewhere: "), "{nowhere:?}");
}

#[test]
fn an_experiment_is_shown_with_its_comparison_and_evaluated_when_it_has_none() {
    let at = folder();
    let words =
        ["ab", "--exec", "--pairs", "6", "--seed", "1", "--out", "ex", "echo 10", "echo 12"];
    plumb(&words, at.path()).with(0);
    let found = document(at.path(), &["ex"]);
    let experiment = &found["experiments"][0];
    assert_eq!(experiment["comparison"]["schema"], "plumb.comparison/1");
    assert_eq!(found["runs"].as_array().map(Vec::len), Some(12));
    fs::remove_file(at.path().join("ex/comparison.json")).expect("it was written");
    let again = document(at.path(), &["ex"]);
    let endpoint = |found: &Value| {
        found["experiments"][0]["comparison"]["contrasts"][0]["endpoints"][0].clone()
    };
    assert_eq!(endpoint(&again), endpoint(&found));
    let text = plumb(&["report", "ex", "--out", "page.html"], at.path()).with(0).stdout;
    assert!(text.contains("Candidate is 20.0 % higher by its figure"), "{text}");
    let page = fs::read_to_string(at.path().join("page.html")).expect("a page");
    assert!(page.contains("id=\"experiment-1\"") && page.contains("class=\"forest\""));
}
