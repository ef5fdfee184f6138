//! Stalls of TCP, made on purpose and named by the run that met them.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use kit::peer::in_pieces;
use kit::{Server, ping};
use serde_json::Value;
use tempfile::tempdir;

fn kinds(record: &Value) -> Vec<&str> {
    let reasons = record["results"][0]["validity"]["reasons"].as_array().expect("a list");
    reasons.iter().map(|finding| finding["kind"].as_str().expect("a word")).collect()
}

#[test]
fn answers_written_in_pieces_under_nagle_are_named_and_those_written_at_once_are_not() {
    let folder = tempdir().expect("a temporary folder");
    let words = ["--count", "50", "--warmup", "0s", "--json"];
    let record = ping(&in_pieces(), &words, folder.path()).with(0).json();
    assert!(kinds(&record).contains(&"delayed-acknowledgement"), "{record}");
    let result = &record["results"][0];
    assert_eq!(result["validity"]["latency_valid"], true, "the figures are what the user has");
    assert!(result["tcp"]["segments_received"].as_u64() > Some(50), "{result}");

    let at_once = [&words[..], &["--quick-ack"]].concat();
    let record = ping(&in_pieces(), &at_once, folder.path()).with(0).json();
    assert!(!kinds(&record).contains(&"delayed-acknowledgement"), "{record}");
    assert_eq!(record["plan"]["options"]["quick-ack"], true);

    let server = Server::start(&["--nagle"]);
    let record = ping(&server.address, &[&words[..], &["--nagle"]].concat(), folder.path());
    let record = record.with(0).json();
    assert!(!kinds(&record).contains(&"delayed-acknowledgement"), "{record}");
    assert_eq!(record["plan"]["options"]["nagle"], true);
}

#[test]
fn the_slowest_answers_are_kept_with_what_tcp_did_around_them() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[]);
    let words = ["--count", "200", "--connections", "2", "--threads", "2", "--json"];
    let record = ping(&server.address, &words, folder.path()).with(0).json();
    let result = &record["results"][0];
    let slowest = result["slowest"].as_array().expect("a list");
    assert_eq!(slowest.len(), 10);
    let times: Vec<u64> =
        slowest.iter().map(|slow| slow["response_ns"].as_u64().expect("a number")).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    assert_eq!(Some(times[0]), result["response_ns"]["max"].as_u64());
    for slow in slowest {
        let at = slow["at_ns"].as_u64().expect("a number");
        assert!(at >= slow["service_ns"].as_u64().expect("a number"), "{slow}");
        assert!(slow["connection"].as_u64() < Some(2));
        let around = &slow["tcp"];
        assert!(
            around["after"]["segments_sent"].as_u64() > around["before"]["segments_sent"].as_u64()
        );
        assert!(around["after"]["cwnd"].as_u64() > Some(0));
    }
    assert_eq!(result["tcp"]["connections"], 2);
    assert_eq!(result["tcp"]["segments_sent"], 200);
}

#[test]
fn a_unix_socket_has_slow_answers_and_no_tcp() {
    let folder = tempdir().expect("a temporary folder");
    let path = format!("unix:{}", folder.path().join("socket").display());
    let server = Server::start(&["--listen", &path]);
    let record = ping(&path, &["--count", "50", "--json"], folder.path()).with(0).json();
    let result = &record["results"][0];
    assert_eq!(result["slowest"].as_array().map(Vec::len), Some(10));
    assert!(result["slowest"][0].get("tcp").is_none());
    assert!(result.get("tcp").is_none());
    drop(server);
}
