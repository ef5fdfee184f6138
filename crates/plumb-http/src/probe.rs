//! Pages, asked for in turn: over HTTP/1.1 here, over HTTP/2 in `probe/multiplexed.rs`.

mod judge;
mod multiplexed;
mod round;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use plumb_engine::{Next, Op, Protocol, StampedRequests, Step, Then};
use plumb_measure::{Answer, FailureKind, Outcome, Residence, ServerHalf, ServerTimes};
use plumb_wire::http::{Ask, Body, Framing, Head, HeadError, Memo, RawHead, ends_idle_connection};

pub(crate) use judge::Judge;
pub use judge::Limits;
pub(crate) use multiplexed::MultiplexedProbe;
use plumb_trace::{Traces, behind_the_first_line, traced_answer, traced_step, write_parent};
use round::Round;

use crate::proof::{Negotiating, Negotiation};
use crate::request::insert_line;

/// Bytes of an unexpected answer that are shown.
const SHOWN_BYTES: usize = 40;

/// What is said of a server that speaks nothing else.
const ONLY_HTTP2: &str = "speaks HTTP/2 only: give --http 2";

/// How an alert of TLS and a message of its handshake begin.
const TLS_RECORDS: [&[u8]; 2] = [b"\x15\x03", b"\x16\x03"];

/// An HTTP/1.1 client that asks for pages in turn, one request at a time on a connection.
///
/// Each user asks for every page once a round, in an order that is drawn anew for each round: what
/// returns in every second or every eighth request, in the target or in the loop that drives it,
/// would otherwise always meet the same page.
#[derive(Clone, Debug)]
pub struct Probe {
    pages: Vec<Page>,
    judge: Judge,
    seed: u64,
    /// Every answer ends its connection, whatever the other side says.
    closes: bool,
    /// Each request says to which trace it belongs.
    traces: Option<Traces>,
    /// Who asks is proved.
    negotiating: Option<Negotiating>,
    /// The server is asked how long it had one request in so many.
    stamps: Option<NonZeroU32>,
}

/// One URL: what is sent, and what the last answer looked like.
#[derive(Clone, Debug)]
struct Page {
    request: Vec<u8>,
    memo: Memo,
    /// Where a header line may be put in: behind the first line.
    lines_at: usize,
    /// What the last head told, and how many heads had been parsed when it was read.
    told: (u64, ServerTimes),
}

/// An answer that is coming in; `None` between two.
#[derive(Debug, Default)]
pub struct Wire {
    coming: Option<Coming>,
    asking: StampedRequests,
    /// A ticket went over it.
    known: bool,
    negotiation: Option<Negotiation>,
}

#[derive(Debug)]
struct Coming {
    status: u16,
    keep_alive: bool,
    told: ServerTimes,
    body: Body,
    /// The server did not prove who it is.
    unproved: bool,
}

impl Probe {
    /// A client that sends `requests`, complete bytes, in turn, and whose answers are those to
    /// `ask`. The order within a round is drawn from `seed`.
    #[must_use]
    pub fn new(requests: Vec<Vec<u8>>, ask: Ask, limits: Limits, seed: u64) -> Self {
        let page = |request: Vec<u8>| Page {
            lines_at: behind_the_first_line(&request),
            request,
            memo: Memo::new(ask),
            told: (0, ServerTimes::default()),
        };
        Self {
            pages: requests.into_iter().map(page).collect(),
            judge: Judge::new(limits),
            seed,
            closes: false,
            traces: None,
            negotiating: None,
            stamps: None,
        }
    }

    /// The same client, each of whose requests belongs to one of `traces`.
    #[must_use]
    pub(crate) fn traced(mut self, traces: Option<Traces>) -> Self {
        self.traces = traces;
        self
    }

    /// The same client, which proves who asks.
    #[must_use]
    pub(crate) fn negotiating(mut self, negotiating: Option<Negotiating>) -> Self {
        self.negotiating = negotiating;
        self
    }

    /// The same client, which asks for each page on a new connection.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    /// The same client, which asks the server how long it had one request in so many of each connection.
    /// The server tells that in a later answer, so nobody is asked who ends connections with each.
    #[must_use]
    pub(crate) fn stamped(mut self, every: Option<NonZeroU32>) -> Self {
        self.stamps = every.filter(|_| !self.closes);
        self
    }

    /// Number of the pages, each a row of the records.
    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Who judges its answers.
    pub(crate) fn judge(&self) -> &Judge {
        &self.judge
    }

    /// The bytes of the last head that came for page `number`.
    pub(crate) fn last_head(&self, number: usize) -> &[u8] {
        self.pages.get(number).map_or(&[], |page| page.memo.last())
    }

