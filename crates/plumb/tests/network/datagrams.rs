//! Round trips over UDP between real programs, over lines that lose, double and swap what the test
//! says: the counts are those of the line.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::net::UdpSocket;

use kit::datagram_line::{DatagramLine, Fate, Way};
use kit::{Ended, Server, only_run, plumb, record};
use plumb_wire::datagram::{HEAD_BYTES, Head, Kind};
use serde_json::Value;
use tempfile::tempdir;

const UDP: &str = "udp:127.0.0.1:0";

/// Pings `address` and gives the end and the only result.
fn measured(address: &str, words: &[&str]) -> (Ended, Value) {
    let folder = tempdir().expect("a temporary folder");
    let words = [&["net", "ping", address], words].concat();
    let ended = plumb(&words, folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    assert_eq!(record["results"].as_array().map(Vec::len), Some(1), "{record:#}");
    (ended, record["results"][0].clone())
}

fn refused(words: &[&str]) -> String {
    let folder = tempdir().expect("a temporary folder");
    plumb(&[&["net", "ping"], words].concat(), folder.path()).with(2).stderr
}

fn figure(result: &Value, name: &str) -> u64 {
    let figures = result["figures"].as_array().expect("figures");
    let found = figures.iter().find(|figure| figure["name"] == name);
    let value = found.unwrap_or_else(|| panic!("no {name}: {result:#}"))["value"].as_f64();
    format!("{:.0}", value.expect("a number")).parse().expect("whole")
}

#[test]
fn messages_go_there_and_back_over_any_number_of_sockets() {
    for (listen, connections) in [(UDP, "1"), (UDP, "16"), ("udp:[::1]:0", "4")] {
        let server = Server::listening(listen, &["--quiet"]);
        let words = ["--count", "300", "--warmup", "0s", "--connections", connections];
        let (_, result) = measured(&server.address, &words);
        assert_eq!(result["operations"], 300, "{result:#}");
        assert_eq!(result["service_ns"]["count"], 300);
        assert_eq!(result["failures"], serde_json::json!({}));
        assert_eq!(result["transports"][0]["kind"], "udp");
        assert_eq!(result["transports"][0]["connections"].to_string(), connections);
        assert_eq!((figure(&result, "sent"), figure(&result, "answered in time")), (300, 300));
        assert_eq!(figure(&result, "lost on the way there"), 0);
        assert!(result["connect_ns"].is_null() && result["niping"].is_null(), "{result:#}");
        server.stop().with(0);
    }
}

#[test]
fn what_is_lost_late_and_doubled_is_counted_and_stops_nobody() {
    let server = Server::listening(UDP, &["--quiet"]);
    let line =
        DatagramLine::to(&server.address, |way, kind, number| match (way, kind, number % 10) {
            (Way::There, Kind::Ping, 3) | (Way::Back, Kind::Pong, 5) => Fate::Lose,
            (Way::Back, Kind::Pong, 7) => Fate::Wait,
            (Way::Back, Kind::Pong, 1) => Fate::Twice,
            _ => Fate::Pass,
        });
    let words = ["--count", "30", "--warmup", "0s", "--timeout", "400ms", "--full"];
    let (ended, result) = measured(&line.address, &words);
    assert_eq!(result["failures"], serde_json::json!({"lost": 9}), "{result:#}");
    assert_eq!((&result["operations"], figure(&result, "sent")), (&21.into(), 30));
    assert_eq!(figure(&result, "answered late"), 3);
    assert_eq!(figure(&result, "answered twice"), 3);
    assert_eq!(figure(&result, "lost on the way there"), 3);
    assert!(ended.stdout.contains("9 datagrams of 30 had no answer in time"), "{ended:#?}");
}

#[test]
fn a_hello_that_is_lost_is_said_again() {
    let server = Server::listening(UDP, &["--quiet"]);
    let asked = std::sync::atomic::AtomicU32::new(0);
    let line = DatagramLine::to(&server.address, move |_, kind, _| match kind {
        Kind::Hello if asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2 => Fate::Lose,
        _ => Fate::Pass,
    });
    let (_, result) = measured(&line.address, &["--count", "5", "--warmup", "0s"]);
    assert_eq!(result["operations"], 5);
}

#[test]
fn nobody_there_and_what_does_not_fit_is_said_before_anything_is_measured() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has free ports");
    let silent = format!("udp:{}", socket.local_addr().expect("it is bound"));
    let said = refused(&[&silent, "--connect-timeout", "300ms"]);
    assert!(said.contains("did not answer within 300ms"), "{said}");
    drop(socket);
    let said = refused(&[&silent]);
    assert!(said.contains("connection refused; is the server started"), "{said}");
    for (words, expected) in [
        (&["--size", "27B"][..], "--size 27B is no datagram of plumb: from 28B"),
        (&["--size", "65508B"], "to 65507B"),
        (&["--depth", "2"], "take more --connections"),
        (&["--response", "5B"], "need a connection"),
        (&["--tls"], "UDP has none"),
    ] {
        let said = refused(&[&["127.0.0.1", "--transport", "udp"], words].concat());
        assert!(said.contains(expected), "{words:?}: {said}");
    }
    let said = refused(&["127.0.0.1", "--do-not-fragment"]);
    assert!(said.contains("add --transport udp"), "{said}");
}

