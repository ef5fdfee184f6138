//! The plumb extension: asymmetric messages, totals, and what a plain echo says to them.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::path::Path;

use kit::ni::{INVALID, PING, PONG, TOO_BIG, frame};
use kit::{Server, names_in, only_run, ping, record};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// Words that make a run short and the same everywhere.
const CALM: &[&str] = &["--warmup", "0s", "--lag", "50s", "--timeout", "50s"];
/// Asks for two replies of three bytes.
const EXCHANGE: &[u8] = b"PLUMB\0\x01\x01\0\0\0\x03\0\0\0\x02";
const TOTALS: &[u8] = b"PLUMB\0\x01\x03";

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// The one result of a run against `server`, and its record.
fn measured(server: &Server, words: &[&str]) -> (Value, Value) {
    let folder = folder();
    ping(&server.address, &[CALM, words].concat(), folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    let results = record["results"].as_array().expect("results");
    assert_eq!(results.len(), 1);
    (results[0].clone(), record)
}

fn figure(result: &Value, name: &str) -> f64 {
    let figures = result["figures"].as_array().expect("figures");
    let found = figures.iter().find(|figure| figure["name"] == name);
    found.and_then(|figure| figure["value"].as_f64()).unwrap_or_else(|| panic!("no {name}"))
}

/// Numbers of eight bytes from `at` on, behind the head of an answer.
fn numbers(answer: &[u8], at: usize, count: usize) -> Vec<u64> {
    let bytes = &answer[8 + at..8 + at + 8 * count];
    let number = |chunk: &[u8]| u64::from_be_bytes(chunk.try_into().expect("eight bytes"));
    bytes.chunks(8).map(number).collect()
}

#[test]
fn replies_of_another_size_and_number_are_measured_over_many_connections() {
    let server = Server::start(&["--quiet"]);
    let terms: &[&str] = &["--request", "300B", "--response", "1200B", "--replies", "4"];
    let load: &[&str] = &["--connections", "8", "--count", "4000"];
    let (result, record) = measured(&server, &[terms, load].concat());
    assert_eq!(result["operations"], 4000);
    assert_eq!(result["labels"]["request"], "300B");
    assert_eq!(result["labels"]["response"], "1200B");
    assert_eq!(result["labels"]["replies"], "4");
    assert_eq!(result["length"]["max"], 4 * 1200);
    assert_eq!(result["bytes_sent"], 4000 * 304);
    assert_eq!(result["bytes_received"], 4000 * 4 * 1204);
    assert!(result["niping"].is_null(), "niping knows no such messages");
    assert_eq!(record["plan"]["options"]["replies"], 4);
    let (there, back) =
        (figure(&result, "messages to server"), figure(&result, "messages from server"));
    assert!((back - 4.0 * there).abs() < 1e-6 * back);
    let bits = figure(&result, "bits from server");
    assert!((bits - back * 1200.0 * 8.0).abs() < 1e-6 * bits);
}

#[test]
fn a_plumb_server_tells_what_a_message_costs_it() {
    let server = Server::start(&["--quiet"]);
    let (result, _) = measured(&server, &["--replies", "2", "--count", "5000"]);
    assert!(result["cpu"]["server_ns_per_op"].as_u64().is_some_and(|ns| ns > 0), "{result}");
    let (few, _) = measured(&server, &["--replies", "2", "--count", "5"]);
    assert!(few["cpu"]["server_ns_per_op"].is_null(), "too few to tell: {few}");
}

#[test]
fn the_named_load_is_what_its_name_says_unless_options_say_otherwise() {
    let server = Server::start(&["--quiet"]);
    let words = ["--preset", "rss", "--connections", "2", "--count", "100"];
    let (result, record) = measured(&server, &words);
    let labels = &result["labels"];
    assert_eq!((&labels["request"], &labels["response"]), (&"400B".into(), &"1200B".into()));
    assert_eq!((&labels["replies"], &labels["connections"]), (&"4".into(), &"2".into()));
    assert_eq!(record["plan"]["options"]["preset"], "rss");
}

#[test]
fn a_plain_echo_is_told_from_a_plumb_server() {
    let server = Server::start(&["--quiet", "--echo-only"]);
    let folder = folder();
    let ended = ping(&server.address, &["--replies", "4"], folder.path()).with(2);
    assert!(
        ended.stderr.contains(
            "is not a plumb server: --replies needs plumb net serve; without it a plain echo still \
             works"
        ),
        "{ended:#?}"
    );
    assert!(names_in(&folder.path().join("plumb-runs")).is_empty());
    ping(&server.address, &[CALM, &["--count", "5"]].concat(), folder.path()).with(0);
}

#[test]
fn more_than_the_server_allows_is_refused_with_both_numbers() {
    let server = Server::start(&["--quiet", "--max-message", "1000B"]);
    let words = ["--response", "400B", "--replies", "3"];
    let ended = ping(&server.address, &words, folder().path()).with(2);
    assert!(ended.stderr.contains("3 replies of 400 bytes"), "{ended:#?}");
    assert!(ended.stderr.contains("limit of 1000 bytes"), "{ended:#?}");
}

#[test]
fn another_version_or_kind_is_refused_in_words() {
    let server = Server::start(&[]);
    for (opening, named) in [
        (b"PLUMB\0\x02\x01".as_slice(), "version 2"),
        (b"PLUMB\0\x01\x63", "kind 99"),
        (b"PLUMB\0\x01\x01\0\0", "10 bytes"),
    ] {
        let mut client = server.client();
        client.send(&frame(opening));
        let (code, text) = client.refusal();
        assert_eq!(code, INVALID);
        assert!(text.contains(named), "{text}");
        assert!(client.at_end());
    }
    let mut big = server.client();
    big.send(&frame(b"PLUMB\0\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff"));
    assert_eq!(big.refusal().0, TOO_BIG);
}

#[test]
fn frames_of_ni_come_first_before_and_within_an_exchange() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.send(&frame(PING));
    assert_eq!(client.receive(), PONG);
    client.send(&frame(EXCHANGE));
    assert_eq!(client.receive(), b"PLUMB\0\x01\x81\0\0\0\x03\0\0\0\x02");
    client.send(&[frame(b"P\x12\x34"), frame(PING), frame(b"P\x56\x78")].concat());
    for expected in [b"P\x12\x34".as_slice(), b"P\x12\x34", PONG, b"P\x56\x78", b"P\x56\x78"] {
        assert_eq!(client.receive(), expected);
    }
}

