//! Questions and answers over UDP, each asked again until it is answered.

use std::io;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::{DatagramSocket, Endpoint, EngineError};
use plumb_measure::{Clock as _, Span};
use plumb_wire::datagram::{Account, Ask, Begin, HEAD_BYTES, Head, Kind};

use crate::NetError;

/// A question without an answer is asked again after this.
const ASK_AGAIN: Span = Span::from_ms(200);
/// Long enough for the words of a refusal.
const HELLO_BYTES: usize = 128;

/// How long datagrams may be under way after the last was sent before they count as lost: this, or
/// [`SETTLE_TRIPS`] times what a hello took, if that is longer.
const SETTLE_MIN_NS: u64 = 1_000_000_000;
const SETTLE_TRIPS: u64 = 3;

/// A socket that a server has welcomed.
#[derive(Debug)]
pub(crate) struct DatagramTalk {
    pub(crate) socket: DatagramSocket,
    endpoint: Endpoint,
    patience: Span,
    pub(crate) token: u64,
    /// How long the welcome took, tries without an answer included, nanoseconds.
    pub(crate) took_ns: u64,
    asked: u64,
}

impl DatagramTalk {
    /// Says hello to `endpoint`; every answer must come within `patience`.
    pub(crate) fn open(
        endpoint: &Endpoint,
        patience: Span,
        never_fragment: bool,
    ) -> Result<Self, NetError> {
        let socket = DatagramSocket::connect(endpoint)?;
        let set = |socket: &DatagramSocket| {
            if never_fragment {
                socket.never_fragment()?;
            }
            socket.limit_receives(ASK_AGAIN)
        };
        set(&socket).map_err(EngineError::system("set up a socket"))?;
        let mut talk =
            Self { socket, endpoint: endpoint.clone(), patience, token: 0, took_ns: 0, asked: 0 };
        let began = MonotonicClock.now_ns();
        let hello = Head { kind: Kind::Hello, token: 0, number: 0, stamp: clock::wall_ns() };
        let (welcome, _) = talk.until_answered(&hello.filled(HELLO_BYTES), Kind::Welcome)?;
        talk.token = welcome.token;
        talk.took_ns = MonotonicClock.now_ns() - began;
        Ok(talk)
    }

    /// How long nothing must come before what is missing counts as lost.
    pub(crate) fn settle_ns(&self) -> u64 {
        self.took_ns.saturating_mul(SETTLE_TRIPS).max(SETTLE_MIN_NS)
    }

    /// Asks for a stream.
    pub(crate) fn begin(&mut self, begin: Begin) -> Result<(), NetError> {
        let question = self.question(Kind::Begin, |out| begin.push(out));
        self.until_answered(&question, Kind::Begun).map(drop)
    }

    /// Asks what has become of a stream.
    pub(crate) fn account(&mut self, ask: Ask) -> Result<Account, NetError> {
        let question = self.question(Kind::Ask, |out| ask.push(out));
        let (_, body) = self.until_answered(&question, Kind::Account)?;
        Account::parse(&body).map_err(|error| self.complain(error.to_string()))
    }

    /// A datagram that asks, for whoever sends it himself.
    pub(crate) fn question(&mut self, kind: Kind, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        self.asked += 1;
        let head = Head { kind, token: self.token, number: self.asked, stamp: 0 };
        let mut datagram = head.filled(HEAD_BYTES);
        body(&mut datagram);
        datagram
    }

    fn until_answered(&self, question: &[u8], kind: Kind) -> Result<(Head, Vec<u8>), NetError> {
        let number = Head::parse(question).map_or(0, |(head, _)| head.number);
        let until = MonotonicClock.now_ns().saturating_add(self.patience.ns());
        let mut answer = vec![0; 64 << 10];
        let mut ask = true;
        while MonotonicClock.now_ns() < until {
            if ask {
                self.socket.send(question).map_err(|error| self.broken(&error))?;
            }
            let came = self.socket.receive(&mut answer).map_err(|error| self.broken(&error))?;
            // nothing in time: the question or its answer may be lost
            ask = came.is_none();
            let Some(Ok((head, body))) = came.map(|bytes| Head::parse(&answer[..bytes])) else {
                continue;
            };
            if head.number == number && head.kind == kind {
                return Ok((head, body.to_vec()));
            }
            if head.kind == Kind::Refused {
                let words = String::from_utf8_lossy(body);
                return Err(self.complain(format!("refused: {words}")));
            }
        }
        Err(self.complain(format!(
            "did not answer within {}: is a `plumb net serve --listen udp:...` there, and does a \
             firewall let UDP through?",
            self.patience
        )))
    }

    fn broken(&self, error: &io::Error) -> NetError {
        EngineError::connect(self.endpoint.to_string(), error).into()
    }

    fn complain(&self, complaint: String) -> NetError {
        NetError::Talk { address: self.endpoint.to_string(), complaint }
    }
}
