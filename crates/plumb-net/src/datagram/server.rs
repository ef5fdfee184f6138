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
/// The bits of a token that are the mark of the hello that it answers.
const MARK_BITS: u64 = 0xffff;

/// A server of datagrams for any number of clients, of which each of up to `max_clients` is counted
/// for.
///
/// It keeps no place for whoever has not come with a token. A secret of this process makes the token of an
/// address and of what its hello said, so that no hello for an address is taken for that of another client
/// there.
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

    /// The token of an address and of a hello for it.
    fn token(&self, from: SocketAddr, mark: u64) -> u64 {
        (self.secret.hash_one((from, mark)) & !MARK_BITS) | mark
    }

    fn welcome(&mut self, from: SocketAddr, head: Head, datagram: &mut [u8]) -> Option<usize> {
        let now_ns = self.clock.now_ns();
        if !self.unproven.may(now_ns) {
            self.totals.turned_away += 1;
            return None;
        }
        let mark = self.secret.hash_one(head.stamp) & MARK_BITS;
        let token = self.token(from, mark);
        if !self.clients.greet(from, mark, now_ns) {
            return Some(self.turn_away(head, datagram));
        }
        self.totals.welcomed += 1;
        Head { kind: Kind::Welcome, token, ..head }.write(datagram);
        Some(datagram.len())
    }

    fn ping(&mut self, from: SocketAddr, head: Head, datagram: &mut [u8]) -> Option<usize> {
        let now_ns = self.clock.now_ns();
        let Some(heard) = self.clients.proven(from, mark_of(head), now_ns) else {
            return Some(self.turn_away(head, datagram));
        };
        let arrival = heard.numbers.note(head.number, |_, _| {});
        heard.messages += u64::from(matches!(arrival, Arrival::Next | Arrival::Overtaken));
        let stamp = if heard.is_whole { heard.messages } else { 0 };
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
        match self.clients.stream(from, mark_of(head), now_ns) {
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
        let Some(heard) = self.clients.proven(from, mark_of(head), now_ns) else {
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
        if self.clients.proven(from, mark_of(head), now_ns).is_none() {
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
        if head.token != self.token(from, mark_of(head)) {
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

/// The mark of the hello that the token of `head` answers.
fn mark_of(head: Head) -> u64 {
    head.token & MARK_BITS
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
mod tests;