    /// The head at the start of `bytes`.
    fn head(&mut self, page: usize, wire: &mut Wire, bytes: &[u8]) -> Step {
        let (head, length) = match self.pages[page].memo.read(bytes) {
            Ok(Some(found)) => found,
            Ok(None) => return Step::Need { consumed: 0 },
            Err(error) => return self.bad_head(error, bytes),
        };
        if head.interim() {
            return Step::Aside { consumed: length };
        }
        if wire.asking.expects() {
            wire.asking.read(&RawHead::new(self.pages[page].memo.last()));
        }
        let coming = Coming {
            status: head.status,
            keep_alive: head.keep_alive,
            told: if head.tells_times { self.told(page) } else { ServerTimes::default() },
            body: Body::new(head.framing),
            unproved: self.is_unproved(page, wire, head.status),
        };
        if let Some(step) = self.too_large(head, length) {
            return step;
        }
        self.body(wire, coming, bytes, length)
    }

    /// Goes on with the body of `coming`, whose bytes begin at `from`.
    fn body(&mut self, wire: &mut Wire, mut coming: Coming, bytes: &[u8], from: usize) -> Step {
        let taken = match coming.body.take(&bytes[from..]) {
            Ok(taken) => taken,
            Err(error) => {
                let text = || format!("sent a body that cannot be read: {error}");
                return self.wrong(FailureKind::Garbled, bytes.len(), Some(coming.status), text);
            }
        };
        let consumed = from + taken.consumed;
        if self.judge.too_large(coming.body.content()) {
            return Step::broken(FailureKind::BodyTooLarge, bytes.len(), Some(coming.status));
        }
        if !taken.complete {
            wire.coming = Some(coming);
            return Step::Need { consumed };
        }
        if consumed < bytes.len() {
            let text = || "sent more bytes than its head announced".to_owned();
            return self.wrong(FailureKind::Garbled, bytes.len(), Some(coming.status), text);
        }
        let then = if coming.keep_alive && !self.closes { Then::Keep } else { Then::Close };
        Step::Done { consumed, answer: self.answer(&coming), then }
    }

    /// A complete answer.
    fn answer(&mut self, coming: &Coming) -> Answer {
        let answer = self.judge.judge(coming.status, coming.body.content(), coming.told);
        match answer.outcome {
            Outcome::Ok if coming.unproved => {
                Answer { outcome: Outcome::Failed(FailureKind::CheckFailed), ..answer }
            }
            _ => answer,
        }
    }

    /// True when the server was to prove who it is with the head that was just read, and did not.
    fn is_unproved(&mut self, page: usize, wire: &mut Wire, status: u16) -> bool {
        let negotiation = wire.negotiation.take().filter(|_| status != 401);
        let proved = negotiation.map_or(Ok(()), |it| it.proved(self.pages[page].memo.last()));
        if let Err(why) = &proved {
            self.judge.complain(|| why.clone());
        }
        proved.is_err()
    }

    /// Puts a ticket into the request in `out` that begins at `begins`, where one is due.
    fn prove(&self, wire: &mut Wire, begins: usize, out: &mut Vec<u8>) -> Result<(), String> {
        let Some(Negotiating { initiator, each }) = &self.negotiating else { return Ok(()) };
        if *each || !std::mem::replace(&mut wire.known, true) {
            let mut begun = Negotiation::begin(initiator).map_err(|error| error.to_string())?;
            if let Some(value) = begun.take() {
                insert_line("Authorization", &value, begins, out);
            }
            wire.negotiation = Some(begun);
        }
        Ok(())
    }

    /// What the head that was just read tells of the server's own time.
    fn told(&mut self, number: usize) -> ServerTimes {
        let page = &mut self.pages[number];
        if page.told.0 != page.memo.parsed() {
            let head = RawHead::new(page.memo.last());
            page.told = (page.memo.parsed(), self.judge.heard.read(&head));
        }
        page.told.1
    }

    fn too_large(&mut self, head: Head, length: usize) -> Option<Step> {
        match head.framing {
            Framing::Length(bytes) if self.judge.too_large(bytes) => {
                Some(Step::broken(FailureKind::BodyTooLarge, length, Some(head.status)))
            }
            _ => None,
        }
    }

    fn bad_head(&mut self, error: HeadError, bytes: &[u8]) -> Step {
        self.wrong(unreadable_head(error), bytes.len(), None, || bad_head(error, bytes))
    }

    /// An answer that cannot be read to its end: the connection cannot be trusted any more.
    fn wrong(
        &mut self,
        kind: FailureKind,
        consumed: usize,
        code: Option<u16>,
        complaint: impl FnOnce() -> String,
    ) -> Step {
        self.judge.complain(complaint);
        Step::broken(kind, consumed, code)
    }
}

impl Protocol for Probe {
    type User = Round;
    type Wire = Wire;

    fn user(&mut self, n: usize) -> Round {
        Round::new(self.pages.len(), self.seed, n)
    }

