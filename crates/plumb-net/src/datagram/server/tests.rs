use std::cell::Cell;

use plumb_wire::datagram::Account;

use super::*;
use crate::datagram::clients::FORGET_NS;
use crate::room::StreamLimits;

#[derive(Default)]
struct Still(Cell<u64>);

impl Clock for &Still {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
}

fn server(clock: &Still, max_clients: usize) -> DatagramServer<&Still> {
    let streams = StreamLimits { streams: 2, rate: None };
    DatagramServer::new(clock, max_clients, 0, Arc::new(StreamRoom::new(streams)), None)
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn said(kind: Kind, token: u64, number: u64) -> Head {
    Head { kind, token, number, stamp: 1 }
}

/// What the server answers, and how long that is.
fn ask<C: Clock>(
    server: &mut DatagramServer<C>,
    port: u16,
    head: Head,
    bytes: usize,
) -> Option<(Head, usize)> {
    let mut datagram = head.filled(bytes);
    let answer = server.serve(at(port), &mut datagram)?;
    assert!(answer <= bytes, "an answer is never longer");
    Some((Head::parse(&datagram[..answer]).unwrap().0, answer))
}

fn token<C: Clock>(server: &mut DatagramServer<C>, port: u16) -> u64 {
    let (head, bytes) = ask(server, port, said(Kind::Hello, 0, 0), 128).unwrap();
    assert_eq!((head.kind, bytes), (Kind::Welcome, 128));
    head.token
}

/// A client that takes its place.
fn come<C: Clock>(server: &mut DatagramServer<C>, port: u16) {
    let token = token(server, port);
    let (head, _) = ask(server, port, said(Kind::Ping, token, 0), 128).unwrap();
    assert_eq!(head.kind, Kind::Pong);
}

#[test]
fn only_a_token_of_its_own_address_gets_a_message_back() {
    let clock = Still::default();
    let mut server = server(&clock, 8);
    let mine = token(&mut server, 1);
    assert_eq!(token(&mut server, 1), mine, "a hello that came twice");
    for number in 0..3 {
        let (head, bytes) = ask(&mut server, 1, said(Kind::Ping, mine, number), 500).unwrap();
        assert_eq!((head.kind, head.number, bytes), (Kind::Pong, number, 500));
        assert_eq!(head.stamp, number + 1, "the messages that came");
    }
    let again = ask(&mut server, 1, said(Kind::Ping, mine, 1), 500).unwrap().0;
    assert_eq!(again.stamp, 3, "one that came before is not counted");
    let (head, bytes) = ask(&mut server, 2, said(Kind::Ping, mine, 0), 500).unwrap();
    assert_eq!(head.kind, Kind::Refused);
    assert!(bytes < 100);
    let mut noise = vec![7; 500];
    assert_eq!(server.serve(at(1), &mut noise), None);
    assert_eq!(server.totals().strange, 2);
}

#[test]
fn clients_beyond_the_limit_are_refused_until_others_have_been_silent() {
    let clock = Still::default();
    let mut server = server(&clock, 2);
    let late = token(&mut server, 3);
    come(&mut server, 1);
    come(&mut server, 2);
    for head in [said(Kind::Hello, 0, 0), said(Kind::Ping, late, 0)] {
        assert_eq!(ask(&mut server, 3, head, 128).unwrap().0.kind, Kind::Refused);
    }
    clock.0.set(FORGET_NS);
    come(&mut server, 3);
    assert_eq!(
        server.totals(),
        DatagramTotals { welcomed: 4, answered: 3, turned_away: 2, ..Default::default() }
    );
}

#[test]
fn who_says_hello_for_others_takes_no_place() {
    let clock = Still::default();
    let mut server = server(&clock, 1);
    for port in 1..1_000 {
        token(&mut server, port);
    }
    come(&mut server, 1_000);
    assert_eq!(server.totals().turned_away, 0);
}

#[test]
fn of_a_client_that_was_forgotten_nothing_is_counted_until_it_says_hello() {
    let clock = Still::default();
    let mut server = server(&clock, 1);
    let mine = token(&mut server, 1);
    let ping = |number| said(Kind::Ping, mine, number);
    assert_eq!(ask(&mut server, 1, ping(0), 100).unwrap().0.stamp, 1);
    clock.0.set(FORGET_NS);
    come(&mut server, 2);
    clock.0.set(2 * FORGET_NS);
    // seven came before, and this one is not the first
    assert_eq!(ask(&mut server, 1, ping(7), 100).unwrap().0.stamp, 0);
    assert_eq!(ask(&mut server, 1, ping(8), 100).unwrap().0.stamp, 0);
    let anew = Head { stamp: 2, ..said(Kind::Hello, 0, 0) };
    let token = ask(&mut server, 1, anew, 128).unwrap().0.token;
    let first = said(Kind::Ping, token, 0);
    assert_eq!(ask(&mut server, 1, first, 100).unwrap().0.stamp, 1);
}

#[test]
fn who_says_hello_for_a_client_changes_nothing_of_it() {
    let clock = Still::default();
    let mut server = server(&clock, 1);
    assert_eq!(begin(&mut server, 1, 70), Kind::Begun);
    let mine = token(&mut server, 1);
    let ping = |number| said(Kind::Ping, mine, number);
    assert_eq!(ask(&mut server, 1, ping(0), 100).unwrap().0.stamp, 1);
    let forged = Head { stamp: 2, ..said(Kind::Hello, 0, 0) };
    ask(&mut server, 1, forged, 128).unwrap();
    assert_eq!(ask(&mut server, 1, ping(1), 100).unwrap().0.stamp, 2);
    assert_eq!(ask(&mut server, 1, said(Kind::Data, mine, 0), 200), None);
    assert_eq!(server.totals().strange, 0);
    // another client there, which has had its answer
    let anew = Head { stamp: 3, ..forged };
    let theirs = ask(&mut server, 1, anew, 128).unwrap().0.token;
    assert_eq!(ask(&mut server, 1, said(Kind::Ping, theirs, 0), 100).unwrap().0.stamp, 1);
    assert_eq!(ask(&mut server, 1, said(Kind::Data, mine, 1), 200), None);
    assert_eq!(server.totals().strange, 1);
}

#[test]
fn what_comes_late_of_a_client_changes_nothing_of_the_next_at_its_address() {
    let clock = Still::default();
    let mut server = server(&clock, 1);
    let gone = ask(&mut server, 1, Head { stamp: 2, ..said(Kind::Hello, 0, 0) }, 128);
    let gone = said(Kind::Ping, gone.unwrap().0.token, 0);
    assert_eq!(ask(&mut server, 1, gone, 100).unwrap().0.stamp, 1);
    assert_eq!(begin(&mut server, 1, 70), Kind::Begun);
    let mine = token(&mut server, 1);
    let late = ask(&mut server, 1, gone, 100).unwrap().0;
    assert_eq!((late.kind, late.stamp), (Kind::Pong, 0));
    assert_eq!(ask(&mut server, 1, said(Kind::Data, mine, 0), 200), None);
    assert_eq!(server.totals().strange, 0);
    assert_eq!(ask(&mut server, 1, said(Kind::Ping, mine, 0), 100).unwrap().0.stamp, 1);
    // one that is there alone goes on, though nobody knows its hello any more
    clock.0.set(FORGET_NS);
    ask(&mut server, 1, gone, 100).unwrap();
    assert_eq!(ask(&mut server, 1, said(Kind::Data, mine, 1), 200), None);
    assert_eq!(server.totals().strange, 1);
}

/// The answer to what asks with `body`.
fn talk(
    server: &mut DatagramServer<&Still>,
    port: u16,
    head: Head,
    body: &[u8],
) -> (Kind, Vec<u8>) {
    let mut datagram = [&head.filled(HEAD_BYTES), body].concat();
    let answer = server.serve(at(port), &mut datagram).unwrap();
    let (head, body) = Head::parse(&datagram[..answer]).unwrap();
    (head.kind, body.to_vec())
}

fn begin(server: &mut DatagramServer<&Still>, port: u16, key: u64) -> Kind {
    let token = token(server, port);
    let mut body = Vec::new();
    Begin { key, from_server: None }.push(&mut body);
    talk(server, port, said(Kind::Begin, token, 0), &body).0
}

#[test]
fn a_stream_is_counted_under_its_key_and_only_so_many_at_once() {
    let clock = Still::default();
    let mut server = server(&clock, 8);
    assert_eq!(begin(&mut server, 1, 70), Kind::Begun);
    assert_eq!(begin(&mut server, 1, 70), Kind::Begun, "a question that came twice");
    assert_eq!(begin(&mut server, 2, 70), Kind::Refused, "a key of somebody else");
    let refused = token(&mut server, 2);
    assert_eq!(ask(&mut server, 2, said(Kind::Data, refused, 9), 200), None);
    assert_eq!(begin(&mut server, 2, 71), Kind::Begun);
    assert_eq!(begin(&mut server, 3, 72), Kind::Refused, "the limit is two");
    let mine = token(&mut server, 1);
    for number in [0, 1, 3] {
        assert_eq!(ask(&mut server, 1, said(Kind::Data, mine, number), 200), None);
    }
    let theirs = token(&mut server, 4);
    let mut body = Vec::new();
    Ask { key: 70, ended: Some(5) }.push(&mut body);
    let (kind, account) = talk(&mut server, 4, said(Kind::Ask, theirs, 0), &body);
    assert_eq!(kind, Kind::Account);
    let account = Account::parse(&account).unwrap();
    assert_eq!((account.received, account.bytes, account.lost), (3, 600, 2));
    assert!(account.over);
    // one that is over makes room for another
    assert_eq!(begin(&mut server, 3, 72), Kind::Begun);
    let mut short = [&said(Kind::Ask, theirs, 0).filled(HEAD_BYTES), &body[..20]].concat();
    assert_eq!(server.serve(at(4), &mut short), None, "the answer would be longer");
}

#[test]
fn those_without_a_token_have_so_many_answers_a_second() {
    let clock = Still::default();
    let mut server = server(&clock, 8);
    let mut answered = 0;
    for _ in 0..2 * UNPROVEN_A_SECOND {
        answered += u64::from(ask(&mut server, 1, said(Kind::Ping, 5, 0), 100).is_some());
    }
    assert_eq!(answered, UNPROVEN_A_SECOND);
    assert_eq!(ask(&mut server, 1, said(Kind::Hello, 0, 0), 128), None);
    clock.0.set(SECOND_NS);
    token(&mut server, 1);
}
