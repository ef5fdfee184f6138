//! A disk without room: what cannot begin leaves nothing behind, what was measured is told, and a watch
//! goes on.

use std::path::Path;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::Value;
use tempfile::tempdir;

use crate::kit::{Program, Server, names_in, plumb, read, until};
use crate::watch::log;

/// Starts `plumb` where a file takes no more than `limit` says to the shell's `ulimit`.
fn short_of_room(limit: &str, words: &[&str], folder: &Path) -> Program {
    // a write that fails is an error, and no signal
    Program::limited(&format!("-f {limit} && trap '' XFSZ"), words, folder)
}

#[test]
fn what_cannot_begin_leaves_nothing_behind_and_begins_when_there_is_room() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let ping = ["net", "ping", &server.address, "--count", "20", "--warmup", "0s", "--out", "x"];
    let check = ["net", "check", &server.address, "--out", "x"];
    let recording = ["http", "record", "--listen", "127.0.0.1:0", "--for", "100ms", "--out", "x"];
    let watch = ["watch", "--for", "1ms", "--out", "x", "net", "ping", &server.address];
    for words in [&ping[..], &check, &recording, &watch] {
        let ended = short_of_room("0", words, at.path()).wait().with(2);
        assert!(ended.stderr.contains("(os error 27)"), "{words:?}: {ended:?}");
        assert_eq!(names_in(at.path()), [] as [&str; 0], "{words:?}");
    }
    let ended = plumb(&ping, at.path());
    assert!(ended.code.is_some_and(|code| code != 2), "{ended:?}");
}

/// Has no file of `program` grow from now on, or takes that back.
fn without_room(program: &Program, without: bool) {
    let pid = Pid::from_raw(i32::try_from(program.id()).expect("a number"));
    let current = without.then_some(0);
    prlimit(pid, Resource::Fsize, Rlimit { current, maximum: None }).expect("it is ours");
}

/// A measurement whose interval log can be written no longer, which it says while it measures.
fn short_of_log(server: &Server, folder: &Path) -> Program {
    let words = ["net", "ping", &server.address, "--for", "600s", "--interval", "10ms"];
    let words = [&words[..], &["--json", "--junit", "j.xml", "--out", "x"]].concat();
    let ping = short_of_room("unlimited", &words, folder);
    let log = folder.join("x/intervals.hlog");
    until(|| (log.exists() && read(&log).lines().count() > 20).then_some(()));
    without_room(&ping, true);
    let said = until(|| Some(ping.log_line()).filter(|it| it.contains("the interval log")));
    assert!(said.contains("(os error 27)") && said.contains("the run goes on"), "{said}");
    ping
}

#[test]
fn what_was_measured_is_told_where_its_folder_takes_nothing() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let ping = short_of_log(&server, at.path());
    ping.signal(Signal::INT);
    let ended = ping.wait().with(2);
    assert!(ended.json()["results"][0]["operations"].as_u64() > Some(0), "{ended:?}");
    assert!(ended.stderr.contains("cannot write x/run.json"), "{ended:?}");
}

#[test]
fn a_record_says_that_its_interval_log_is_lacking() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let ping = short_of_log(&server, at.path());
    without_room(&ping, false);
    ping.signal(Signal::INT);
    let ended = ping.wait().with(2);
    let kinds = |record: &Value| {
        let reasons = record["validity"]["reasons"].as_array().cloned().unwrap_or_default();
        reasons.iter().any(|it| it["kind"] == "log-incomplete" && it["scope"] == "nothing")
    };
    assert!(kinds(&ended.json()), "{ended:?}");
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("the interval log is incomplete: cannot write x/int"), "{ended:?}");
    assert!(read(&at.path().join("j.xml")).contains("<testsuite"));
    assert_eq!(plumb(&["report", "x", "--json"], at.path()).with(0).json(), ended.json());
}

#[test]
fn a_check_and_a_checkup_tell_what_they_have_measured() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let file = format!("[net]\nservers = [\"{}\"]\n", server.address);
    std::fs::write(at.path().join("landscape.toml"), file).expect("there is room");
    let checkup = ["checkup", "--target", "landscape.toml", "--for", "1s", "--json", "--out", "x"];
    let check = ["net", "check", &server.address, "--quick", "--json", "--out", "x"];
    for (words, record) in [(&check[..], "check.json"), (&checkup[..], "checkup.json")] {
        let program = short_of_room("unlimited", words, at.path());
        let written = at.path().join("x").join(record);
        let begun = |text: String| {
            let record: Value = serde_json::from_str(&text).expect("it is written whole");
            record["parts"][0]["outcome"].is_object()
        };
        until(|| (written.exists() && begun(read(&written))).then_some(()));
        without_room(&program, true);
        let ended = program.wait().with(2);
        let parts = ended.json()["parts"].as_array().cloned().unwrap_or_default();
        let measured = parts.iter().filter(|part| part["outcome"].is_object()).count();
        assert!((1..parts.len()).contains(&measured), "{ended:?}");
        assert!(ended.stderr.contains("(os error 27)"), "{ended:?}");
        std::fs::remove_dir_all(at.path().join("x")).expect("it is ours");
    }
}

#[test]
fn a_watch_goes_on_without_room_and_writes_down_all_that_it_has_when_there_is() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let words = ["watch", "--every", "20ms", "--keep", "1000", "--out", "w", "net", "ping"];
    let asked = [&server.address, "--count", "20", "--warmup", "0s", "--foreign-limit", "100%"];
    let watch = short_of_room("unlimited", &[&words[..], &asked].concat(), at.path());
    until(|| (log(at.path()).len() > 1).then_some(()));
    let pid = Pid::from_raw(i32::try_from(watch.id()).expect("a number"));
    let limit = |current: Option<u64>| {
        prlimit(pid, Resource::Fsize, Rlimit { current, maximum: None }).expect("it is ours");
    };
    // the line that is written next has room for its beginning only
    let whole = read(&at.path().join("w/watch.jsonl"));
    limit(Some(whole.len() as u64 + 20));
    while !watch.log_line().ends_with("; the watch goes on") {}
    limit(Some(0));
    while !watch.line().contains("(os error 27)") {}
    limit(None);
    // a line that is cut is no line yet
    let lines = || read(&at.path().join("w/watch.jsonl")).matches('\n').count();
    let had = lines();
    until(|| (lines() > had).then_some(()));
    watch.signal(Signal::INT);
    let ended = watch.wait().with(1);
    let entries = log(at.path());
    let all = format!("{} measurements, ", entries.len());
    assert!(ended.stdout.contains(&all), "{all}: {ended:?}");
    assert!(entries.iter().any(|entry| entry["run"].is_null()), "{entries:?}");
    let with_runs = entries.iter().filter(|entry| entry["run"].is_string()).count();
    assert_eq!(names_in(&at.path().join("w/runs")).len(), with_runs, "{entries:?}");
    assert!(!at.path().join("w/.in-use").exists());
}