    fn encode(&mut self, user: &mut Round, wire: &mut Wire, out: &mut Vec<u8>) -> Next {
        let Some(label) = user.next() else {
            return Next::Finish;
        };
        let Page { request, lines_at, .. } = &self.pages[usize::from(label)];
        user.trace = self.traces.as_ref().and_then(Traces::next);
        let begins = out.len();
        match user.trace {
            None => out.extend_from_slice(request),
            Some(trace) => {
                let (first, others) = request.split_at(*lines_at);
                out.extend_from_slice(first);
                write_parent(trace, out);
                out.extend_from_slice(others);
            }
        }
        if let Err(why) = self.prove(wire, begins, out) {
            self.judge.complain(|| why);
            return Next::Fail(Op { label, tag: 0 }, FailureKind::NotSent);
        }
        if let Some(every) = self.stamps {
            wire.asking.ask(every, begins, out);
        }
        Next::Send(Op { label, tag: 0 })
    }

    #[inline]
    fn decode(
        &mut self,
        user: &mut Round,
        wire: &mut Wire,
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let Some(op) = op else {
            match ends_idle_connection(bytes) {
                Some(true) => return Step::Leave { consumed: bytes.len() },
                Some(false) => {}
                None => return Step::Need { consumed: 0 },
            }
            let text = || match speaks_http2(bytes) {
                true => ONLY_HTTP2.to_owned(), // it does not wait to be asked
                false => "sent bytes that nobody asked for".to_owned(),
            };
            return self.wrong(FailureKind::Garbled, bytes.len(), None, text);
        };
        let step = match wire.coming.take() {
            None => self.head(usize::from(op.label), wire, bytes), // most answers come whole
            Some(coming) => self.body(wire, coming, bytes, 0),
        };
        traced_step(step, user.trace)
    }

    /// A body without a length is complete when the connection ends; any other was cut.
    fn eof(&mut self, user: &mut Round, wire: &mut Wire, _: Op) -> Answer {
        match wire.coming.take() {
            Some(coming) if coming.body.ends_with_the_connection() => {
                traced_answer(self.answer(&coming), user.trace)
            }
            cut => {
                self.judge.complain(|| match &cut {
                    Some(coming) => format!(
                        "closed the connection after {} bytes of a longer body",
                        coming.body.content()
                    ),
                    None => "closed the connection before it answered".to_owned(),
                });
                let code = cut.map(|coming| coming.status);
                Answer { code, ..Answer::failed(FailureKind::Closed) }
            }
        }
    }

    fn tells_residence(&self, wire: &Wire) -> bool {
        wire.asking.tells()
    }

    fn residence(&mut self, wire: &mut Wire) -> Option<(u32, Residence)> {
        wire.asking.take()
    }

    fn server_half(&self, answer: &Answer) -> ServerHalf {
        answer.told.map_or(ServerHalf::Unknown, |told| self.judge.heard.server_half(told))
    }

    fn complaint(&self) -> Option<String> {
        self.judge.complaint()
    }
}

/// What an answer without a head is counted as.
pub(crate) fn unreadable_head(error: HeadError) -> FailureKind {
    match error {
        HeadError::TooLong | HeadError::TooManyLines => FailureKind::HeadTooLarge,
        HeadError::NoHttp(_) | HeadError::Framing(_) => FailureKind::Garbled,
    }
}

/// What is said of an answer without a head.
pub(crate) fn bad_head(error: HeadError, bytes: &[u8]) -> String {
    match error {
        HeadError::NoHttp(_) if TLS_RECORDS.iter().any(|start| bytes.starts_with(start)) => {
            "speaks TLS: write https://".to_owned()
        }
        HeadError::NoHttp(_) if speaks_http2(bytes) => ONLY_HTTP2.to_owned(),
        HeadError::NoHttp(_) => format!(
            "does not speak HTTP/1.1: it answered `{}`; is that the port of an HTTP server?",
            show(bytes)
        ),
        _ => format!("cannot be measured: {error}"),
    }
}

/// True for settings of HTTP/2, which a server that speaks nothing else sends first.
fn speaks_http2(bytes: &[u8]) -> bool {
    matches!(bytes, [0, 0, _, 4, 0, 0, 0, 0, 0, ..])
}

/// What is said of a server that answered HTTP/2 with these bytes; with none it closed the connection.
pub(crate) fn not_http2(bytes: &[u8]) -> String {
    if TLS_RECORDS.iter().any(|start| bytes.starts_with(start)) {
        return "speaks TLS: write https://".to_owned();
    }
    if bytes.is_empty() {
        return "closed the connection before it answered; it may speak no HTTP/2 without TLS: leave \
                --http 2 out"
            .to_owned();
    }
    format!("does not speak HTTP/2: it answered `{}`; leave --http 2 out", show(bytes))
}

fn show(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    line[..line.len().min(SHOWN_BYTES)].escape_ascii().to_string()
}
