//! Pages, asked for in turn over HTTP/2: several requests under way on one connection.

#[cfg(test)]
mod tests;

use plumb_engine::{Next, Op, Protocol, Step, Then};
use plumb_http2::{Client, ErrorCode, Event, Fault, Head, NoRequest, Request, Violation, field};
use plumb_measure::{Answer, FailureKind, Http2Figures, ServerTimes, TraceId};
use plumb_trace::{PARENT, Traces, traced_answer, write_parent_value};
use plumb_wire::http::{RawHead, Scheme};

use super::{Judge, Limits, Round, not_http2};

/// An HTTP/2 client that asks for pages in turn, as many at a time on a connection as the plan and
/// the server allow. The rounds are those of [`Probe`](super::Probe).
#[derive(Clone, Debug)]
pub(crate) struct MultiplexedProbe {
    requests: Vec<Request>,
    judge: Judge,
    seed: u64,
    /// Nobody agreed on HTTP/2, as is done while a connection is encrypted.
    by_prior_knowledge: bool,
    /// Every answer ends its connection.
    closes: bool,
    traces: Option<Traces>,
    figures: Http2Figures,
    /// The last head of the first page, as HTTP/1.1 writes it.
    last_head: Vec<u8>,
    /// What a request has beside what all have.
    further: Vec<u8>,
}

/// One connection.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    client: Client,
    opened: bool,
    stands: bool,
    /// By their slots.
    coming: Vec<Coming>,
    /// Slots of answers that have begun, of which nobody has been told yet.
    begun: Vec<u16>,
    /// What the last heads told, by the labels of their answers, and the numbers of those heads.
    told: Vec<(u64, ServerTimes)>,
}

/// An answer that is due.
#[derive(Clone, Copy, Debug, Default)]
struct Coming {
    label: u16,
    status: Option<u16>,
    content: u64,
    told: ServerTimes,
    trace: Option<TraceId>,
}

impl MultiplexedProbe {
    /// A client that sends `requests`, complete bytes of HTTP/1.1, in turn to a server of `scheme`. The
    /// order within a round is drawn from `seed`.
    ///
    /// # Errors
    /// [`NoRequest`] when one has no form in HTTP/2.
    pub(crate) fn new(
        requests: &[Vec<u8>],
        scheme: Scheme,
        limits: Limits,
        seed: u64,
    ) -> Result<Self, NoRequest> {
        let by_prior_knowledge = scheme == Scheme::Http;
        let scheme = if by_prior_knowledge { "http" } else { "https" };
        let of_http1 = |bytes: &Vec<u8>| Request::of_http1(bytes, scheme);
        let requests: Result<Vec<_>, _> = requests.iter().map(of_http1).collect();
        Ok(Self {
            requests: requests?,
            judge: Judge::new(limits),
            seed,
            by_prior_knowledge,
            closes: false,
            traces: None,
            figures: Http2Figures::default(),
            last_head: Vec::new(),
            further: Vec::new(),
        })
    }

    /// The same client, each of whose requests belongs to one of `traces`.
    #[must_use]
    pub(crate) fn traced(mut self, traces: Option<Traces>) -> Self {
        self.traces = traces;
        self
    }

    /// The same client, which asks for each page on a new connection.
    #[must_use]
    pub(crate) fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    /// Number of the pages, each a row of the records.
    pub(crate) fn pages(&self) -> usize {
        self.requests.len()
    }

    /// Who judges its answers.
    pub(crate) fn judge(&self) -> &Judge {
        &self.judge
    }

    /// What its connections did.
    pub(crate) fn figures(&self) -> &Http2Figures {
        &self.figures
    }

    /// The last head of the first page, as HTTP/1.1 writes it.
    pub(crate) fn last_head(&self) -> &[u8] {
        &self.last_head
    }

    /// Begins a stream that asks for the page `label`.
    fn begin(&mut self, label: u16, wire: &mut Streams, out: &mut Vec<u8>) -> Op {
        let trace = self.traces.as_ref().and_then(Traces::next);
        self.further.clear();
        if let Some(trace) = trace {
            let mut value = Vec::new();
            write_parent_value(trace, &mut value);
            field(PARENT, &value, &mut self.further);
        }
        let request = &self.requests[usize::from(label)];
        let tag = wire.client.begin(request, label, &self.further, out);
        let slot = usize::from(tag);
        if slot >= wire.coming.len() {
            wire.coming.resize(slot + 1, Coming::default());
        }
        wire.coming[slot] = Coming { label, trace, ..Coming::default() };
        self.figures.streams += 1;
        if let Some(allowed) = wire.client.allowed_streams().map(u64::from) {
            let least = self.figures.streams_allowed.map_or(allowed, |least| least.min(allowed));
            self.figures.streams_allowed = Some(least);
        }
        let at_once = &mut self.figures.streams_at_once;
        *at_once = (*at_once).max(wire.client.under_way() as u64);
        Op { label, tag }
    }