#[test]
fn a_server_answers_no_stranger_and_nobody_with_more_than_was_sent() {
    let server = Server::listening(UDP, &["--quiet", "--max-clients", "1"]);
    let address = server.address.strip_prefix("udp:").expect("a server of UDP");
    let client = |bytes: usize, kind, token| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has free ports");
        socket.connect(address).expect("loopback has a way");
        socket.set_read_timeout(Some(kit::PATIENCE)).expect("above zero");
        let ask = Head { kind, token, number: 4, stamp: 5 };
        socket.send(&ask.filled(bytes)).expect("it is sent");
        let mut answer = vec![0; 65_536];
        let came = socket.recv(&mut answer).expect("an answer");
        assert!(came <= bytes, "{came} for {bytes}");
        (socket, Head::parse(&answer[..came]).expect("one of ours").0)
    };
    assert_eq!(client(1_000, Kind::Ping, 17).1.kind, Kind::Refused, "a token that it never gave");
    let (first, welcome) = client(HEAD_BYTES, Kind::Hello, 0);
    assert_eq!(welcome.kind, Kind::Welcome);
    let (_, welcome_too) = client(HEAD_BYTES, Kind::Hello, 0);
    assert_eq!(welcome_too.kind, Kind::Welcome, "a hello takes no place");
    first.send(&Head { kind: Kind::Ping, ..welcome }.filled(HEAD_BYTES)).expect("it is sent");
    first.recv(&mut [0; HEAD_BYTES]).expect("it comes back");
    assert_eq!(client(HEAD_BYTES, Kind::Hello, 0).1.kind, Kind::Refused, "a second client");
}

#[test]
fn a_server_of_both_says_both_addresses_and_what_it_cannot_be() {
    let words = ["--listen", UDP, "--quiet"];
    let server = Server::start(&words);
    let udp = server.also();
    assert!(udp.starts_with("udp:127.0.0.1:"), "{udp}");
    for address in [&server.address, &udp] {
        assert_eq!(measured(address, &["--count", "3", "--warmup", "0s"]).1["operations"], 3);
    }
    let folder = tempdir().expect("a temporary folder");
    for (word, expected) in [("--echo-only", "niping"), ("--quit-after=1s", "connections")] {
        let ended = plumb(&["net", "serve", "--listen", UDP, word], folder.path()).with(2);
        assert!(ended.stderr.contains(expected), "{ended:#?}");
    }
    let ended = plumb(&["lock", "status", "udp:127.0.0.1:9"], folder.path()).with(2);
    assert!(ended.stderr.contains("takes connections"), "{ended:#?}");
}
