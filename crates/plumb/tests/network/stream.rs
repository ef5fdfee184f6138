//! `plumb net stream` against `plumb net serve`: both sides count the same, whichever way it goes.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use kit::ni::{REFUSED, frame};
use kit::{Ended, FILES_OF_A_RUN, Program, Server, files_of, names_in, only_run, plumb, record};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// Long enough for a few intervals.
const SHORT: &[&str] = &["--for", "300ms", "--interval", "100ms"];
/// Asks for a stream to the server under the token 7.
const TO_SERVER: &[u8] = b"PLUMB\0\x01\x02\x01\0\0\0\0\0\0\0\x07";
/// Asks for a stream from the server under the token 7.
const FROM_SERVER: &[u8] = b"PLUMB\0\x01\x02\x02\0\0\0\0\0\0\0\x07";

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

fn stream(address: &str, words: &[&str], folder: &TempDir) -> Ended {
    plumb(&[&["net", "stream", address], words].concat(), folder.path())
}

/// The one result of a run against a server of its own.
fn measured(listen: &str, words: &[&str]) -> Value {
    let server = Server::listening(listen, &["--quiet"]);
    let folder = folder();
    stream(&server.address, &[SHORT, words].concat(), &folder).with(0);
    let run = only_run(folder.path());
    assert_eq!(files_of(&run), FILES_OF_A_RUN);
    let record = record(&run);
    assert_eq!(record["target"]["transport"]["peer"], server.address);
    let results = record["results"].as_array().expect("results");
    assert_eq!(results.len(), 1);
    let used = results[0]["transports"].as_array().expect("transports");
    assert_eq!((used.len(), &used[0]["connections"]), (1, &results[0]["stream"]["streams"]));
    server.stop().with(0);
    results[0].clone()
}

/// Bytes received one way, which both sides counted; the intervals hold most of them.
fn carried(result: &Value, way: &str) -> u64 {
    let number = |field: &str| {
        result["stream"][way][field].as_u64().unwrap_or_else(|| panic!("{way} {field}: {result}"))
    };
    let bytes = number("received_bytes");
    assert!(bytes > 0, "{result}");
    assert_eq!(number("sent_bytes"), bytes);
    assert!(number("span_ns") > 0);
    let intervals = result["stream"]["intervals"].as_array().expect("intervals");
    // fewer where an answer took longer than an interval
    assert!((1..=3).contains(&intervals.len()), "{intervals:#?}");
    let seen: u64 = intervals.iter().map(|it| it[way]["bytes"].as_u64().expect("bytes")).sum();
    assert!(seen > 0 && seen <= bytes, "{seen} of {bytes}");
    bytes
}

#[test]
fn bytes_go_to_the_server() {
    let result = measured("127.0.0.1:0", &[]);
    let bytes = carried(&result, "to_server");
    assert!(result["stream"]["from_server"].is_null());
    assert_eq!(result["operations"], bytes / (256 << 10));
    assert_eq!((&result["bytes_sent"], &result["bytes_received"]), (&bytes.into(), &0.into()));
    assert!(result["stream"]["to_server"]["retransmits"].is_u64());
    assert!(result["stream"]["client_cpu_ns"].as_u64().is_some_and(|ns| ns > 0));
    assert!(result["stream"]["server_cpu_ns"].as_u64().is_some_and(|ns| ns > 0));
}

#[test]
fn bytes_come_from_the_server() {
    let result = measured("127.0.0.1:0", &["--reverse", "--streams", "3"]);
    let bytes = carried(&result, "from_server");
    assert!(result["stream"]["to_server"].is_null());
    assert_eq!(result["bytes_received"], bytes);
    assert_eq!(result["labels"]["direction"], "from server");
    assert_eq!(result["labels"]["streams"], "3");
}

#[test]
fn bytes_go_both_ways_at_once_over_ipv6() {
    let result = measured("[::1]:0", &["--both", "--streams", "2"]);
    carried(&result, "to_server");
    carried(&result, "from_server");
    assert_eq!(result["driver"]["threads"], 4);
}

#[test]
fn a_unix_socket_carries_streams_and_sends_nothing_again() {
    let folder = folder();
    let listen = format!("unix:{}", folder.path().join("echo").display());
    let result = measured(&listen, &["--size", "64KiB"]);
    carried(&result, "to_server");
    assert!(result["stream"]["to_server"]["retransmits"].is_null());
}

