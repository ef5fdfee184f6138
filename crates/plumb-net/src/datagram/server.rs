//! The server half: tokens, round trips, and streams.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;

use plumb_engine::{DatagramService, DatagramSocket};
use plumb_measure::Clock;
use plumb_wire::datagram::{Ask, Begin, HEAD_BYTES, Head, Kind};

use super::clients::Clients;
use super::sessions::Sessions;
use super::window::Arrival;
use crate::room::StreamRoom;

/// Answers a second to whoever has not shown yet that answers reach him.
const UNPROVEN_A_SECOND: u64 = 10_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A server of datagrams for any number of clients, of which each of up to `max_clients` is counted
/// for.
///
/// It keeps no place for whoever has not come with a token, and has the token of an address from the
/// address: a secret of this process makes one of the other.
#[derive(Debug)]
pub struct DatagramServer<C> {
    clock: C,
    secret: RandomState,
    /// Time that each message occupies the server, nanoseconds.
    service_ns: u64,
    clients: Clients,
    sessions: Sessions,
    unproven: Unproven,
    totals: DatagramTotals,
}

/// What a server has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramTotals {
    /// Clients that were given a token; one that asked twice counts twice.
    pub welcomed: u64,
    /// Messages that went back.
    pub answered: u64,
    /// Datagrams that were none of this protocol, or of nobody who was given a token.
    pub strange: u64,
    /// Datagrams that found no room: of more clients than may be, or too many without a token.
    pub turned_away: u64,
}

/// How many answers may go to whoever has no token.
#[derive(Debug, Default)]
struct Unproven {
    since_ns: u64,
    given: u64,
}

impl Unproven {
    fn may(&mut self, now_ns: u64) -> bool {
        if now_ns.saturating_sub(self.since_ns) >= SECOND_NS {
            *self = Self { since_ns: now_ns, given: 0 };
        }
        self.given += 1;
        self.given <= UNPROVEN_A_SECOND
    }
}

impl<C: Clock> DatagramServer<C> {
    /// A server of up to `max_clients`, whose messages each take `service_ns` nanoseconds. Its streams
    /// take what they need of `room`, and go over `socket`; without one it sends none.
    pub fn new(
        clock: C,
        max_clients: usize,
        service_ns: u64,
        room: Arc<StreamRoom>,
        socket: Option<Arc<DatagramSocket>>,
    ) -> Self {
        Self {
            sessions: Sessions::new(room, socket),
            clock,
            secret: RandomState::new(),
            service_ns,
            clients: Clients::new(max_clients),
            unproven: Unproven::default(),
            totals: DatagramTotals::default(),
        }
    }

    /// What it has done so far.
    pub fn totals(&self) -> DatagramTotals {
        self.totals
    }

    fn token(&self, from: SocketAddr) -> u64 {
        self.secret.hash_one(from)
    }

    fn welcome(&mut self, from: SocketAddr, head: Head, datagram: &mut [u8]) -> Option<usize> {
        let now_ns = self.clock.now_ns();
        if !self.unproven.may(now_ns) {
            self.totals.turned_away += 1;
            return None;
        }
        let token = self.token(from);
        if !self.clients.greet(from, head.stamp, now_ns) {
            return Some(self.turn_away(head, datagram));
        }
        self.totals.welcomed += 1;
        Head { kind: Kind::Welcome, token, ..head }.write(datagram);
        Some(datagram.len())
    }

    fn ping(&mut self, from: SocketAddr, head: Head, datagram: &mut [u8]) -> Option<usize> {
        let now_ns = self.clock.now_ns();
        let Some(heard) = self.clients.proven(from, now_ns) else {
            return Some(self.turn_away(head, datagram));
        };
        let arrival = heard.numbers.note(head.number, |_, _| {});
        heard.messages += u64::from(matches!(arrival, Arrival::Next | Arrival::Overtaken));
        let stamp = heard.hello.map_or(0, |_| heard.messages);
        self.totals.answered += 1;
        let until = now_ns + self.service_ns;
        while self.service_ns > 0 && self.clock.now_ns() < until {
            std::hint::spin_loop();
        }
        Head { kind: Kind::Pong, stamp, ..head }.write(datagram);
        Some(datagram.len())
    }

