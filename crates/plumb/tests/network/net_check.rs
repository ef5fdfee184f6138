//! The check of a network path: what it finds on a line that misbehaves, and how it goes on.

use crate::kit;

use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use kit::ni::{frame, read_frame};
use kit::peer::nobody;
use kit::{Ended, Program, Server, free_address, names_in, only_run, plumb, read, runs};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// As short as it can be.
const SHORT: [&str; 6] = ["--for", "200ms", "--stability", "300ms", "--timeout", "3s"];
const PARTS: usize = 23;

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

fn check(address: &str, words: &[&str], folder: &Path) -> Ended {
    plumb(&[&["net", "check", address], SHORT.as_slice(), words].concat(), folder)
}

/// The state of the check in `run`.
fn state(run: &Path) -> Value {
    serde_json::from_str(&read(&run.join("check.json"))).expect("it is JSON")
}

/// The parts that are over.
fn over(state: &Value) -> usize {
    let parts = state["parts"].as_array().expect("parts");
    parts.iter().filter(|part| part.get("outcome").is_some()).count()
}

#[test]
fn a_path_without_faults_has_a_sentence_for_each_test_and_a_run_for_every_part() {
    let (address, folder) = (free_address(), folder());
    let udp = format!("udp:{address}");
    let server = Server::listening(&address, &["--quiet", "--listen", &udp]);
    let ended = check(&server.address, &["--idle", "300ms"], folder.path());
    assert!(ended.stderr.contains("23 of 23 parts to measure"), "{ended:#?}");
    // a busy machine may make a message wait, or take processor time: neither is a fault
    let ended = ended.with(0);
    for test in ["throughput", "round trip", "sizes", "idle", "stability", "datagrams"] {
        let line = ended.stdout.lines().find(|line| line.starts_with(test));
        let judged = line.is_some_and(|line| line.contains("FINE: ") || line.contains("LOOK"));
        assert!(judged, "{test}: {ended:#?}");
    }
    assert!(ended.stdout.contains("a connection that was silent for 300ms still works"));
    let run = only_run(folder.path());
    assert_eq!(names_in(&run), ["SHA256SUMS", "check.json", "parts", "report.html"]);
    assert_eq!((over(&state(&run)), names_in(&run.join("parts")).len()), (PARTS, PARTS));
    let again = plumb(&["report", &run.display().to_string()], folder.path()).with(0).stdout;
    assert!(ended.stdout.starts_with(&again), "{again}");
    let page = read(&run.join("report.html"));
    assert!(page.contains("default-src 'none'") && page.matches("<script").count() == 1);
    let shown = plumb(
        &["report", &run.join("parts/01-throughput-100000B").display().to_string()],
        folder.path(),
    );
    assert!(shown.with(0).stdout.contains("net ping"), "a part is an ordinary run");
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn a_firewall_that_forgets_and_one_that_resets_are_told_apart() {
    let server = Server::start(&["--quiet"]);
    for (how, expected) in [
        ("silent", "the connection was dead and neither side was told"),
        ("reset", "was ended within"),
    ] {
        let folder = folder();
        let line =
            Server::of_delay(&server.address, &["--idle-cut", "700ms", "--idle-cut-by", how]);
        let ended = check(&line.address, &["--idle", "1s"], folder.path()).with(1);
        let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("idle BAD: "), "{how}: {text}");
        assert!(text.contains(expected), "{how}: {text}");
    }
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn a_size_from_which_on_nothing_comes_back_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || echo_up_to(stream, 1_470));
        }
    });
    let folder = folder();
    let words = ["--idle", "300ms", "--timeout", "1500ms"];
    let words = [["net", "check", &address].as_slice(), &SHORT[..4], &words].concat();
    let ended = plumb(&words, folder.path()).with(1);
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "messages up to 1456 bytes come back, those from 1500 bytes on do not";
    assert!(text.contains(expected), "{ended:#?}");
    assert!(text.contains("throughput BAD: could not be measured"), "{ended:#?}");
}

/// Echoes frames, and says nothing to those that are larger.
fn echo_up_to(mut stream: TcpStream, bytes: usize) {
    while let Ok(Some(payload)) = read_frame(&mut stream) {
        if payload.len() <= bytes && stream.write_all(&frame(&payload)).is_err() {
            return;
        }
    }
}

#[test]
fn an_interrupted_check_goes_on_where_it_was() {
    let (server, folder) = (Server::start(&["--quiet"]), folder());
    let line = Server::of_delay(&server.address, &[]);
    let words = [["net", "check", &line.address].as_slice(), &SHORT, &["--idle", "1h"]].concat();
    let program = Program::start(&words, folder.path());
    // each part has two: its own, and one that asks whether the server holds its tick; the round trip
    // asks whether the server tells its half, too
    let idle_part = "connection 42 from ";
    while !line.log().starts_with(idle_part) {}
    let under_way = only_run(folder.path()).display().to_string();
    let refused = plumb(&["net", "check", "--resume", &under_way], folder.path()).with(2).stderr;
    assert!(refused.contains("another process works in "), "{refused}");
    program.signal(Signal::INT);
    let ended = program.wait().with(130);
    assert!(ended.stdout.contains("NOT FINISHED"), "{ended:#?}");
    let run = only_run(folder.path());
    assert_eq!(over(&state(&run)), 20);

    // an hour is long for a test
    let file = run.join("check.json");
    let shorter = read(&file).replace("--delay=1h", "--delay=200ms");
    fs::write(&file, shorter).expect("it can be written");
    let before = state(&run);
    let resumed = ["net", "check", "--resume", &run.display().to_string()];
    let ended = plumb(&resumed, folder.path()).with(0);
    assert!(ended.stderr.contains("3 of 23 parts to measure"), "{ended:#?}");
    let after = state(&run);
    assert_eq!(over(&after), PARTS);
    // a line of connections carries no datagrams
    assert!(ended.stdout.contains("NOT TOLD"), "{ended:#?}");
    assert_eq!(after["parts"].as_array().unwrap()[..20], before["parts"].as_array().unwrap()[..20]);
    let parts = names_in(&run.join("parts"));
    let idle: Vec<_> = parts.iter().filter(|name| name.contains("idle")).collect();
    assert_eq!(idle, ["21-idle-1000B", "21-idle-1000B-2"], "what was begun is kept beside");
}

#[test]
fn a_check_of_nobody_leaves_nothing() {
    let folder = folder();
    let ended = check(&nobody(), &[], folder.path()).with(2);
    assert!(ended.stderr.contains("is the server started"), "{ended:#?}");
    assert!(runs(folder.path()).is_empty());
}

#[test]
fn words_that_make_no_check_are_refused() {
    let folder = folder();
    for (words, expected) in [
        (vec!["net", "check"], "HOST"),
        (vec!["net", "check", "127.0.0.1", "--idle", "0s"], "write for example 30s"),
        (vec!["net", "check", "127.0.0.1", "--quick", "--full"], "cannot be used with"),
        (vec!["net", "check", "--resume", "nowhere"], "no check at nowhere"),
        (
            vec!["net", "check", "--resume", "nowhere", "--foreign-limit", "9%"],
            "the limit it began with",
        ),
        (vec!["net", "check", "/H/r/W/-/H/db"], "set PLUMB_ROUTE_PASSWORD"),
    ] {
        let ended = plumb(&words, folder.path()).with(2);
        assert!(ended.stderr.contains(expected), "{words:?}: {ended:#?}");
    }
}