#[test]
fn a_sweep_measures_each_number_of_streams_once_in_every_form() {
    let server = Server::start(&["--quiet"]);
    for form in [None, Some("--markdown")] {
        let folder = folder();
        let words = ["--streams", "1,2,2", "--for", "500ms"];
        let words: Vec<&str> = words.into_iter().chain(form).collect();
        let ended = stream(&server.address, &words, &folder).with(0);
        assert!(ended.stdout.contains("to server"), "{ended:#?}");
        assert!(ended.stdout.contains("bit/s"), "{ended:#?}");
        let record = record(&only_run(folder.path()));
        assert_eq!(record["results"].as_array().expect("results").len(), 2);
    }
}

#[test]
fn a_server_that_cannot_carry_streams_is_named_and_leaves_no_run() {
    let server = Server::start(&["--quiet", "--echo-only"]);
    let folder = folder();
    let ended = stream(&server.address, SHORT, &folder).with(2);
    assert!(ended.stderr.contains("is not a plumb server"), "{ended:#?}");
    assert!(names_in(&folder.path().join("plumb-runs")).is_empty());
    let ended = stream(&kit::peer::nobody(), SHORT, &folder).with(2);
    assert!(ended.stderr.contains("connection refused"), "{ended:#?}");
}

#[test]
fn more_streams_than_allowed_are_refused_and_make_room_again() {
    let server = Server::start(&["--max-streams", "1"]);
    let mut first = server.client();
    first.send(&frame(TO_SERVER));
    first.receive();
    let mut second = server.client();
    second.send(&frame(TO_SERVER));
    let (code, text) = second.refusal();
    assert_eq!(code, REFUSED);
    assert!(text.contains("no more than 1 stream at once"), "{text}");
    first.send(b"NI_PING\0 is nothing but bytes here");
    first.finish();
    assert!(first.at_end());
    assert!(server.farewell().contains(" gone after "));
    server.farewell();
    let mut third = server.client();
    third.send(&frame(TO_SERVER));
    assert_eq!(third.receive()[..8], b"PLUMB\0\x01\x82"[..]);
}

#[test]
fn a_stream_holds_up_no_other_client_and_ends_with_the_server() {
    let server = Server::start(&[]);
    let mut flood = server.client();
    flood.send(&frame(FROM_SERVER)); // and it is never read
    let mut other = server.client();
    for _ in 0..100 {
        other.echo(b"EYECATCHER");
    }
    let ended = server.stop().with(0);
    let farewells = ended.stderr.lines().filter(|line| line.contains(" gone after ")).count();
    assert_eq!(farewells, 2, "{ended:#?}");
}

#[test]
fn a_stream_that_breaks_is_a_finding() {
    let server = Server::start(&[]);
    let folder = folder();
    let words = ["net", "stream", &server.address, "--for", "10m", "--interval", "10ms"];
    let client = Program::start(&words, folder.path());
    for _ in 0..2 {
        assert!(server.log().contains("connected")); // the connection for figures, and the stream
    }
    server.kill();
    let ended = client.wait();
    if ended.code == Some(2) {
        return; // it was gone before the stream began, which is no run
    }
    let record = record(&only_run(folder.path()));
    assert_eq!(ended.with(1).stderr, "");
    assert_eq!(record["validity"]["valid"], false);
    assert_eq!(record["results"][0]["failures"]["closed"], 1);
}

#[test]
fn an_interrupted_stream_keeps_what_was_counted() {
    let server = Server::start(&[]);
    let folder = folder();
    let words = ["net", "stream", &server.address, "--for", "60s"];
    let client = Program::start(&words, folder.path());
    for _ in 0..2 {
        assert!(server.log().contains("connected")); // the connection for figures, and the stream
    }
    client.signal(Signal::INT);
    client.wait().with(130);
}

#[test]
fn no_time_is_refused() {
    for option in ["--for", "--interval", "--timeout"] {
        let ended = stream("127.0.0.1:1", &[option, "0s"], &folder()).with(2);
        assert!(ended.stderr.contains(&format!("{option} must be above 0s")), "{ended:#?}");
    }
}
