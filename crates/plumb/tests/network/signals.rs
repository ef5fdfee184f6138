//! What signals end, and what they do not.

use std::fs;
use std::path::Path;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use rustix::process::Signal;
use tempfile::tempdir;

use crate::kit::{PLUMB, Program, Server, read, until};

/// True when `SIGHUP` is in the set of this name of the process `id`.
fn hangup_is_in(set: &str, id: u32) -> bool {
    let status = read(Path::new(&format!("/proc/{id}/status")));
    let mask = status.lines().find_map(|line| line.strip_prefix(set)).expect("a set of signals");
    let mask = u64::from_str_radix(mask.trim_start_matches(':').trim(), 16).expect("a mask");
    mask & 1 == 1
}

#[test]
fn a_terminal_that_closes_ends_a_server_as_ctrl_c_does() {
    let words = ["net", "serve", "--listen", "127.0.0.1:0", "--quiet"];
    let server = Server::ready(Program::in_terminal(&words, Path::new(".")));
    server.signal(Signal::HUP);
    server.wait().with(0);
}

#[test]
fn whoever_is_to_outlive_its_terminal_does() {
    let line = "trap '' HUP && exec \"$0\" net serve --listen 127.0.0.1:0 --quiet";
    let words = ["-c", line, PLUMB];
    let server = Server::ready(Program::start_as(Path::new("/bin/sh"), &words, Path::new(".")));
    assert!(hangup_is_in("SigIgn", server.id()) && !hangup_is_in("SigCgt", server.id()));
    server.signal(Signal::HUP);
    server.client().echo(b"still there");
    server.stop().with(0);
}

/// Lines of the file in the run folder `x` below `at` whose name ends so.
fn lines_of(at: &Path, ending: &str) -> usize {
    let all = fs::read_dir(at.join("x")).into_iter().flatten().flatten();
    let file = all.map(|it| it.path()).find(|it| it.extension() == Some(ending.as_ref()));
    file.map_or(0, |file| read(&file).lines().count())
}

/// Whether every thread of `process` is stopped by a signal.
fn all_stopped(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let mut stats = threads.filter_map(|it| fs::read_to_string(it.path().join("stat")).ok());
    stats.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T')))
}

/// The time that a load stood still is not what its server took.
#[test]
fn a_load_that_was_stopped_says_so_and_has_no_valid_figures() {
    let server = Server::start(&["--quiet"]);
    // streams have no lines before their end; samples come as time goes on
    for (verb, told_by) in [("ping", "hlog"), ("stream", "csv")] {
        let at = tempdir().expect("a folder");
        let words = ["net", verb, &server.address, "--for", "600s", "--interval", "20ms"];
        let words = [&words[..], &["--host-interval", "20ms", "--json", "--out", "x"]].concat();
        let load = Program::start(&words, at.path());
        let goes_on = |had| until(|| (lines_of(at.path(), told_by) > had + 30).then_some(()));
        goes_on(0);
        load.signal(Signal::STOP);
        until(|| all_stopped(load.id()).then_some(())); // who waits for a processor stops when it has one
        let stopped_until_ns = MonotonicClock.now_ns() + 500_000_000;
        until(|| (MonotonicClock.now_ns() > stopped_until_ns).then_some(()));
        let had = lines_of(at.path(), told_by);
        load.signal(Signal::CONT);
        goes_on(had);
        load.signal(Signal::INT);
        let validity = &load.wait().with(130).json()["results"][0]["validity"];
        assert_eq!(validity["valid"], false, "{verb}: {validity}");
        let reasons = validity["reasons"].as_array().cloned().unwrap_or_default();
        let found = reasons.iter().find(|it| it["kind"] == "driver-stopped");
        let text = found.and_then(|it| it["text"].as_str()).unwrap_or_default();
        assert!(text.contains("stood still for"), "{verb}: {validity}");
    }
}
