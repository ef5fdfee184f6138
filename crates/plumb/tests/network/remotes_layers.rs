//! Loads of every layer that several remotes drive together, and how their work is divided.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

use crate::kit::http::{Reply, ReplyServer};
use crate::kit::http2::{Http2Server, page};
use crate::kit::locks::Server as LockServer;
use crate::kit::{Server, plumb, record};

const CALM: [&str; 8] =
    ["--remotes", "local:3", "--lag", "50s", "--interval", "50s", "--foreign-limit", "100%"];

fn measured(words: &[&str], at: &Path) -> Value {
    plumb(&[words, &CALM[..], &["--out", "run"]].concat(), at).with(0);
    record(&at.join("run"))
}

/// The only result of a run.
fn only(record: &Value) -> &Value {
    let results = record["results"].as_array().expect("results");
    assert_eq!(results.len(), 1);
    &results[0]
}

/// A figure of each remote.
fn of_clients(result: &Value, name: &str) -> Vec<u64> {
    let clients = result["clients"].as_array().expect("a row for each");
    clients.iter().map(|client| client[name].as_u64().expect("a number")).collect()
}

#[test]
fn users_and_lines_of_data_are_divided_and_thresholds_judge_the_whole() {
    let server = ReplyServer::start(|_, _| Reply::page("hello"));
    let at = tempdir().expect("a folder");
    let lines: Vec<String> = (0..40).map(|number| format!("k{number:02}")).collect();
    fs::write(at.path().join("keys.csv"), format!("key\n{}\n", lines.join("\n"))).expect("written");
    let scenario = format!(
        "base = \"{}\"\nthresholds = [\"requests > 39\", \"page requests < 14\"]\n\
         [[scenario]]\nname = \"reader\"\nusers = 7\niterations = 100\n\
         [[scenario.data]]\nfile = \"keys.csv\"\nat-end = \"stop\"\n\
         [[scenario.step]]\nname = \"page\"\nget = \"/${{key}}\"\n",
        server.url("").trim_end_matches('/')
    );
    fs::write(at.path().join("s.toml"), scenario).expect("written");
    let words = ["http", "load", "s.toml", "--seed", "3"];
    plumb(&[&words[..], &CALM[..], &["--out", "run"]].concat(), at.path()).with(1);
    let run = record(&at.path().join("run"));
    let result = only(&run);
    let asked: Vec<String> = server.asked().iter().map(|head| target(head)).collect();
    let wanted: BTreeSet<String> = lines.iter().map(|line| format!("/{line}")).collect();
    assert_eq!(asked.iter().cloned().collect::<BTreeSet<_>>(), wanted, "every line");
    assert_eq!(asked.len(), lines.len(), "none of them twice");
    assert_eq!(result["operations"], 40);
    assert_eq!(of_clients(result, "operations"), [14, 13, 13]);
    let users = &result["scenarios"][0];
    assert_eq!((&users["users"], &users["begun"]), (&Value::from(7), &Value::from(7)));
    assert_eq!(users["ended"]["keys.csv ran dry"], 7);
    let met = |at: usize| result["thresholds"][at]["met"].as_bool().expect("judged");
    assert_eq!((met(0), met(1)), (true, false), "of all remotes, not of each");
    assert_eq!(result["parts"][0]["name"], "page");
    assert_eq!(result["parts"][0]["operations"], 40);
}

