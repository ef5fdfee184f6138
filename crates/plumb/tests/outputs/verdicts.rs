//! Verdicts as pipelines take them: JUnit, SARIF and the summary in Markdown say the same as the exit
//! code, and the schemas and readers of others take them.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::path::{Path, PathBuf};

use kit::http::{Reply, ReplyServer};
use kit::namespace::allowed;
use kit::operations::{FIXED, page};
use kit::scenario::{play_in, scenario};
use kit::{Ended, Program, Server, names_in, only_run, ping, plumb, read};
use serde_json::{Value, json};
use tempfile::tempdir;

const FILES: [&str; 6] = ["--junit", "v.xml", "--sarif", "v.sarif", "--summary", "v.md"];

/// What the schemas and a reader of others say of the files in `folder`; `None` where they cannot be
/// asked here, and the reason is said.
fn read_by_others(folder: &Path) -> Option<Value> {
    let python = std::env::var_os("PLUMB_TEST_PYTHON").map(PathBuf::from);
    let python = python.expect("PLUMB_TEST_PYTHON must name a Python: run ./test");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schemas = std::env::var_os("PLUMB_TEST_SCHEMAS")
        .map_or_else(|| here.join("../../target/interop/schemas"), PathBuf::from);
    let words = [
        here.join("tests/interop/verdicts.py"),
        schemas,
        folder.join("v.xml"),
        folder.join("v.sarif"),
    ];
    let words = words.map(|it| it.display().to_string());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = Program::start_as(&python, &words, folder).wait();
    allowed(match ended.code {
        Some(0) => Ok(ended.json()),
        Some(3) => Err(format!("no schemas or readers: {}", ended.stdout.trim())),
        _ => panic!("{ended:#?}"),
    })
}

/// The results of the SARIF file in `folder`.
fn results(folder: &Path) -> Vec<Value> {
    let log: Value = serde_json::from_str(&read(&folder.join("v.sarif"))).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    log["runs"][0]["results"].as_array().expect("results").clone()
}

fn first_line(folder: &Path) -> String {
    read(&folder.join("v.md")).lines().next().expect("a line").to_owned()
}

/// How many cases of the JUnit file failed, and how many have no answer.
fn counted(folder: &Path) -> (usize, usize) {
    let xml = read(&folder.join("v.xml"));
    (xml.matches("<failure ").count(), xml.matches("<error ").count())
}

#[test]
fn a_run_that_stands_passes() {
    let (folder, server) = (tempdir().expect("a folder"), Server::start(&[]));
    ping(&server.address, &[&["--count=200", "--warmup=0s"], &FILES[..]].concat(), folder.path())
        .with(0);
    assert_eq!(counted(folder.path()), (0, 0));
    let results = results(folder.path());
    assert!(results.iter().all(|it| it["level"] == "none"), "{results:#?}");
    assert_eq!(first_line(folder.path()), format!("### net ping {}: passed", server.address));
    let text = read(&folder.path().join("v.md"));
    assert!(text.contains("| passed | connections 1, size 1000B | median "), "{text}");
    assert!(text.contains("<details>") && text.len() < 65_536, "{text}");
    // a stored run has the same verdict
    let (before, run) = (read(&folder.path().join("v.xml")), only_run(folder.path()));
    let run = run.strip_prefix(folder.path()).expect("it lies there").display().to_string();
    plumb(&[&["report", &run], &FILES[..]].concat(), folder.path()).with(0);
    assert_eq!(read(&folder.path().join("v.xml")), before);
    let Some(found) = read_by_others(folder.path()) else { return };
    assert_eq!(found["cases"], json!({"passed": 1, "failed": 0, "open": 0}));
}

#[test]
fn a_run_that_is_not_valid_fails() {
    let folder = tempdir().expect("a folder");
    let site = ReplyServer::start(page);
    let words = ["--as-given", "--count=20", "--connections=1,2", &site.url("/gone")];
    plumb(&[&FIXED[..], &words, &FILES].concat(), folder.path()).with(1);
    assert_eq!(counted(folder.path()), (2, 0));
    let failed: Vec<Value> =
        results(folder.path()).into_iter().filter(|it| it["level"] == "error").collect();
    assert!(failed.iter().any(|it| it["ruleId"] == "unexpected-status"), "{failed:#?}");
    assert!(first_line(folder.path()).ends_with(": failed"));
    let Some(found) = read_by_others(folder.path()) else { return };
    assert_eq!(found["cases"], json!({"passed": 0, "failed": 2, "open": 0}));
    assert_eq!(found["counted"], json!([2, 2, 0]));
}

