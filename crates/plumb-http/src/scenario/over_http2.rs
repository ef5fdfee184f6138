//! The users of a scenario over HTTP/2: what a player asks for as HTTP/1.1 writes it becomes a stream,
//! and what comes back becomes an answer of HTTP/1.1 again. One stream at a time on a connection.

#[cfg(test)]
mod tests;

use plumb_engine::{After, Next, Op, OpEnd, OperationGroup, Protocol, Step, Then};
use plumb_http2::{Client, ErrorCode, Event, Fault, Head, Request};
use plumb_measure::{Answer, FailureKind, Http2Figures};
use plumb_wire::http::Scheme;

/// A client that keeps what it asks for under its own form until a connection takes it.
#[derive(Debug)]
pub(crate) struct OverHttp2<P> {
    inner: P,
    /// How each route is reached, the first first.
    schemes: Vec<Scheme>,
    /// What the player asked for.
    asked: Vec<u8>,
    figures: Http2Figures,
    complaint: Option<String>,
}

/// One connection.
#[derive(Debug, Default)]
pub(crate) struct OneStream<W> {
    client: Client,
    opened: bool,
    stands: bool,
    inner: W,
    /// The request under way.
    current: Option<Current>,
    /// What the player has not taken yet.
    text: Vec<u8>,
}

/// The request under way.
#[derive(Clone, Copy, Debug)]
struct Current {
    slot: u16,
    /// The answer goes on with chunks.
    chunked: bool,
    /// It is to `HEAD`.
    without_content: bool,
}

impl<P> OverHttp2<P> {
    /// `inner` over HTTP/2, to servers of `schemes`.
    pub(crate) fn new(inner: P, schemes: Vec<Scheme>) -> Self {
        let (asked, figures) = (Vec::new(), Http2Figures::default());
        Self { inner, schemes, asked, figures, complaint: None }
    }

    /// The player, and what its connections did.
    pub(crate) fn into_parts(self) -> (P, Http2Figures) {
        (self.inner, self.figures)
    }

    fn complain(&mut self, complaint: impl FnOnce() -> String) {
        self.complaint.get_or_insert_with(complaint);
    }

    fn stream_error(&mut self, code: ErrorCode, what: String) {
        *self.figures.stream_errors.entry(code.to_string()).or_default() += 1;
        self.complain(|| what);
    }

    fn connection_error(&mut self, code: ErrorCode, what: String) {
        *self.figures.connection_errors.entry(code.to_string()).or_default() += 1;
        self.complain(|| what);
    }
}

/// Names of a scheme in the first byte of what is kept for a connection.
fn scheme_name(scheme: u8) -> &'static str {
    if scheme == 1 { "https" } else { "http" }
}

impl<P: Protocol> OverHttp2<P> {
    /// Puts what the player asked for into `out`, behind a byte that says how the server is reached.
    fn keep(&mut self, route: u16, out: &mut Vec<u8>) {
        let scheme = self.schemes.get(usize::from(route)).copied().unwrap_or(Scheme::Http);
        out.push(u8::from(scheme == Scheme::Https));
        out.append(&mut self.asked);
    }

    /// Begins a stream with what was kept, and leaves what is sent in its place; nothing of a request that
    /// has no form in HTTP/2.
    fn begin(&mut self, wire: &mut OneStream<P::Wire>, kept: &mut Vec<u8>) {
        let Some((scheme, bytes)) = kept.split_first() else { return }; // nothing waited
        match Request::of_http1(bytes, scheme_name(*scheme)) {
            Err(why) => {
                self.complain(|| why.to_string());
                kept.clear();
            }
            Ok(request) => {
                let without_content = bytes.starts_with(b"HEAD ");
                kept.clear();
                let slot = wire.client.begin(&request, 0, b"", kept);
                wire.current = Some(Current { slot, chunked: false, without_content });
                wire.text.clear();
                self.figures.streams += 1;
                self.figures.streams_at_once = 1;
            }
        }
    }

    /// Writes a head as HTTP/1.1 does, with what says where the content ends.
    fn head(wire: &mut OneStream<P::Wire>, head: Head, ends: bool) {
        let Some(current) = &mut wire.current else { return };
        let lines = wire.client.lines(0);
        let first = lines.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = &lines[first..lines.len().saturating_sub(2)];
        wire.text.extend_from_slice(format!("HTTP/1.1 {} \r\n", head.status).as_bytes());
        wire.text.extend_from_slice(lines);
        let has_none = current.without_content || matches!(head.status, 204 | 304);
        current.chunked = !ends && head.length.is_none() && !has_none;
        if current.chunked {
            wire.text.extend_from_slice(b"transfer-encoding: chunked\r\n");
        } else if head.length.is_none() && !has_none {
            wire.text.extend_from_slice(b"content-length: 0\r\n");
        }
        wire.text.extend_from_slice(b"\r\n");
    }

