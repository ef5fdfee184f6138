//! Receiving a stream of datagrams that the server sends.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};
use plumb_wire::datagram::{Account, Ask, Begin, Head, Kind, Sending};

use super::arrivals::Arrivals;
use super::talk::DatagramTalk;
use super::words;
use crate::account;

/// The longest wait for a datagram.
const RECEIVE_MAX: Span = Span::from_ms(20);
/// So often the server is asked for a stream that has not begun, or that should be over.
const ASK_SOON_NS: u64 = 100_000_000;
/// So often it is told that the stream is still wanted.
const ASK_NS: u64 = 500_000_000;
/// Nothing is longer.
const BUFFER_BYTES: usize = 64 << 10;

/// A stream that the server sends.
#[derive(Debug)]
pub(super) struct Coming {
    talk: DatagramTalk,
    key: u64,
    bytes: AtomicU64,
    lost: AtomicU64,
    over: AtomicBool,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct CameIn {
    /// What this side counted, with what the server sent, as far as it said so.
    pub(super) account: Account,
    /// The server said what it sent in all.
    pub(super) is_told: bool,
    /// Datagrams that the kernel of the server had no room for.
    pub(super) unsent: u64,
    pub(super) overflowed: Option<u64>,
    pub(super) cpu_ns: u64,
    pub(super) server_cpu_ns: u64,
    pub(super) trouble: Option<String>,
}

/// What the server said of it so far.
#[derive(Debug, Default)]
struct Told {
    begun: bool,
    /// What it sent in all, once that is known.
    all: Option<Account>,
    /// When anything came last, and a datagram that had not come before.
    heard_ns: u64,
    new_ns: u64,
}

impl Coming {
    pub(super) fn new(talk: DatagramTalk, key: u64) -> Self {
        let (bytes, lost, over) = Default::default();
        Self { talk, key, bytes, lost, over }
    }

    /// The socket over which it comes.
    pub(super) fn talk(&self) -> &DatagramTalk {
        &self.talk
    }

    /// Bytes that came so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Datagrams that are known as lost so far.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Nothing more comes.
    pub(super) fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Has the stream sent, and receives it to its end.
    pub(super) fn receive(
        &self,
        settled: Result<(), String>,
        sending: Sending,
        patience: Span,
        stop: &Stop,
    ) -> CameIn {
        let mut arrivals = Arrivals::default();
        let mut told = Told::default();
        let ended = settled
            .and_then(|()| self.receive_all(&mut arrivals, &mut told, sending, patience, stop));
        self.over.store(true, Ordering::Relaxed);
        let server = told.all.unwrap_or_default();
        let cpu = account::of_thread();
        CameIn {
            account: Account { sent: server.sent, ..arrivals.account(told.all.map(|it| it.sent)) },
            is_told: told.all.is_some(),
            unsent: server.lost,
            overflowed: self.talk.socket.overflowed(),
            cpu_ns: cpu.user_ns + cpu.system_ns,
            server_cpu_ns: server.cpu_ns,
            trouble: ended.err(),
        }
    }

    fn receive_all(
        &self,
        arrivals: &mut Arrivals,
        told: &mut Told,
        sending: Sending,
        patience: Span,
        stop: &Stop,
    ) -> Result<(), String> {
        let words = |error: io::Error| error.to_string();
        let socket = &self.talk.socket;
        socket.limit_receives(RECEIVE_MAX).map_err(words)?;
        let settle_ns = self.talk.settle_ns();
        let mut buffer = vec![0; BUFFER_BYTES];
        let (mut ask_at, mut asked) = (0, 0);
        let began = MonotonicClock.now_ns();
        let until = began.saturating_add(sending.length_ns);
        (told.heard_ns, told.new_ns) = (began, began);
        loop {
            let now = MonotonicClock.now_ns();
            if now >= ask_at {
                asked += 1;
                let question = self.question(told.begun, stop.asked(), asked, sending);
                socket.send(&question).map_err(words)?;
                let soon = !told.begun || now >= until || stop.asked();
                ask_at = now + if soon { ASK_SOON_NS } else { ASK_NS };
            }
            if let Some(bytes) = socket.receive(&mut buffer).map_err(words)? {
                self.take(&buffer[..bytes], arrivals, told)?;
            } else if stop.asked() && told.all.is_none() {
                ask_at = ask_at.min(now + RECEIVE_MAX.ns());
            }
            if let Some(all) = told.all
                && (arrivals.received().0 >= all.sent || now >= told.new_ns + settle_ns)
            {
                return Ok(());
            }
            if now >= told.heard_ns.saturating_add(patience.ns()) {
                return Err(format!("nothing came within {patience}"));
            }
        }
    }

    fn question(&self, begun: bool, over: bool, number: u64, sending: Sending) -> Vec<u8> {
        let kind = if begun { Kind::Ask } else { Kind::Begin };
        let head = Head { kind, token: self.talk.token, number, stamp: 0 };
        let mut question = head.filled(plumb_wire::datagram::HEAD_BYTES);
        if begun {
            Ask { key: self.key, ended: over.then_some(0) }.push(&mut question);
        } else {
            Begin { key: self.key, from_server: Some(sending) }.push(&mut question);
        }
        question
    }

    /// One datagram came.
    fn take(
        &self,
        datagram: &[u8],
        arrivals: &mut Arrivals,
        told: &mut Told,
    ) -> Result<(), String> {
        let Ok((head, body)) = Head::parse(datagram) else { return Ok(()) };
        let now = MonotonicClock.now_ns();
        told.heard_ns = now;
        match head.kind {
            Kind::Data => {
                told.begun = true;
                let before = arrivals.received().0;
                arrivals.note(head.number, head.stamp, datagram.len() as u64, now);
                let (received, bytes) = arrivals.received();
                if received > before {
                    told.new_ns = now;
                    self.bytes.store(bytes, Ordering::Relaxed);
                    self.lost.store(arrivals.lost(), Ordering::Relaxed);
                }
            }
            Kind::Begun => told.begun = true,
            Kind::Account => {
                let account = Account::parse(body).map_err(|error| error.to_string())?;
                if account.over && told.all.is_none() {
                    told.new_ns = now; // what was sent last may still be under way
                    told.all = Some(account);
                }
            }
            Kind::Refused => return Err(words(body)),
            _ => {}
        }
        Ok(())
    }
}