#[test]
fn a_run_that_was_not_checked_is_an_error_and_no_failure() {
    let (folder, server) = (tempdir().expect("a folder"), Server::start(&[]));
    let unseen = ["--count=200", "--warmup=0s", "--host-interval=0s", "--foreign-limit=5%"];
    ping(&server.address, &[&unseen[..], &FILES].concat(), folder.path()).with(3);
    assert_eq!(counted(folder.path()), (0, 1));
    assert!(results(folder.path()).iter().any(|it| it["kind"] == "open"));
    assert!(first_line(folder.path()).ends_with(": not answered"));
    let Some(found) = read_by_others(folder.path()) else { return };
    assert_eq!(found["cases"], json!({"passed": 0, "failed": 0, "open": 1}));
}

#[test]
fn every_threshold_is_a_case() {
    let site = ReplyServer::start(|_, _| Reply::page("hello"));
    let text = format!(
        "base = \"{}\"\nthresholds = [\"page p95 < 1h\", \"page p50 < 1ns\"]\n[[scenario]]\n\
         name = \"a\"\nusers = 1\niterations = 5\n[[scenario.step]]\nname = \"page\"\nget = \"/\"\n",
        site.url("")
    );
    let folder = scenario(&text);
    play_in(folder.path(), &FILES).with(1);
    let xml = read(&folder.path().join("v.xml"));
    let met = "name=\"users 1: page p95 &lt; 1h\" time=\"0.000\">\n      <system-out>found ";
    assert!(xml.contains(met), "{xml}");
    assert!(xml.contains("<failure type=\"threshold-missed\""), "{xml}");
    assert_eq!(counted(folder.path()), (1, 0));
    let Some(found) = read_by_others(folder.path()) else { return };
    assert_eq!(found["cases"]["failed"], 1);
}

/// Compares figures that shell commands print.
fn ab(commands: [&str; 2], pairs: &str, folder: &Path) -> Ended {
    let words = ["ab", "--exec", "--pairs", pairs, "--fail-on=worse", commands[0], commands[1]];
    plumb(&[&words[..], &FILES].concat(), folder)
}

#[test]
fn worse_fails_and_too_few_pairs_are_no_answer() {
    let folder = tempdir().expect("a folder");
    ab(["echo 1", "echo 2"], "6", folder.path()).with(1);
    assert!(results(folder.path()).iter().any(|it| it["ruleId"] == "worse"));
    assert_eq!(counted(folder.path()), (1, 0));
    assert!(read_by_others(folder.path()).is_none_or(|it| it["cases"]["failed"] == 1));
    // the experiment is read again as it was judged
    let runs = folder.path().join("plumb-runs");
    let experiment = runs.join(&names_in(&runs)[0]).display().to_string();
    plumb(&[&["compare", &experiment], &FILES[..]].concat(), folder.path()).with(0);
    assert_eq!(counted(folder.path()), (1, 0));
    ab(["echo 1", "echo 1"], "6", folder.path()).with(0);
    assert_eq!(counted(folder.path()), (0, 0));
    ab(["echo 1", "echo 2"], "2", folder.path()).with(3);
    assert!(results(folder.path()).iter().any(|it| it["ruleId"] == "untestable"));
    assert_eq!(counted(folder.path()), (0, 1));
}

#[test]
fn a_check_of_a_path_has_a_case_for_each_test() {
    let (folder, server) = (tempdir().expect("a folder"), Server::start(&[]));
    let words = ["net", "check", &server.address, "--for=50ms", "--idle=50ms", "--stability=50ms"];
    let ended = plumb(&[&words[..], &FILES].concat(), folder.path());
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    let (failed, open) = counted(folder.path());
    assert_eq!((failed > 0, open), (ended.code == Some(1), 0), "{ended:#?}");
    let Some(found) = read_by_others(folder.path()) else { return };
    let runs = folder.path().join("plumb-runs");
    let check = format!("plumb-runs/{}", names_in(&runs)[0]);
    plumb(&[&["report", &check], &FILES[..]].concat(), folder.path()).with(0);
    assert_eq!(counted(folder.path()), (failed, open));
    // the parts beside it are several
    let ended = plumb(&["report", &format!("{check}/parts"), "--junit=x"], folder.path()).with(2);
    assert!(ended.stderr.contains("hold one verdict"), "{ended:?}");
    let cases = found["cases"].as_object().expect("cases");
    assert_eq!(cases.values().filter_map(Value::as_u64).sum::<u64>(), 7, "{found}");
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let folder = tempdir().expect("a folder");
    fs::create_dir(folder.path().join("here")).expect("a folder");
    for (words, said) in [
        (&["--junit=none/v.xml"][..], "there is no such folder"),
        (&["--sarif=here"], "this is a folder"),
        (&["--junit=v", "--summary=v"], "--junit and --summary name the same file"),
    ] {
        let ended = ping("127.0.0.1:1", words, folder.path()).with(2);
        assert!(ended.stderr.contains(said), "{ended:?}");
    }
    let words = ["ab", "net ping a --junit=x", "net ping b"];
    let ended = plumb(&words, folder.path()).with(2);
    assert!(ended.stderr.contains("--junit belongs to the experiment"), "{ended:?}");
    assert_eq!(names_in(folder.path()), ["here"]);
}