/// What the request with this head asks for.
fn target(head: &str) -> String {
    head.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn what_servers_tell_of_their_time_is_put_together_by_name() {
    // the first answer that a remote hears names one part, the others name the other one first
    let server = ReplyServer::start(|head, number| {
        let told = if number % 2 == 0 { "app;dur=1, db;dur=2" } else { "db;dur=2, app;dur=1" };
        let _ = head;
        Reply::answer(200, &format!("Server-Timing: {told}\r\n"), "page")
    });
    let at = tempdir().expect("a folder");
    let url = server.url("/a");
    let words = ["http", "ping", &url, "--connections", "3", "--count", "90", "--warmup", "0s"];
    let run = measured(&words, at.path());
    let part = &only(&run)["parts"][0];
    assert_eq!(part["operations"], 90);
    for (name, ns) in [("app", 1_000_000), ("db", 2_000_000)] {
        let told = &part["told_ns"][name];
        assert_eq!((told["min"].as_u64(), told["max"].as_u64()), (Some(ns), Some(ns)), "{name}");
        assert_eq!(told["count"], 90);
    }
}

#[test]
fn what_was_spoken_over_http2_is_put_together() {
    let server = Http2Server::start(&[(3, 50)], |asked| Some(page(asked.stream, "hello")));
    let at = tempdir().expect("a folder");
    let scenario = format!(
        "base = \"{}\"\n[[scenario]]\nname = \"reader\"\nusers = 6\niterations = 5\n\
         [[scenario.step]]\nname = \"page\"\nget = \"/\"\n",
        server.url().trim_end_matches('/')
    );
    fs::write(at.path().join("s.toml"), scenario).expect("written");
    let run = measured(&["http", "load", "s.toml", "--http=2"], at.path());
    let http2 = &only(&run)["http2"];
    assert_eq!((&http2["connections"], &http2["streams"]), (&Value::from(6), &Value::from(30)));
    assert_eq!(http2["streams_allowed"], 50);
    let at = tempdir().expect("a folder");
    let words = ["http", "ping", &server.url(), "--http=2", "--streams=4", "--connections=3"];
    let run = measured(&[&words[..], &["--count=90", "--warmup=0s"]].concat(), at.path());
    let http2 = &only(&run)["http2"];
    assert_eq!((&http2["connections"], &http2["streams"]), (&Value::from(3), &Value::from(90)));
    assert_eq!(http2["streams_at_once"], 4, "on one connection");
}

#[test]
fn single_operations_stay_where_they_are() {
    let server = ReplyServer::start(|_, _| Reply::page("hello"));
    let at = tempdir().expect("a folder");
    let url = server.url("/a");
    let words = ["http", "ping", &url, "--remotes", "local:2", "--jtl", "all.csv"];
    let refused = plumb(&words, at.path()).with(2);
    assert!(refused.stderr.contains("--jtl: single operations stay"), "{refused:?}");
    let words = [
        "flow",
        "load",
        "http://127.0.0.1:1",
        "--remotes",
        "local:2",
        "--size",
        "1kB",
        "--sink",
        "file",
        "--table",
        "t",
    ];
    fs::write(at.path().join("file"), "").expect("written");
    let refused = plumb(&words, at.path()).with(2);
    assert!(refused.stderr.contains("leave them or --remotes out"), "{refused:?}");
}

#[test]
fn locks_are_taken_from_several_processes_under_names_of_their_own() {
    let at = tempdir().expect("a folder");
    let server = LockServer::start(&[], at.path());
    let (host, port) = server.place();
    let address = format!("{host}:{port}");
    let words = ["lock", "load", "pairs", &address, "--connections", "5", "--count", "600"];
    let run = measured(&words, at.path());
    let result = only(&run);
    assert_eq!(result["operations"], 600);
    assert_eq!(of_clients(result, "operations"), [200, 200, 200]);
    let parts = result["parts"].as_array().expect("parts");
    assert_eq!(parts.len(), 2, "taking and releasing");
    let figure = result["figures"].as_array().expect("figures").first().expect("one");
    assert_eq!(figure["name"], "pairs");
    assert_eq!(result["failures"], serde_json::json!({}), "nobody met anybody");
}

#[test]
fn streams_are_divided_and_what_they_carried_is_one_sum() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let words = ["net", "stream", &server.address, "--streams", "5", "--for", "300ms", "--both"];
    let remotes = ["--remotes", "local:3", "--interval", "50s", "--foreign-limit", "100%"];
    let ended = plumb(&[&words[..], &remotes, &["--out", "run"]].concat(), at.path());
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let run = record(&at.path().join("run"));
    let result = only(&run);
    let bytes = |result: &Value, way: &str, name: &str| {
        result["stream"][way][name].as_u64().expect("bytes")
    };
    let mut streams = 0;
    for (way, name) in [("to_server", "received_bytes"), ("from_server", "sent_bytes")] {
        let parts = ["local-1", "local-2", "local-3"].map(|remote| {
            let text = fs::read_to_string(at.path().join(format!("run/remotes/{remote}.json")));
            let part: Value = serde_json::from_str(&text.expect("it is there")).expect("JSON");
            streams += part["results"][0]["stream"]["streams"].as_u64().expect("a number");
            bytes(&part["results"][0], way, name)
        });
        assert!(parts.iter().all(|bytes| *bytes > 0), "{parts:?}");
        assert_eq!(bytes(result, way, name), parts.iter().sum::<u64>(), "{way}");
    }
    assert_eq!(
        (streams, result["stream"]["streams"].as_u64()),
        (10, Some(5)),
        "each looked at twice"
    );
    let alone = ["net", "stream", &server.address, "--streams", "1", "--remotes", "local:2"];
    let refused = plumb(&alone, at.path()).with(2);
    assert!(refused.stderr.contains("1 streams cannot be divided among 2 remotes"), "{refused:?}");
}

#[test]
fn a_rate_of_datagrams_is_that_of_all_remotes_together() {
    let server = Server::start(&["--quiet", "--listen", "udp:127.0.0.1:0"]);
    let udp = server.also();
    let at = tempdir().expect("a folder");
    let words = ["net", "stream", &udp, "--rate", "5Mbit", "--streams", "5", "--for", "300ms"];
    let remotes = ["--remotes", "local:3", "--interval", "50s", "--out", "run"];
    plumb(&[&words[..], &remotes].concat(), at.path());
    let run = record(&at.path().join("run"));
    let asked = |record: &Value| {
        let flow = &record["results"][0]["stream"]["to_server"]["datagrams"];
        flow["asked_bits_per_s"].as_f64().expect("a rate").round()
    };
    let parts = ["local-1", "local-2", "local-3"].map(|remote| {
        let text = fs::read_to_string(at.path().join(format!("run/remotes/{remote}.json")));
        asked(&serde_json::from_str(&text.expect("it is there")).expect("JSON"))
    });
    assert_eq!((asked(&run), parts), (5e6, [2e6, 2e6, 1e6]));
}
