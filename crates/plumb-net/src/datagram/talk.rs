//! Questions and answers over UDP, each asked again until it is answered.

use std::io;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::{DatagramSocket, Endpoint, EngineError};
use plumb_measure::{Clock as _, Span};
use plumb_wire::datagram::{Account, Ask, Begin, HEAD_BYTES, Head, Kind};

use super::words;
use crate::NetError;

/// A question without an answer is asked again after this.
const ASK_AGAIN: Span = Span::from_ms(200);
/// So many questions are asked before the first is answered: a socket has room for as many.
const ASKED_TOGETHER: usize = 32;
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
        let (welcome, _) = talk.until_answered(hello.filled(HELLO_BYTES), Kind::Welcome)?;
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
        self.until_answered(question, Kind::Begun).map(drop)
    }

    /// Asks what has become of each of these streams.
    pub(crate) fn accounts(&mut self, asks: &[Ask]) -> Result<Vec<Account>, NetError> {
        let mut accounts = Vec::with_capacity(asks.len());
        for some in asks.chunks(ASKED_TOGETHER) {
            let questions: Vec<_> =
                some.iter().map(|ask| self.question(Kind::Ask, |out| ask.push(out))).collect();
            for (_, body) in self.until_all_answered(&questions, Kind::Account)? {
                let account = Account::parse(&body);
                accounts.push(account.map_err(|error| self.complain(error.to_string()))?);
            }
        }
        Ok(accounts)
    }

    /// A datagram that asks, for whoever sends it himself.
    pub(crate) fn question(&mut self, kind: Kind, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        self.asked += 1;
        let head = Head { kind, token: self.token, number: self.asked, stamp: 0 };
        let mut datagram = head.filled(HEAD_BYTES);
        body(&mut datagram);
        datagram
    }

    fn until_answered(&self, question: Vec<u8>, kind: Kind) -> Result<(Head, Vec<u8>), NetError> {
        let answers = self.until_all_answered(&[question], kind)?;
        answers.into_iter().next().ok_or_else(|| self.silent())
    }

    /// The answers to `questions`, whose numbers follow each other, in their order.
    fn until_all_answered(
        &self,
        questions: &[Vec<u8>],
        kind: Kind,
    ) -> Result<Vec<(Head, Vec<u8>)>, NetError> {
        let first = questions.first().and_then(|question| Head::parse(question).ok());
        let first = first.map_or(0, |(head, _)| head.number);
        let until = MonotonicClock.now_ns().saturating_add(self.patience.ns());
        let mut answers: Vec<Option<(Head, Vec<u8>)>> = vec![None; questions.len()];
        let mut buffer = vec![0; 64 << 10];
        let mut ask = true;
        while answers.iter().any(Option::is_none) {
            if MonotonicClock.now_ns() >= until {
                return Err(self.silent());
            }
            for (question, _) in
                questions.iter().zip(&answers).filter(|(_, answer)| ask && answer.is_none())
            {
                self.socket.send(question).map_err(|error| self.broken(&error))?;
            }
            let came = self.socket.receive(&mut buffer).map_err(|error| self.broken(&error))?;
            // nothing in time: a question or its answer may be lost
            ask = came.is_none();
            let Some(Ok((head, body))) = came.map(|bytes| Head::parse(&buffer[..bytes])) else {
                continue;
            };
            if head.kind == Kind::Refused {
                return Err(self.complain(format!("refused: {}", words(body))));
            }
            let at = head.number.checked_sub(first).and_then(|at| usize::try_from(at).ok());
            if let Some(answer) = at.and_then(|at| answers.get_mut(at))
                && head.kind == kind
            {
                answer.get_or_insert((head, body.to_vec()));
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    fn silent(&self) -> NetError {
        self.complain(format!(
            "did not answer within {}: is a `plumb net serve --listen udp:...` there, and does a \
             firewall let UDP through?",
            self.patience
        ))
    }

    fn broken(&self, error: &io::Error) -> NetError {
        EngineError::connect(self.endpoint.to_string(), error).into()
    }

    fn complain(&self, complaint: String) -> NetError {
        NetError::Talk { address: self.endpoint.to_string(), complaint }
    }
}
