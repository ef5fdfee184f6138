use std::num::NonZeroU32;

use plumb_measure::{Outcome, Residence, ServerHalf};

use super::*;

fn probe() -> Probe {
    let limits = Limits { expected: "2xx".parse().unwrap(), body_bytes_max: 100 };
    Probe::new(vec![b"one".to_vec(), b"two".to_vec()], Ask::Content, limits, 7)
}

/// The end of the answer in `bytes`, fed in pieces of `piece` bytes.
fn answer(probe: &mut Probe, bytes: &[u8], piece: usize) -> (Answer, Then) {
    let mut wire = Wire::default();
    let mut user = probe.user(0);
    let op = Some(Op { label: 0, tag: 0 });
    let (mut from, mut to) = (0, 0);
    while to < bytes.len() {
        to = bytes.len().min(to + piece);
        loop {
            let rest = &bytes[from..to];
            match probe.decode(&mut user, &mut wire, op, rest, &mut Vec::new()) {
                Step::Done { answer, then, .. } => return (answer, then),
                Step::Need { consumed } => {
                    from += consumed;
                    break;
                }
                Step::Aside { consumed } => from += consumed,
                other => panic!("{other:?}"),
            }
            if from == to {
                break;
            }
        }
    }
    (probe.eof(&mut user, &mut wire, Op { label: 0, tag: 0 }), Then::Close)
}

fn failed(bytes: &[u8], kind: FailureKind) {
    for piece in [1, bytes.len()] {
        let (answer, then) = answer(&mut probe(), bytes, piece);
        assert_eq!(answer.outcome, Outcome::Failed(kind), "{piece}");
        assert_eq!(then, Then::Close);
    }
}

#[test]
fn every_round_asks_for_every_page_in_an_order_of_its_own() {
    let mut probe = probe();
    let mut user = probe.user(1);
    let mut labels = Vec::new();
    for _ in 0..200 {
        let mut out = Vec::new();
        match probe.encode(&mut user, &mut Wire::default(), &mut out) {
            Next::Send(op) => labels.push(op.label),
            other => panic!("{other:?}"),
        }
        assert_eq!(out, [b"one", b"two"][usize::from(labels[labels.len() - 1])]);
    }
    let rounds: Vec<&[u16]> = labels.chunks(2).collect();
    assert!(rounds.iter().all(|round| round[0] != round[1]));
    let first = rounds.iter().filter(|round| round[0] == 0).count();
    assert!((25..=75).contains(&first), "{first} of 100 rounds begin with the first page");
}

/// An answer that is right, of a server that tells nothing of its time.
fn right(body_bytes: u64) -> Answer {
    Answer { code: Some(200), told: Some(ServerTimes::default()), ..Answer::ok(body_bytes) }
}

#[test]
fn a_right_answer_has_its_status_and_its_length() {
    let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    for piece in [1, 7, bytes.len()] {
        let (answer, then) = answer(&mut probe(), bytes, piece);
        assert_eq!((answer, then), (right(5), Then::Keep));
    }
}

#[test]
fn a_body_that_ends_with_the_connection_is_right_and_a_cut_one_is_not() {
    let (answer, _) = answer(&mut probe(), b"HTTP/1.0 200 OK\r\n\r\nsome", 1);
    assert_eq!(answer, right(4));
    failed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", FailureKind::Closed);
    failed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", FailureKind::Closed);
    failed(b"HTTP/1.1 2", FailureKind::Closed);
}

#[test]
fn a_status_that_is_not_expected_fails_and_keeps_the_connection() {
    let bytes = b"HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno";
    let mut probe = probe();
    let (answer, then) = answer(&mut probe, bytes, bytes.len());
    assert_eq!(answer.outcome, Outcome::Failed(FailureKind::UnexpectedStatus));
    assert_eq!((answer.code, then), (Some(401), Then::Keep));
    assert_eq!(probe.complaint().unwrap(), "answered 401 where 2xx was expected");
}

