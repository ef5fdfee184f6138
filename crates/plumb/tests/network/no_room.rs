//! A disk without room: what cannot begin leaves nothing behind, and a watch goes on.

use std::path::Path;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
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
