//! A measurement every few moments, and what is kept of it.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::tempdir;

use crate::kit::{Program, Server, plumb, until};

/// The lines of the log of the watch in `at`.
fn log(at: &Path) -> Vec<Value> {
    let text = fs::read_to_string(at.join("w/watch.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn a_watch_goes_on_when_its_target_is_gone_and_when_it_is_started_again() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let address = server.address.clone();
    let asked = ["net", "ping", &address, "--count", "20", "--warmup", "0s"];
    let calm = ["--foreign-limit", "100%", "--lag", "50s", "--connect-timeout", "200ms"];
    let words = ["watch", "--every", "50ms", "--keep", "2", "--out", "w"];
    let watch = Program::start(&[&words[..], &asked, &calm].concat(), at.path());
    until(|| (log(at.path()).len() > 3).then_some(()));
    server.stop().with(0);
    let is_none = |entry: &Value| entry["p50-ns"].is_null() && entry["valid"] == false;
    until(|| log(at.path()).iter().any(is_none).then_some(()));
    watch.signal(Signal::INT);
    let ended = watch.wait().with(1);
    assert!(ended.stdout.contains("without an answer"), "{ended:?}");
    let entries = log(at.path());
    assert!(entries[0]["operations"] == 20 && entries[0]["p50-ns"].is_u64(), "{entries:?}");
    let none = entries.iter().find(|entry| is_none(entry)).expect("one without an answer");
    assert!(none["problem"].as_str().is_some_and(|why| why.contains("refused")), "{none}");
    let runs = fs::read_dir(at.path().join("w/runs")).expect("runs").count();
    assert!(runs <= 2, "{runs} are kept");
    // it goes on behind what it has
    let again =
        [&["watch", "--every", "1h", "--for", "1ms", "--out", "w"], &asked[..], &calm].concat();
    plumb(&again, at.path()).with(1);
    assert_eq!(log(at.path()).len(), entries.len() + 1);
}

#[test]
fn what_is_no_watch_is_refused_and_nothing_is_overwritten() {
    let at = tempdir().expect("a folder");
    let refused = |words: &[&str], why: &str| {
        let ended = plumb(words, at.path()).with(2);
        assert!(ended.stderr.contains(why), "{ended:?}");
    };
    refused(&["watch", "--out", "x", "net", "serve"], "measure");
    refused(&["watch", "--every", "0s", "net", "ping", "h"], "--every 0s never ends");
    fs::create_dir(at.path().join("w")).expect("made");
    fs::write(at.path().join("w/other"), "of somebody").expect("written");
    refused(&["watch", "--out", "w", "net", "ping", "h"], "holds something else");
    fs::write(at.path().join("w/watch.jsonl"), "{\"at\":1}\n").expect("written");
    refused(&["watch", "--out", "w", "net", "ping", "h"], "line 1 is no measurement");
}

#[test]
fn the_help_of_the_watched_command_is_printed_as_it_is() {
    let at = tempdir().expect("a folder");
    let within = plumb(&["watch", "net", "ping", "--help"], at.path()).with(0);
    let alone = plumb(&["net", "ping", "--help"], at.path()).with(0);
    assert_eq!((within.stdout, within.stderr), (alone.stdout, alone.stderr));
}
