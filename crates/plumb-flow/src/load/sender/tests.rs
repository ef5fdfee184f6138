use proptest::prelude::*;

use super::super::messages;
use super::super::options::ContentOptions;
use super::*;

fn sender(mode: Option<ModeName>) -> Sender {
    let contents = messages::read(&ContentOptions::default()).unwrap();
    let requests = Requests::new(&contents, "h", "/messages", None);
    Sender::new(Arc::new(requests), Arc::new(AtomicU64::new(5)), mode, 1_000)
}

fn answer(sender: &mut Sender, user: &mut User, bytes: &[u8], piece: usize) -> Answer {
    let mut wire = Wire::default();
    let sent = sender.encode(user, &mut wire, &mut Vec::new());
    let Next::Send(op) = sent else { panic!("{sent:?}") };
    let (mut kept, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(piece.min(rest.len()));
        kept.extend_from_slice(now);
        rest = later;
        match sender.decode(user, &mut wire, Some(op), &kept, &mut Vec::new()) {
            Step::Need { consumed } | Step::Aside { consumed } => drop(kept.drain(..consumed)),
            Step::Done { answer, .. } => return answer,
            other => panic!("{other:?}"),
        }
    }
    sender.eof(user, &mut wire, op)
}

fn outcome_of(mode: Option<ModeName>, status: &str) -> Outcome {
    let bytes =
        format!("HTTP/1.1 {status}\r\nX-Execution-Id: 00ff\r\nContent-Length: 2\r\n\r\n{{}}");
    answer(&mut sender(mode), &mut User::default(), bytes.as_bytes(), 1 << 20).outcome
}

#[test]
fn a_message_is_accepted_refused_or_failed() {
    use ModeName::{Async, Sync};
    let unexpected = Outcome::Failed(FailureKind::UnexpectedStatus);
    for (mode, status, expected) in [
        (None, "202 Accepted", Outcome::Ok),
        (None, "200 OK", Outcome::Ok),
        (Some(Async), "202 Accepted", Outcome::Ok),
        (Some(Async), "200 OK", unexpected),
        (Some(Sync), "202 Accepted", unexpected),
        (Some(Sync), "201 Created", Outcome::Ok),
        (None, "429 Too Many Requests", Outcome::Refused),
        (Some(Async), "503 Service Unavailable", Outcome::Refused),
        (None, "400 Bad Request", unexpected),
        (None, "500 Internal Server Error", unexpected),
        (None, "504 Gateway Timeout", unexpected),
        (None, "302 Found", unexpected),
    ] {
        assert_eq!(outcome_of(mode, status), expected, "{mode:?} {status}");
    }
}

#[test]
fn an_answer_that_names_no_execution_is_wrong() {
    let mut sender = sender(None);
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    let found = answer(&mut sender, &mut User::default(), bytes, 7);
    assert_eq!(found.outcome, Outcome::Failed(FailureKind::CheckFailed));
    assert!(sender.complaint().unwrap().contains("named no execution"));
    assert_eq!(sender.tally(), Tally { sent: 1, rejected: 1, ..Tally::default() });
}

#[test]
fn what_a_server_says_of_a_failure_is_told() {
    let mut sender = sender(Some(ModeName::Async));
    let bytes = b"HTTP/1.1 404 Not Found\r\nContent-Length: 21\r\n\r\nno transaction `x`\n\x1b[";
    let _ = answer(&mut sender, &mut User::default(), bytes, 3);
    let said = "answered 404 where 202 was expected: no transaction `x`  [";
    assert_eq!(sender.complaint().as_deref(), Some(said));
}

#[test]
fn whoever_is_turned_away_rests_before_the_next_message() {
    let (mut sender, mut user) = (sender(None), User::default());
    let bytes = b"HTTP/1.1 429 No\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(answer(&mut sender, &mut user, bytes, 99).outcome, Outcome::Refused);
    let mut next = || sender.encode(&mut user, &mut Wire::default(), &mut Vec::new());
    assert_eq!(next(), Next::Pause(1_000));
    assert!(matches!(next(), Next::Send(_)));
    assert_eq!(sender.complaint(), None);
}

#[test]
fn a_cut_answer_says_nothing_of_the_message() {
    let mut sender = sender(None);
    let mut cut = |bytes: &[u8]| answer(&mut sender, &mut User::default(), bytes, 9).outcome;
    let closed = Outcome::Failed(FailureKind::Closed);
    assert_eq!(cut(b"HTTP/1.1 202 Accepted\r\nContent-Length: 9\r\n\r\n{"), closed);
    assert_eq!(cut(b"HTTP/1.1 2"), closed);
    assert_eq!(cut(b"220 mail\r\n"), Outcome::Failed(FailureKind::Garbled));
    assert_eq!((sender.tally().unanswered(), sender.tally().accepted), (3, 0));
}

#[test]
fn times_come_by_the_names_that_the_server_gives_them() {
    let mut sender = sender(None);
    let bytes = b"HTTP/1.1 200 OK\r\nX-Execution-Id: 1\r\nServer-Timing: queue;dur=2, \
                  rows;dur=5\r\nContent-Length: 0\r\n\r\n";
    let found = answer(&mut sender, &mut User::default(), bytes, 5);
    let told: Vec<_> = found.told.unwrap().iter().collect();
    assert_eq!(told, [(0, 2_000_000), (1, 5_000_000)]);
    assert_eq!(sender.told_names(), ["queue", "rows"]);
}

proptest! {
    #[test]
    fn any_answer_is_judged(bytes: Vec<u8>, piece in 1_usize..40) {
        let mut sender = sender(None);
        let _ = answer(&mut sender, &mut User::default(), &bytes, piece);
        let Tally { sent, accepted, rejected, .. } = sender.tally();
        prop_assert_eq!(sent, 1);
        prop_assert!(accepted + rejected <= 1);
    }
}
