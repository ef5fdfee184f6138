//! Streams of datagrams between real programs, over lines that lose, double and swap what the test
//! says: the receiver's account is that of the line.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use kit::datagram_line::{DatagramLine, Fate, Way};
use kit::{Ended, Server, only_run, plumb, record};
use plumb_wire::datagram::Kind;
use serde_json::{Value, json};
use tempfile::tempdir;

const UDP: &str = "udp:127.0.0.1:0";
/// A thousand datagrams a second.
const SHORT: &[&str] = &["--for", "400ms", "--interval", "100ms", "--rate", "9600kbit"];

fn stream(address: &str, words: &[&str], code: i32) -> (Ended, Value) {
    let folder = tempdir().expect("a temporary folder");
    let words = [&["net", "stream", address], words].concat();
    let ended = plumb(&words, folder.path()).with(code);
    let record = record(&only_run(folder.path()));
    (ended, record["results"][0].clone())
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// What becomes of a datagram of a stream on the lines of these tests.
fn fate(number: u64) -> Fate {
    match number % 50 {
        7 | 11..=13 => Fate::Lose,
        20 => Fate::Twice,
        30 => Fate::Wait,
        _ => Fate::Pass,
    }
}

/// Lost, in a row at most, reordered, doubled: what such a line makes of so many datagrams.
fn expected(sent: u64) -> (u64, u64, u64, u64) {
    // the last one waits for another in vain
    let passes = |n: &u64| fate(*n) != Fate::Lose && (fate(*n) != Fate::Wait || n + 1 < sent);
    let missing: Vec<bool> = (0..sent).map(|n| !passes(&n)).collect();
    let lost = missing.iter().filter(|missing| **missing).count() as u64;
    let longest = missing.split(|missing| !missing).map(<[bool]>::len).max().unwrap_or(0);
    let of = |fate_of: Fate| (0..sent).filter(|n| passes(n) && fate(*n) == fate_of).count() as u64;
    (lost, longest as u64, of(Fate::Wait), of(Fate::Twice))
}

#[test]
fn the_account_of_the_receiver_is_that_of_the_line() {
    let server = Server::listening(UDP, &["--quiet"]);
    for (way, words, name) in
        [(Way::There, &[][..], "to_server"), (Way::Back, &["--reverse"][..], "from_server")]
    {
        let line = DatagramLine::to(&server.address, move |went, kind, number| match kind {
            Kind::Data if went == way => fate(number),
            _ => Fate::Pass,
        });
        let (ended, result) = stream(&line.address, &[SHORT, words].concat(), 0);
        let carried = &result["stream"][name];
        let flow = &carried["datagrams"];
        let sent = number(&flow["sent"]);
        assert!(sent > 50, "{result:#}");
        let (lost, longest, reordered, doubled) = expected(sent);
        let told = |field: &str| number(&flow[field]);
        assert_eq!(
            (told("lost"), told("gap_max"), told("reordered"), told("duplicates")),
            (lost, longest, reordered, doubled),
            "{result:#}"
        );
        assert_eq!(told("received"), sent - lost);
        assert_eq!(number(&carried["received_bytes"]), (sent - lost) * 1_200);
        assert_eq!(number(&carried["sent_bytes"]), sent * 1_200);
        assert_eq!((told("too_late"), told("unsent")), (0, 0));
        assert_eq!(result["operations"], sent - lost);
        assert!(ended.stdout.contains("in a row"), "{ended:#?}");
        assert!(ended.stdout.contains(&format!("{lost} datagrams of {sent}")), "{ended:#?}");
    }
}

#[test]
fn a_whole_line_loses_nothing_whichever_way_and_over_how_many_streams() {
    let server = Server::start(&["--listen", "udp:[::1]:0", "--quiet"]);
    let udp = server.also();
    let (_, result) = stream(&udp, &[SHORT, &["--both", "--streams", "2"]].concat(), 0);
    for way in ["to_server", "from_server"] {
        let flow = &result["stream"][way]["datagrams"];
        assert!(number(&flow["sent"]) > 50, "{result:#}");
        assert_eq!((&flow["received"], &flow["lost"]), (&flow["sent"], &json!(0)), "{result:#}");
        assert_eq!((&flow["duplicates"], &flow["reordered"]), (&json!(0), &json!(0)));
        assert!(flow["gaps"].is_null());
        assert!(number(&result["stream"][way]["span_ns"]) > 0);
    }
    assert_eq!(result["transports"][0]["kind"], "udp");
    assert_eq!(result["transports"][0]["connections"], 4);
    let intervals = result["stream"]["intervals"].as_array().expect("intervals");
    assert!(!intervals.is_empty());
    assert!(intervals.iter().all(|it| it["to_server"]["lost"].is_i64()), "{intervals:#?}");
    server.stop().with(0);
}

#[test]
fn questions_that_are_lost_are_asked_again() {
    let server = Server::listening(UDP, &["--quiet"]);
    // of every kind but those of a stream each second one is lost
    let counts = std::sync::Mutex::new(std::collections::HashMap::<u8, u32>::new());
    let line = DatagramLine::to(&server.address, move |_, kind, _| {
        if kind == Kind::Data {
            return Fate::Pass;
        }
        let mut counts = counts.lock().expect("a test");
        let count = counts.entry(kind as u8).or_default();
        *count += 1;
        if *count % 2 == 1 { Fate::Lose } else { Fate::Pass }
    });
    for way in ["to_server", "from_server"] {
        let words = if way == "to_server" { &[][..] } else { &["--reverse"] };
        let (_, result) = stream(&line.address, &[SHORT, words].concat(), 0);
        let flow = &result["stream"][way]["datagrams"];
        assert!(number(&flow["sent"]) > 50, "{result:#}");
        assert_eq!(flow["received"], flow["sent"]);
    }
}

#[test]
fn limits_are_told_and_a_stream_that_the_server_refuses_is_no_result() {
    let words = ["--quiet", "--max-streams", "1", "--max-rate", "1Mbit"];
    let server = Server::listening(UDP, &words);
    let folder = tempdir().expect("a temporary folder");
    let refused = |words: &[&str]| {
        let words = [&["net", "stream", &server.address], words].concat();
        plumb(&words, folder.path()).with(2).stderr
    };
    let said = refused(&["--streams", "2", "--for", "50ms"]);
    assert!(said.contains("no more than 1 stream at once (--max-streams)"), "{said}");
    let said = refused(&["--size", "70000B"]);
    assert!(said.contains("to 65507B"), "{said}");
    let (_, result) = stream(&server.address, &["--reverse", "--for", "300ms"], 1);
    let reasons = result["validity"]["reasons"].to_string();
    assert!(reasons.contains("no more than 1Mbit/s to all (--max-rate)"), "{reasons}");
    assert_eq!(result["failures"], json!({"closed": 1}));
}

/// A figure of what a line says at its end of one direction.
fn of_line(log: &str, way: &str, what: &str) -> u64 {
    let line = log.lines().find(|line| line.contains(&format!(" {way}: "))).expect("its totals");
    let before = line.split(&format!(" {what}")).next().expect("the first part");
    let number = before.rsplit(' ').next().expect("a number");
    number.replace(',', "").parse().unwrap_or_else(|_| panic!("no {what} of {way}: {line}"))
}

#[test]
fn what_a_line_of_chance_does_is_what_the_receiver_counts() {
    let server = Server::listening(UDP, &["--quiet"]);
    let words = ["--listen", UDP, "--lose", "3%", "--duplicate", "2%", "--reorder", "5%"];
    let more = ["--delay", "2ms", "--jitter", "1ms", "--seed", "11"];
    let line = Server::of_delay(&server.address, &[&words[..], &more].concat());
    let (_, result) = stream(&line.address, SHORT, 0);
    let flow = &result["stream"]["to_server"]["datagrams"];
    let told = |field: &str| number(&flow[field]);
    let log = line.stop().with(0).stderr;
    let of = |what: &str| of_line(&log, "there", what);
    // of the line are the questions, too: hellos, the beginning, and what became of it
    let questions = of("datagrams received") - told("sent");
    assert!(questions < 200, "{log}");
    for (here, there) in [("lost", "lost"), ("duplicates", "doubled"), ("reordered", "reordered")] {
        assert!(told(here) <= of(there), "{here}: {result:#}\n{log}");
        assert!(told(here) + questions >= of(there), "{here}: {result:#}\n{log}");
    }
    assert!(told("lost") > 0 && told("duplicates") > 0 && told("reordered") > 0, "{result:#}");
}
