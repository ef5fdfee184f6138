//! What is kept, and how it is judged, when a run meets trouble in its middle.

use crate::kit;

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use kit::peer::{Misdeed, Peer, silent};
use kit::{FILES_OF_A_RUN, PLUMB, Program, Server, files_of, only_run, ping, plumb, record, runs};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// 32 messages over connections that each carry ten of them and fail at the next: thirty succeed.
fn every_eleventh_fails(misdeed: Misdeed, kind: &str) -> Value {
    let peer = Peer::start(11, misdeed); // the greeting, and ten
    let folder = folder();
    let words = ["--count", "32", "--warmup", "0s", "--timeout", "400ms"];
    let ended = ping(&peer.address, &words, folder.path()).with(1);
    let run = only_run(folder.path());
    let record = record(&run);
    let result = &record["results"][0];
    assert_eq!(result["operations"], 30, "{result:#}");
    assert_eq!(result["failures"], json!({ kind: 2 }));
    assert_eq!(result["response_ns"]["count"], 30);
    assert_eq!(files_of(&run), FILES_OF_A_RUN);
    for validity in [&record["validity"], &result["validity"]] {
        assert_eq!(
            (&validity["valid"], &validity["latency_valid"]),
            (&false.into(), &false.into())
        );
        assert_eq!(validity["reasons"][0]["kind"], "failures");
    }
    let reason = format!("2 failures beside 30 operations: 2 {kind}");
    assert!(ended.stdout.contains("INVALID") && ended.stdout.contains(&reason), "{}", ended.stdout);
    result["validity"].clone()
}

/// The first wrong answer was one that `said` this.
#[track_caller]
fn assert_complaint(validity: &Value, said: &str) {
    let reasons = validity["reasons"].as_array().expect("a list");
    let complaint = reasons.iter().find(|reason| reason["kind"] == "complaint");
    let text = complaint.and_then(|reason| reason["text"].as_str()).unwrap_or_default();
    assert!(text.contains(said), "{validity:#}");
}

#[test]
fn a_server_that_closes_its_connections_is_counted_as_closed() {
    every_eleventh_fails(Misdeed::Close, "closed");
}

#[test]
fn a_server_that_resets_its_connections_is_counted_as_reset() {
    every_eleventh_fails(Misdeed::Reset, "reset");
}

#[test]
fn a_server_that_falls_silent_is_counted_as_timed_out() {
    every_eleventh_fails(Misdeed::Silence, "timed-out");
}

#[test]
fn an_answer_with_other_bytes_is_counted_as_garbled() {
    let validity = every_eleventh_fails(Misdeed::Garble, "garbled");
    assert_complaint(&validity, "sent back other bytes than it was sent, from byte 1 of 1000 on");
}

#[test]
fn an_error_message_is_counted_as_refused() {
    let validity = every_eleventh_fails(Misdeed::Refuse, "refused");
    assert_complaint(&validity, "refused: enough (NIECONN_REFUSED, rc = -10)");
}

#[test]
fn a_load_whose_server_has_gone_ends_with_its_record() {
    let peer = Peer::start(11, Misdeed::Leave);
    let folder = folder();
    let words = ["--for", "60s", "--warmup", "0s", "--connect-timeout", "300ms"];
    ping(&peer.address, &words, folder.path()).with(1);
    let run = only_run(folder.path());
    let record = record(&run);
    let result = &record["results"][0];
    assert_eq!((&result["operations"], &result["failures"]["closed"]), (&10.into(), &1.into()));
    assert!(result["failures"]["connect-refused"].as_u64() >= Some(1), "{result:#}");
    assert_eq!(record["validity"]["valid"], false);
    assert_eq!(files_of(&run), FILES_OF_A_RUN);
}

#[test]
fn a_sweep_whose_server_has_gone_keeps_what_was_measured() {
    let peer = Peer::start(11, Misdeed::Leave);
    let folder = folder();
    let words =
        ["--size", "10B,20B", "--for", "60s", "--warmup", "0s", "--connect-timeout", "300ms"];
    let ended = ping(&peer.address, &words, folder.path());
    assert!(matches!(ended.code, Some(1 | 2)), "{ended:#?}");
    let run = only_run(folder.path());
    let record = record(&run);
    assert_eq!(record["results"][0]["operations"], 10);
    assert_eq!(record["validity"]["valid"], false);
    assert_ne!(record["status"], "running", "nobody works on this run any more");
    assert_eq!(files_of(&run), FILES_OF_A_RUN);
}

#[test]
fn a_rate_that_nobody_can_drive_is_judged_and_does_not_take_all_memory() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = ["--rate", "1000000000/s", "--for", "300ms", "--warmup", "0s", "--timeout", "50ms"];
    let words = [&["net", "ping", &server.address], words.as_slice()].concat();
    let ended = Program::limited("-v 400000", &words, folder.path()).wait(); // KiB
    assert!(matches!(ended.code, Some(1 | 2)), "{ended:#?}");
}

#[test]
fn a_warm_up_at_a_rate_beyond_reach_comes_to_its_end() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = ["--rate", "1000000000/s", "--count", "5", "--warmup", "20ms", "--timeout", "50ms"];
    let ended = ping(&server.address, &words, folder.path());
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    let result = &record(&only_run(folder.path()))["results"][0];
    let count = |name: &str| result[name].as_u64().expect("a count");
    assert_eq!(count("operations") + count("dropped"), 5, "{result:#}");
}