#[test]
fn only_the_first_message_opens_the_extension() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.echo(b"EYECATCHER");
    client.echo(EXCHANGE);
    client.echo(b"PLUMB\0\x63");
}

#[test]
fn totals_count_every_client_and_every_message() {
    let server = Server::start(&[]);
    let mut plain = server.client();
    plain.echo(b"12345");
    let mut exchange = server.client();
    exchange.send(&frame(EXCHANGE));
    exchange.receive();
    exchange.send(&frame(b"P\0\0+++"));
    exchange.receive();
    exchange.receive();
    drop(plain);
    server.farewell();
    let mut asking = server.client();
    asking.send(&frame(TOTALS));
    let answer = asking.receive();
    assert_eq!(&answer[..8], b"PLUMB\0\x01\x83");
    let cpu: u64 = numbers(&answer, 0, 2).iter().sum();
    assert!(cpu > 0);
    // clients, those gone, and messages and bytes in, then out
    assert_eq!(numbers(&answer, 16, 6), [3, 1, 2, 11, 3, 11]);
    // the one that is gone
    assert_eq!(numbers(&answer, 64, 1), [1]);
    assert_eq!(numbers(&answer, 80, 4), [1, 5, 1, 5]);
    asking.send(&frame(TOTALS));
    assert!(numbers(&asking.receive(), 0, 2).iter().sum::<u64>() >= cpu);
    asking.send(&frame(b"something else"));
    assert_eq!(asking.refusal().0, INVALID);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let words = ["--request", "300B", "--size", "400B"];
    let ended = ping("127.0.0.1:1", &words, Path::new(".")).with(2);
    assert!(ended.stderr.contains("cannot be used with"), "{ended:#?}");
    let ended = ping("127.0.0.1:1", &["--replies", "0"], Path::new(".")).with(2);
    assert!(ended.stderr.contains("--replies"), "{ended:#?}");
    let words = ["--response", "1GiB", "--replies", "2"];
    let ended = ping("127.0.0.1:1", &words, Path::new(".")).with(2);
    assert!(ended.stderr.contains("2 replies of 1GiB"), "{ended:#?}");
}