    /// Writes content as HTTP/1.1 does.
    fn content(wire: &mut OneStream<P::Wire>, bytes: &[u8], ends: bool) {
        let chunked = wire.current.is_some_and(|current| current.chunked);
        if chunked && !bytes.is_empty() {
            wire.text.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
        }
        wire.text.extend_from_slice(bytes);
        if chunked && !bytes.is_empty() {
            wire.text.extend_from_slice(b"\r\n");
        }
        if chunked && ends {
            wire.text.extend_from_slice(b"0\r\n\r\n");
        }
    }

    /// Lets the player read what there is: how its operation ended, once it has.
    fn read(
        &mut self,
        (user, wire): (&mut P::User, &mut OneStream<P::Wire>),
        op: Option<Op>,
        out: &mut Vec<u8>,
    ) -> Option<(Answer, Then)> {
        while !wire.text.is_empty() {
            match self.inner.decode(user, &mut wire.inner, op, &wire.text, out) {
                Step::Need { consumed: 0 } => return None,
                Step::Need { consumed } | Step::Aside { consumed } => {
                    wire.text.drain(..consumed);
                }
                Step::Done { answer, then, .. } => {
                    wire.text.clear();
                    return Some((answer, then));
                }
                Step::DoneOf { .. } | Step::Unprocessed { .. } | Step::Leave { .. } => return None,
            }
        }
        None
    }

    /// The operation ended, and so does the connection where the server or the player wants it.
    fn done(
        &mut self,
        wire: &mut OneStream<P::Wire>,
        consumed: usize,
        (answer, then): (Answer, Then),
    ) -> Step {
        let over = wire.client.is_over();
        if over && wire.client.farewell() == Some(ErrorCode::NO_ERROR) {
            self.figures.farewells += 1;
        }
        wire.current = None;
        wire.text.clear();
        Step::Done { consumed, answer, then: if over { Then::Close } else { then } }
    }

    /// The stream failed: the player starts anew, over the same connection.
    fn failed(
        &mut self,
        wire: &mut OneStream<P::Wire>,
        consumed: usize,
        kind: FailureKind,
    ) -> Step {
        wire.inner = P::Wire::default();
        self.done(wire, consumed, (Answer::failed(kind), Then::Keep))
    }

    /// What an event means that is no part of an answer.
    fn trouble(
        &mut self,
        wire: &mut OneStream<P::Wire>,
        consumed: usize,
        event: Event<'_>,
    ) -> Step {
        match event {
            Event::Reset { code, .. } => {
                self.stream_error(code, format!("ended a stream ({code})"));
                let refused = code == ErrorCode::REFUSED_STREAM;
                let kind =
                    if refused { FailureKind::StreamRefused } else { FailureKind::StreamReset };
                self.failed(wire, consumed, kind)
            }
            Event::Faulty { fault, .. } => {
                self.stream_error(ErrorCode::PROTOCOL_ERROR, fault.to_string());
                let kind = match fault {
                    Fault::HeadTooLarge => FailureKind::HeadTooLarge,
                    Fault::Malformed(_) => FailureKind::Garbled,
                };
                self.failed(wire, consumed, kind)
            }
            Event::Unprocessed { .. } => {
                self.complain(|| "left before it began with a request".into());
                self.failed(wire, consumed, FailureKind::StreamRefused)
            }
            Event::Failed { code, .. } => {
                self.connection_error(code, format!("ended the connection ({code})"));
                let answer = Answer::failed(FailureKind::ConnectionError);
                self.done(wire, consumed, (answer, Then::Close))
            }
            Event::Left { code } => {
                self.figures.farewells += u64::from(code == ErrorCode::NO_ERROR);
                self.complain(|| format!("ended the connection ({code})"));
                Step::Leave { consumed }
            }
            Event::None | Event::Head { .. } | Event::Content { .. } | Event::Ended { .. } => {
                Step::Need { consumed }
            }
        }
    }