#[test]
fn what_could_not_begin_in_time_is_counted_as_dropped() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = ["--rate", "300000/s", "--for", "300ms", "--warmup", "0s", "--timeout", "50ms"];
    ping(&server.address, &words, folder.path()).with(1);
    let record = record(&only_run(folder.path()));
    let result = &record["results"][0];
    let (done, dropped) = (&result["operations"], result["dropped"].as_u64().unwrap());
    // on a machine that is busy an answer may take longer than it may
    let failures = result["failures"].as_object().expect("kinds");
    let failed: u64 = failures.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(done.as_u64().unwrap() + failed + dropped, 90_000, "{result:#}");
    assert!(dropped > 0, "one connection at depth 1 does not carry this rate");
    assert_eq!(record["validity"]["valid"], false);
}

/// A load that goes on for minutes, interrupted after some hundred messages.
fn interrupted(signal: Signal, words: &[&str], folder: &Path) -> kit::Ended {
    interrupted_by(&[signal], words, folder)
}

/// The same by several signals, one after the other.
fn interrupted_by(signals: &[Signal], words: &[&str], folder: &Path) -> kit::Ended {
    let peer = Peer::start(300, Misdeed::None);
    let start = ["net", "ping", &peer.address, "--for", "600s", "--warmup", "0s"];
    let load = Program::start(&[&start, words].concat(), folder);
    peer.wait();
    signals.iter().for_each(|signal| load.signal(*signal));
    load.wait().with(130)
}

fn assert_interrupted(record: &Value) {
    assert_eq!(record["status"], "interrupted");
    let result = &record["results"][0];
    assert!(result["operations"].as_u64() >= Some(250), "{result:#}");
    assert_eq!(result["failures"], json!({}));
    assert_eq!(record["validity"]["valid"], false);
    assert_eq!(record["validity"]["reasons"][0]["kind"], "cut-short");
}

#[test]
fn ctrl_c_leaves_a_readable_run() {
    let folder = folder();
    let ended = interrupted(Signal::INT, &["--full"], folder.path());
    let run = only_run(folder.path());
    assert_interrupted(&record(&run));
    assert_eq!(files_of(&run), FILES_OF_A_RUN);
    let name = run.strip_prefix(folder.path()).expect("it is inside").display().to_string();
    let again = plumb(&["report", &name], folder.path()).with(0);
    assert_eq!(format!("{}report: {name}/report.html\n", again.stdout), ended.stdout);
}

#[test]
fn sigterm_is_an_interruption_too() {
    let folder = folder();
    interrupted(Signal::TERM, &[], folder.path());
    assert_interrupted(&record(&only_run(folder.path())));
}

#[test]
fn a_signal_that_comes_twice_at_the_same_moment_is_one_request() {
    let folder = folder();
    // both are there when it goes on
    let signals = [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT];
    interrupted_by(&signals, &[], folder.path());
    assert_interrupted(&record(&only_run(folder.path())));
}

#[test]
fn an_interrupted_run_prints_its_json_all_the_same() {
    let folder = folder();
    let ended = interrupted(Signal::INT, &["--json"], folder.path());
    assert_eq!(ended.json(), record(&only_run(folder.path())));
    assert_interrupted(&ended.json());
}

#[test]
fn an_interrupted_sweep_holds_what_was_begun_and_nothing_else() {
    let folder = folder();
    interrupted(Signal::INT, &["--size", "10B,20B,30B"], folder.path());
    let record = record(&only_run(folder.path()));
    assert_interrupted(&record);
    assert_eq!(record["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(record["plan"]["options"]["size"], json!(["10B", "20B", "30B"]));
}

#[test]
fn ctrl_c_ends_a_run_that_waits_for_its_first_answer() {
    let (address, listener) = silent();
    let folder = folder();
    let words = ["net", "ping", &address, "--connect-timeout", "600s"];
    let load = Program::start(&words, folder.path());
    let (mut client, _) = listener.accept().expect("it connects");
    client.read_exact(&mut [0; 4]).expect("it greets");
    load.signal(Signal::INT);
    load.wait().with(130);
    for run in runs(folder.path()) {
        assert_eq!(record(&run)["status"], "interrupted");
        plumb(&["report", &run.display().to_string()], folder.path()).with(0);
    }
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let mut child = Command::new(PLUMB)
        .args(["net", "ping", &server.address, "--count", "200", "--warmup", "0s"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("it was started");
    let run = only_run(folder.path());
    // the verdict is that of the run: others may have taken the machine
    let is_valid = record(&run)["validity"]["valid"] == true;
    assert_eq!((ended.status.success(), ended.stderr.as_slice()), (is_valid, b"".as_slice()));
    assert_eq!(files_of(&run), FILES_OF_A_RUN);
}

#[test]
fn no_message_steers_the_terminal() {
    let ended = plumb(&["report", "\u{1b}[2J\u{9b}1mx"], folder().path()).with(2);
    assert!(ended.stderr.contains("?[2J?1mx"), "{ended:?}");
}