#[test]
fn several_clients_have_a_row_each_and_both_sides_count_the_same() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = ["--clients", "3", "--count", "500", "--size", "100B"];
    let ended = ping(&server.address, &[CALM, &words].concat(), folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    let result = &record["results"][0];
    assert_eq!(result["operations"], 3 * 500);
    assert_eq!(result["labels"]["clients"], "3");
    let clients = result["clients"].as_array().expect("clients");
    assert_eq!(clients.len(), 3);
    for (number, client) in (1..).zip(clients) {
        assert_eq!(client["client"], number);
        assert_eq!(client["operations"], 500);
        assert_eq!(client["messages_sent"], 501);
        assert_eq!(client["messages_at_server"], 501);
        assert!(client["niping"]["av2_ms"].as_f64().is_some_and(|ms| ms > 0.0));
    }
    let differ = |it: &Value| it["kind"] == "counts-differ";
    assert!(!record["validity"]["reasons"].as_array().expect("reasons").iter().any(differ));
    assert!(ended.stdout.lines().any(|line| line.trim_start().starts_with("all ")), "{ended:#?}");
}

#[test]
fn where_one_of_several_clients_is_refused_none_begins() {
    let server = Server::start(&["--quiet", "--max-clients", "2"]);
    let folder = folder();
    let words = ["--clients", "3", "--for", "10h"];
    let ended = ping(&server.address, &[CALM, &words].concat(), folder.path()).with(2);
    assert!(ended.stderr.contains("no more clients"), "{ended:#?}");
}

#[test]
fn the_sum_of_several_clients_is_what_the_server_carried_while_all_of_them_ran() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = ["--clients", "3", "--for", "1s", "--size", "50000B", "--full"];
    let ended = ping(&server.address, &[CALM, &words].concat(), folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    let result = &record["results"][0];
    let counted: u64 = result["clients"]
        .as_array()
        .expect("clients")
        .iter()
        .map(|client| client["messages_at_server"].as_u64().expect("it tells"))
        .sum();
    let overlap = &result["overlap"];
    if overlap.is_null() {
        // a machine so slow that connecting took a tenth of an interval
        assert!(ended.stdout.contains("No sum of the rates"), "{}", ended.stdout);
        return;
    }
    let operations = overlap["operations"].as_u64().expect("a count");
    // the server counted the first message of each connection as well
    assert!(operations > 0 && operations <= counted - 3, "{overlap} of {counted}");
    let seconds = overlap["span_ns"].as_f64().expect("a time") / 1e9;
    let carried = overlap["carried_kb_s"].as_f64().expect("a rate") * 1024.0 * seconds;
    let bytes = f64::from(u32::try_from(operations).expect("few")) * 2.0 * 50_000.0;
    assert!((carried - bytes).abs() < 1.0, "{carried} of {bytes}");
}

#[test]
fn several_clients_measure_a_plain_echo_too_without_its_counts() {
    let server = Server::start(&["--quiet", "--echo-only"]);
    let folder = folder();
    let words = ["--clients", "2", "--connections", "2", "--count", "100"];
    ping(&server.address, &[CALM, &words].concat(), folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    let result = &record["results"][0];
    assert_eq!(result["operations"], 200);
    assert!(result["clients"][1]["messages_at_server"].is_null());
}