    /// Nothing more stands in these bytes.
    fn between(&mut self, wire: &mut OneStream<P::Wire>, consumed: usize) -> Step {
        if !wire.stands && wire.client.stands() && wire.client.allowed_streams() != Some(0) {
            wire.stands = true;
            self.figures.connections += 1;
            let allowed = wire.client.allowed_streams().map(u64::from);
            let least = &mut self.figures.streams_allowed;
            *least = [*least, allowed].into_iter().flatten().min();
            return Step::Done { consumed, answer: Answer::ok(0), then: Then::Keep };
        }
        if consumed > 0 { Step::Aside { consumed } } else { Step::Need { consumed } }
    }
}

impl<P: Protocol> Protocol for OverHttp2<P> {
    const SCRIPTED: bool = P::SCRIPTED;

    type User = P::User;
    type Wire = OneStream<P::Wire>;

    fn user(&mut self, n: usize) -> P::User {
        self.inner.user(n)
    }

    fn hello(&mut self, _: &mut P::User, wire: &mut Self::Wire, out: &mut Vec<u8>) -> Option<Op> {
        let first = !std::mem::replace(&mut wire.opened, true);
        first.then(|| {
            wire.client.open(out);
            Op { label: 0, tag: 0 }
        })
    }

    fn encode(&mut self, user: &mut P::User, wire: &mut Self::Wire, out: &mut Vec<u8>) -> Next {
        self.asked.clear();
        let next = self.inner.encode(user, &mut wire.inner, &mut self.asked);
        match next {
            Next::Send(op) => {
                let mut kept = Vec::new();
                self.keep(0, &mut kept);
                self.begin(wire, &mut kept);
                if kept.is_empty() {
                    return Next::Fail(op, FailureKind::NotSent);
                }
                out.append(&mut kept);
            }
            Next::SendOver { route, .. } => self.keep(route, out),
            Next::Wait | Next::Pause(_) | Next::Turn | Next::Fail(..) | Next::Finish => {}
        }
        next
    }

    fn carry(&mut self, wire: &mut Self::Wire, bytes: &mut Vec<u8>) {
        self.begin(wire, bytes);
    }

    fn decode(
        &mut self,
        user: &mut P::User,
        wire: &mut Self::Wire,
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        let mut at = 0;
        loop {
            let (taken, event) = match wire.client.read(&bytes[at..], out) {
                Ok(read) => read,
                Err(why) if wire.stands => {
                    self.connection_error(why.code, why.to_string());
                    return Step::broken(FailureKind::Garbled, bytes.len(), None);
                }
                Err(_) => {
                    let complaint = crate::probe::not_http2(bytes);
                    self.complain(|| complaint);
                    return Step::broken(FailureKind::Garbled, bytes.len(), None);
                }
            };
            at += taken;
            let of = |slot: u16| wire.current.is_some_and(|current| current.slot == slot);
            let ended = match event {
                Event::None => return self.between(wire, at),
                Event::Head { slot, head, ends } if of(slot) => {
                    Self::head(wire, head, ends);
                    ends
                }
                Event::Content { slot, bytes, ends } if of(slot) => {
                    Self::content(wire, bytes, ends);
                    ends
                }
                Event::Ended { slot } if of(slot) => {
                    Self::content(wire, b"", true);
                    true
                }
                // the rest of an answer that the player has done with
                Event::Head { .. } | Event::Content { .. } | Event::Ended { .. } => continue,
                event => return self.trouble(wire, at, event),
            };
            if let Some(end) = self.read((user, wire), op, out) {
                return self.done(wire, at, end);
            }
            if ended {
                let answer = match op {
                    Some(op) => self.inner.eof(user, &mut wire.inner, op),
                    None => Answer::failed(FailureKind::Garbled),
                };
                return self.done(wire, at, (answer, Then::Close));
            }
        }
    }

    fn eof(&mut self, user: &mut P::User, wire: &mut Self::Wire, op: Op) -> Answer {
        self.inner.eof(user, &mut wire.inner, op)
    }

    fn identity(&self, user: &P::User) -> u32 {
        self.inner.identity(user)
    }

    fn moment(&mut self, now_ns: u64) {
        self.inner.moment(now_ns);
    }

    fn settle(&mut self, user: &mut P::User, end: &mut OpEnd) -> After {
        self.inner.settle(user, end)
    }

    fn resume(&mut self, user: &mut P::User) -> After {
        self.inner.resume(user)
    }

    fn leave(&mut self, user: P::User) {
        self.inner.leave(user);
    }

    fn complete(&mut self) -> Option<OperationGroup> {
        self.inner.complete()
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone().or_else(|| self.inner.complaint())
    }
}
