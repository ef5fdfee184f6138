//! A client of two lock servers that goes to the other one when the one it asks does not serve.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use plumb_wire::resp;

use super::gate::Gate;
use super::link::LOOK;
use crate::linear::Event;
use crate::linear::call::{Call, Reply};
use crate::linear::chooser::Chooser;

/// Calls of a client between two pauses of all.
pub(super) const CALLS: usize = 2;
/// What is read of one answer at most.
pub(super) const LIMITS: resp::ReplyLimits = resp::ReplyLimits { bytes: 1 << 20, items: 100_000 };

/// Every event has a moment of its own, in the order in which they happened.
pub(super) fn moment(moments: &AtomicU64) -> u64 {
    moments.fetch_add(1, Ordering::SeqCst)
}

/// A connection, and what came over it that was not read yet.
struct Wire {
    stream: TcpStream,
    kept: Vec<u8>,
}

pub(super) struct Player<'a> {
    number: usize,
    chooser: Chooser,
    /// So many calls are under way at the same time.
    depth: usize,
    servers: [String; 2],
    target: usize,
    wire: Option<Wire>,
    moments: &'a AtomicU64,
    pub(super) seen: Vec<Event>,
    /// Which of them nobody knows to be done, and may still be.
    open: Vec<usize>,
}

impl<'a> Player<'a> {
    pub(super) fn new(
        number: usize,
        (seed, depth): (u64, usize),
        servers: [String; 2],
        moments: &'a AtomicU64,
    ) -> Self {
        let chooser = Chooser::new(seed * 1_000 + number as u64);
        let (seen, open, wire) = (Vec::new(), Vec::new(), None);
        Self { number, chooser, depth, servers, target: 0, wire, moments, seen, open }
    }

    /// Plays every round that the gate lets it into.
    pub(super) fn play(&mut self, gate: &Gate) {
        while gate.enter() {
            let mut left = CALLS;
            while left > 0 && !gate.is_over() {
                left -= self.ask(left.min(self.depth), gate);
            }
        }
    }

    /// Asks so many calls at once; how many of them are done, or may be.
    fn ask(&mut self, count: usize, gate: &Gate) -> usize {
        if self.wire.is_none() && !self.connect() {
            return 0;
        }
        let Some(wire) = &mut self.wire else { return 0 };
        let (mut bytes, mut calls) = (Vec::new(), VecDeque::new());
        for _ in 0..count {
            let call = self.chooser.next_call();
            let mut words = call.words();
            if words[0] == b"ENQ" {
                words.insert(2, b"KEEP".to_vec()); // connections come and go here
            }
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            resp::push_command(&mut bytes, &words);
            calls.push_back((call, moment(self.moments)));
        }
        let mut alive = wire.stream.write_all(&bytes).is_ok();
        let (mut done, mut refused) = (0, false);
        while alive && let Some((call, asked)) = calls.front().cloned() {
            let Some(reply) = wire.reply(gate) else {
                alive = false;
                break;
            };
            calls.pop_front();
            match &reply {
                Reply::Other(text)
                    if text.starts_with("READONLY") || text.starts_with("NOREPLICAS") =>
                {
                    refused = true; // nothing was done
                }
                _ => {
                    let answered = moment(self.moments);
                    // whoever answers now has all of what was done before
                    self.open.drain(..).for_each(|at| self.seen[at].answered = answered);
                    self.chooser.note(&call, &reply);
                    self.seen.push(Event { client: self.number, call, reply, asked, answered });
                    done += 1;
                }
            }
        }
        if !alive || refused {
            self.wire = None;
            self.target = 1 - self.target;
            thread::park_timeout(5 * LOOK);
        }
        for (call, asked) in calls {
            self.open.push(self.seen.len());
            let (client, reply, answered) = (self.number, Reply::Unknown, u64::MAX);
            self.seen.push(Event { client, call, reply, asked, answered });
            done += 1;
        }
        done
    }

    fn connect(&mut self) -> bool {
        match TcpStream::connect(&self.servers[self.target]) {
            Ok(stream) => {
                stream.set_nodelay(true).expect("a socket of TCP");
                stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a time-out");
                self.wire = Some(Wire { stream, kept: Vec::new() });
                true
            }
            Err(_) => {
                self.target = 1 - self.target;
                thread::park_timeout(5 * LOOK);
                false
            }
        }
    }
}

impl Wire {
    /// The next answer; `None` when the connection has ended, or all is over.
    fn reply(&mut self, gate: &Gate) -> Option<Reply> {
        let mut room = [0; 4096];
        loop {
            let found = resp::reply(&self.kept, &LIMITS).expect("it is RESP");
            if let Some((found, taken)) = found {
                let reply = Reply::of(found);
                self.kept.drain(..taken);
                return Some(reply);
            }
            match self.stream.read(&mut room) {
                Ok(0) => return None,
                Ok(count) => self.kept.extend_from_slice(&room[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    if gate.is_over() {
                        return None;
                    }
                }
                Err(_) => return None,
            }
        }
    }
}

/// What a history is made of beside the calls of clients: a server took over.
pub(super) fn take_over(client: usize, fences: u64, (asked, answered): (u64, u64)) -> Event {
    let (call, reply) = (Call::TakeOver { fences }, Reply::Number(fences));
    Event { client, call, reply, asked, answered }
}