    fn turn_away(&mut self, head: Head, datagram: &mut [u8]) -> usize {
        self.totals.turned_away += 1;
        refuse(head, "this server takes no more clients (--max-clients)", datagram)
    }
}

impl<C: Clock> DatagramServer<C> {
    /// One datagram of a stream: nobody answers.
    fn data(&mut self, from: SocketAddr, head: Head, bytes: usize) {
        let now_ns = self.clock.now_ns();
        match self.clients.stream(from, now_ns) {
            Some(key) => self.sessions.note(key, head, bytes as u64, now_ns),
            None => self.totals.strange += 1,
        }
    }

    fn begin(&mut self, from: SocketAddr, head: Head, datagram: &mut [u8]) -> Option<usize> {
        let now_ns = self.clock.now_ns();
        let begin = match Begin::parse(&datagram[HEAD_BYTES..]) {
            Ok(begin) => begin,
            Err(error) => return Some(refuse(head, &error.to_string(), datagram)),
        };
        let Some(heard) = self.clients.proven(from, now_ns) else {
            return Some(self.turn_away(head, datagram));
        };
        if let Err(text) = self.sessions.begin(from, head.token, begin, now_ns) {
            return Some(refuse(head, &text, datagram));
        }
        if begin.from_server.is_none() {
            heard.stream = Some(begin.key);
        }
        Head { kind: Kind::Begun, ..head }.write(datagram);
        Some(datagram.len())
    }

    fn account(&mut self, from: SocketAddr, head: Head, datagram: &mut [u8]) -> Option<usize> {
        let now_ns = self.clock.now_ns();
        if self.clients.proven(from, now_ns).is_none() {
            return Some(self.turn_away(head, datagram));
        }
        let ask = Ask::parse(&datagram[HEAD_BYTES..]).ok();
        let Some(account) = ask.and_then(|ask| self.sessions.account(ask, now_ns)) else {
            return Some(refuse(head, "there is no such stream", datagram));
        };
        let mut answer = vec![0; HEAD_BYTES];
        Head { kind: Kind::Account, ..head }.write(&mut answer);
        account.push(&mut answer);
        // a question that is shorter than its answer asks in vain
        datagram.get_mut(..answer.len())?.copy_from_slice(&answer);
        Some(answer.len())
    }
}

impl<C: Clock> DatagramService for DatagramServer<C> {
    fn serve(&mut self, from: SocketAddr, datagram: &mut [u8]) -> Option<usize> {
        let Ok((head, _)) = Head::parse(datagram) else {
            self.totals.strange += 1;
            return None;
        };
        if head.kind == Kind::Hello {
            return self.welcome(from, head, datagram);
        }
        if head.token != self.token(from) {
            self.totals.strange += 1;
            // a client of a server that was started anew
            let may = self.unproven.may(self.clock.now_ns());
            return may.then(|| refuse(head, "unknown token: say hello again", datagram));
        }
        match head.kind {
            Kind::Ping => self.ping(from, head, datagram),
            Kind::Data => {
                self.data(from, head, datagram.len());
                None
            }
            Kind::Begin => self.begin(from, head, datagram),
            Kind::Ask => self.account(from, head, datagram),
            _ => {
                self.totals.strange += 1;
                None
            }
        }
    }
}

/// Writes a refusal over `datagram`, as many of its words as have room.
fn refuse(head: Head, text: &str, datagram: &mut [u8]) -> usize {
    Head { kind: Kind::Refused, ..head }.write(datagram);
    let room = &mut datagram[HEAD_BYTES..];
    let words = text.len().min(room.len());
    room[..words].copy_from_slice(&text.as_bytes()[..words]);
    HEAD_BYTES + words
}

impl fmt::Display for DatagramTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { welcomed, answered, strange, turned_away } = self;
        write!(f, "{answered} datagrams answered, of clients that were welcomed {welcomed} times")?;
        if *turned_away > 0 {
            write!(f, ", {turned_away} turned away")?;
        }
        if *strange > 0 {
            write!(f, ", {strange} of nobody known")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
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
        ask(&mut server, 1, anew, 128).unwrap();
        assert_eq!(ask(&mut server, 1, ping(0), 100).unwrap().0.stamp, 1);
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
}