    /// The head of an answer; what ends the stream before its end, if anything does.
    #[inline]
    fn head(&mut self, wire: &mut Streams, slot: u16, head: Head) -> Option<FailureKind> {
        let coming = wire.coming.get_mut(usize::from(slot))?;
        coming.status = Some(head.status);
        if coming.label == 0 && self.last_head.is_empty() {
            self.last_head.extend_from_slice(wire.client.lines(0));
        }
        if head.tells_times {
            let label = usize::from(coming.label);
            if label >= wire.told.len() {
                wire.told.resize(label + 1, (0, ServerTimes::default()));
            }
            let told = &mut wire.told[label];
            if told.0 != head.number {
                let lines = RawHead::new(wire.client.lines(coming.label));
                *told = (head.number, self.judge.heard.read(&lines));
            }
            coming.told = told.1;
        }
        let is_bare =
            matches!(head.status, 204 | 304) || self.requests[usize::from(coming.label)].is_head();
        let announced = head.length.filter(|_| !is_bare).unwrap_or(0);
        self.judge.too_large(announced).then_some(FailureKind::BodyTooLarge)
    }

    /// The answer on `slot` is complete.
    #[inline]
    fn complete(&mut self, wire: &mut Streams, slot: u16, consumed: usize) -> Step {
        let coming = wire.coming.get(usize::from(slot)).copied().unwrap_or_default();
        let status = coming.status.unwrap_or(0);
        let answer = self.judge.judge(status, coming.content, coming.told);
        self.done(wire, slot, consumed, traced_answer(answer, coming.trace))
    }

    /// The stream on `slot` failed; the connection goes on.
    fn failed(
        &mut self,
        wire: &mut Streams,
        slot: u16,
        consumed: usize,
        kind: FailureKind,
    ) -> Step {
        let code = wire.coming.get(usize::from(slot)).and_then(|coming| coming.status);
        self.done(wire, slot, consumed, Answer { code, ..Answer::failed(kind) })
    }

    #[inline]
    fn done(&mut self, wire: &mut Streams, slot: u16, consumed: usize, answer: Answer) -> Step {
        if wire.begun.last() == Some(&slot) {
            wire.begun.pop();
        }
        let over = wire.client.is_over();
        if over && wire.client.farewell() == Some(ErrorCode::NO_ERROR) {
            self.figures.farewells += 1;
        }
        let then = if over || self.closes { Then::Close } else { Then::Keep };
        Step::DoneOf { consumed, tag: slot, answer, then }
    }

    /// Counts a stream that ended with an error, and says what the failure is.
    fn stream_error(&mut self, code: ErrorCode, what: &str) -> FailureKind {
        *self.figures.stream_errors.entry(code.to_string()).or_default() += 1;
        self.judge.complain(|| what.to_owned());
        match code {
            ErrorCode::REFUSED_STREAM => FailureKind::StreamRefused,
            _ => FailureKind::StreamReset,
        }
    }

    /// No request is under way, and the server ends the connection.
    fn left(&mut self, code: ErrorCode, consumed: usize) -> Step {
        if code == ErrorCode::NO_ERROR {
            self.figures.farewells += 1;
        } else {
            *self.figures.connection_errors.entry(code.to_string()).or_default() += 1;
        }
        self.judge.complain(|| format!("ended the connection ({code})"));
        Step::Leave { consumed }
    }

    /// The server broke the protocol.
    fn broken(&mut self, stands: bool, why: Violation, bytes: &[u8]) -> Step {
        if stands {
            *self.figures.connection_errors.entry(why.code.to_string()).or_default() += 1;
        }
        self.judge.complain(|| if stands { why.to_string() } else { not_http2(bytes) });
        Step::broken(FailureKind::Garbled, bytes.len(), None)
    }