#[test]
fn what_cannot_be_read_is_named() {
    failed(b"220 mail ready\r\n", FailureKind::Garbled);
    failed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", FailureKind::Garbled);
    failed(b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", FailureKind::BodyTooLarge);
    let endless = [b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[b'x'; 101]].concat();
    failed(&endless, FailureKind::BodyTooLarge);
    let long = [b"HTTP/1.1 200 OK\r\nX: ".as_slice(), &[b'x'; 70_000]].concat();
    let (answer, _) = answer(&mut probe(), &long, 4_096);
    assert_eq!(answer.outcome, Outcome::Failed(FailureKind::HeadTooLarge));
}

#[test]
fn bytes_behind_an_answer_make_it_wrong() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello";
    let mut probe = probe();
    let (answer, then) = answer(&mut probe, bytes, bytes.len());
    assert_eq!(answer.outcome, Outcome::Failed(FailureKind::Garbled));
    assert_eq!(then, Then::Close);
    assert!(probe.complaint().unwrap().contains("more bytes"));
}

#[test]
fn times_that_a_server_tells_come_with_the_answer_they_stand_in() {
    let mut probe = probe();
    for (dur, ns) in [("5", 5_000_000), ("7.5", 7_500_000), ("7.5", 7_500_000)] {
        let bytes = format!(
            "HTTP/1.1 200 OK\r\nServer-Timing: app;dur=1, db;dur={dur}\r\nContent-Length: 0\r\n\r\n"
        );
        let (answer, _) = answer(&mut probe, bytes.as_bytes(), bytes.len());
        let told: Vec<_> = answer.told.unwrap().iter().collect();
        assert_eq!(told, [(0, 1_000_000), (1, ns)]);
    }
    assert_eq!(probe.judge().told_names(), ["app", "db"]);
    let plain = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(answer(&mut probe, plain, plain.len()).0.told, Some(ServerTimes::default()));
}

#[test]
fn a_server_is_asked_for_one_request_in_so_many_and_what_it_says_is_kept() {
    let mut probe = probe().stamped(NonZeroU32::new(2));
    let (mut user, mut wire) = (probe.user(1), Wire::default());
    let mut ask = |probe: &mut Probe, wire: &mut Wire, answer: &str| {
        let mut out = Vec::new();
        let Next::Send(op) = probe.encode(&mut user, wire, &mut out) else { panic!() };
        let answer = format!("HTTP/1.1 200 OK\r\n{answer}Content-Length: 0\r\n\r\n");
        let bytes = answer.as_bytes();
        let step = probe.decode(&mut user, wire, Some(op), bytes, &mut Vec::new());
        assert!(matches!(step, Step::Done { .. }), "{step:?}");
        String::from_utf8(out).unwrap()
    };
    assert!(ask(&mut probe, &mut wire, "Plumb-Stamp: 0\r\n").contains("plumb-stamp: 0\r\n"));
    assert!(probe.tells_residence(&wire));
    let asked = ask(&mut probe, &mut wire, "Plumb-Stamp: 5\r\n");
    let name = asked.split_once("plumb-stamp: ").unwrap().1.split_once("\r\n").unwrap().0;
    let told = format!("Plumb-Stamped: {name} 12 3 4\r\n");
    assert!(!ask(&mut probe, &mut wire, &told).contains("plumb-stamp"));
    let residence = Residence { waking_ns: 12, work_ns: 3, sending_ns: 4 };
    assert_eq!(probe.residence(&mut wire), Some((2, residence)));
    let mut out = Vec::new();
    probe.clone().closing().stamped(NonZeroU32::new(2)).encode(
        &mut probe.user(0),
        &mut Wire::default(),
        &mut out,
    );
    assert!(!out.starts_with(b"plumb-stamp"), "nobody is asked who cannot tell");
}

#[test]
fn what_a_server_calls_the_whole_of_its_time_is_its_half() {
    let mut probe = probe();
    for (lines, half) in [
        ("", ServerHalf::Unknown),
        ("Server-Timing: cache;desc=hit\r\n", ServerHalf::Unknown),
        ("Server-Timing: db;dur=3, app;dur=5\r\n", ServerHalf::Said(5_000_000)),
        ("Server-Timing: db;dur=9, total;dur=7\r\n", ServerHalf::Said(7_000_000)),
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 0\r\n\r\n");
        let (answer, _) = answer(&mut probe, bytes.as_bytes(), bytes.len());
        assert_eq!(probe.server_half(&answer), half, "{lines}");
    }
}