    /// Bytes without an event: has the connection come to stand, or is nothing to be hoped for?
    fn between(&mut self, wire: &mut Streams, consumed: usize) -> Step {
        let allowed = wire.client.allowed_streams();
        if !wire.stands && wire.client.stands() && allowed != Some(0) {
            wire.stands = true;
            self.figures.connections += 1;
            return Step::Done { consumed, answer: Answer::ok(0), then: Then::Keep };
        }
        if wire.stands && allowed == Some(0) && wire.client.under_way() == 0 {
            self.judge.complain(|| "allows no streams any more".into());
            return Step::Leave { consumed };
        }
        if consumed > 0 { Step::Aside { consumed } } else { Step::Need { consumed } }
    }
}

impl Protocol for MultiplexedProbe {
    const MULTIPLEXED: bool = true;

    type User = Round;
    type Wire = Streams;

    fn user(&mut self, n: usize) -> Round {
        Round::new(self.requests.len(), self.seed, n)
    }

    fn hello(&mut self, _: &mut Round, wire: &mut Streams, out: &mut Vec<u8>) -> Option<Op> {
        let first = !std::mem::replace(&mut wire.opened, true);
        first.then(|| {
            wire.client.open(out);
            Op { label: 0, tag: 0 }
        })
    }

    fn encode(&mut self, user: &mut Round, wire: &mut Streams, out: &mut Vec<u8>) -> Next {
        match user.next() {
            None => Next::Finish,
            Some(label) => Next::Send(self.begin(label, wire, out)),
        }
    }

    fn encode_again(&mut self, _: &mut Round, wire: &mut Streams, op: Op, out: &mut Vec<u8>) -> Op {
        self.figures.sent_again += 1;
        self.begin(op.label, wire, out)
    }

    fn takes_more(&self, wire: &Streams) -> bool {
        wire.client.takes_more()
    }

    fn begun(&mut self, wire: &mut Streams) -> Option<u16> {
        wire.begun.pop()
    }

    fn cancel(&mut self, wire: &mut Streams, op: Op, out: &mut Vec<u8>) -> bool {
        wire.client.cancel(op.tag, out) && !wire.client.is_over()
    }

    fn decode(
        &mut self,
        _: &mut Round,
        wire: &mut Streams,
        _: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        let mut at = 0;
        loop {
            let (taken, event) = match wire.client.read(&bytes[at..], out) {
                Ok(read) => read,
                Err(why) => return self.broken(wire.stands, why, bytes),
            };
            at += taken;
            match event {
                Event::None => return self.between(wire, at),
                Event::Head { slot, head, ends } => {
                    if let Some(kind) = self.head(wire, slot, head) {
                        wire.client.cancel(slot, out);
                        return self.failed(wire, slot, at, kind);
                    }
                    if ends {
                        return self.complete(wire, slot, at);
                    }
                    wire.begun.push(slot);
                }
                Event::Content { slot, bytes, ends } => {
                    let Some(coming) = wire.coming.get_mut(usize::from(slot)) else { continue };
                    coming.content += bytes.len() as u64;
                    if self.judge.too_large(coming.content) {
                        wire.client.cancel(slot, out);
                        return self.failed(wire, slot, at, FailureKind::BodyTooLarge);
                    }
                    if ends {
                        return self.complete(wire, slot, at);
                    }
                }
                Event::Ended { slot } => return self.complete(wire, slot, at),
                Event::Reset { slot, code } => {
                    let kind = self.stream_error(code, &format!("ended a stream ({code})"));
                    return self.failed(wire, slot, at, kind);
                }
                Event::Faulty { slot, fault } => {
                    let kind = match fault {
                        Fault::HeadTooLarge => FailureKind::HeadTooLarge,
                        Fault::Malformed(_) => FailureKind::Garbled,
                    };
                    self.stream_error(ErrorCode::PROTOCOL_ERROR, &fault.to_string());
                    return self.failed(wire, slot, at, kind);
                }
                Event::Unprocessed { slot } => {
                    return Step::Unprocessed { consumed: at, tag: slot };
                }
                Event::Failed { slot, code } => {
                    self.judge.complain(|| format!("ended the connection ({code})"));
                    let answer = Answer::failed(FailureKind::ConnectionError);
                    return Step::DoneOf { consumed: at, tag: slot, answer, then: Then::Keep };
                }
                Event::Left { code } => return self.left(code, at),
            }
        }
    }

    fn eof(&mut self, _: &mut Round, _: &mut Streams, _: Op) -> Answer {
        self.judge.complain(|| "closed the connection before it answered".into());
        Answer::failed(FailureKind::Closed)
    }

    fn complaint(&self) -> Option<String> {
        self.judge.complaint()
    }

    fn ungreeted(&self) -> Option<String> {
        self.by_prior_knowledge.then(|| not_http2(b""))
    }
}
