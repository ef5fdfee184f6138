//! What comes back over HTTP/2: answers for the player to read, and what goes wrong instead.

use plumb_engine::{Op, Step, Then};
use plumb_http2::{ErrorCode, Event, Fault, Request, Violation};
use plumb_measure::{Answer, FailureKind};

use super::{AsksAtOnce, OfUser, OverHttp2, STREAMS_MAX, Streams, find};

impl<P: AsksAtOnce> OverHttp2<P> {
    /// Lets the player read what has come on the stream in `slot`, whose answer is complete when it
    /// `ends`: what became of its operation, once it is over.
    pub(super) fn read(
        &mut self,
        (user, wire): (&mut OfUser<P::User>, &mut Streams<P::Wire>),
        (slot, ends): (u16, bool),
        out: &mut Vec<u8>,
    ) -> Option<(Answer, Then)> {
        let stream = find(&mut wire.under_way, slot)?;
        let op = stream.op;
        // its last byte is handed on with its end, which may come alone: HTTP/1.1 would be done before
        let held = usize::from(!ends);
        while stream.text.len() > held {
            let (inner, text) = (&mut stream.inner, &stream.text[..stream.text.len() - held]);
            match self.inner.decode(&mut user.inner, inner, Some(op), text, out) {
                Step::Need { consumed: 0 } => break,
                Step::Need { consumed } | Step::Aside { consumed } => {
                    stream.text.drain(..consumed);
                }
                Step::Done { answer, then, .. } => {
                    if !ends {
                        wire.client.cancel(slot, out); // nobody reads the rest
                    }
                    return Some((answer, then));
                }
                Step::DoneOf { .. } | Step::Unprocessed { .. } | Step::Leave { .. } => break,
            }
        }
        if !ends {
            return None;
        }
        let answer = self.inner.eof(&mut user.inner, &mut stream.inner, op);
        Some((answer, Then::Keep))
    }

    /// The operation in `slot` ended, and so does the connection where the server or the player wants
    /// it.
    pub(super) fn done(
        &mut self,
        wire: &mut Streams<P::Wire>,
        (slot, consumed): (u16, usize),
        (answer, then): (Answer, Then),
        out: &mut Vec<u8>,
    ) -> Step {
        let Some(stream) = wire.take(slot) else { return Step::Aside { consumed } };
        self.begin_waiting(wire, out);
        wire.closes |= then == Then::Close;
        let over = wire.client.is_over();
        if over && !wire.waiting.is_empty() {
            // what waits is sent back before the connection ends
            let consumed = wire.give_again(consumed);
            return Step::DoneOf { consumed, tag: stream.op.tag, answer, then: Then::Keep };
        }
        if over {
            self.left(wire);
        }
        let idle = wire.under_way.is_empty() && wire.waiting.is_empty();
        let then = if over || wire.closes && idle { Then::Close } else { Then::Keep };
        Step::DoneOf { consumed, tag: stream.op.tag, answer, then }
    }

    /// The connection ends now, as the server said.
    fn left(&mut self, wire: &Streams<P::Wire>) {
        match wire.client.farewell() {
            Some(ErrorCode::NO_ERROR) => self.figures.farewells += 1,
            Some(code) => self.connection_error(code, ended(code)),
            None => {}
        }
    }

    fn leave(&mut self, wire: &Streams<P::Wire>, consumed: usize) -> Step {
        self.left(wire);
        Step::Leave { consumed }
    }

    /// What waits for a stream that the server takes no more: it is asked for on the next connection.
    pub(super) fn sent_back(
        &mut self,
        (user, wire): (&mut OfUser<P::User>, &mut Streams<P::Wire>),
        consumed: usize,
    ) -> Option<Step> {
        if wire.client.farewell().is_none() && !wire.client.is_over() {
            return None;
        }
        let (op, request) = wire.waiting.pop_front()?;
        let more = !wire.waiting.is_empty() || wire.client.is_over();
        let consumed = if more { wire.give_again(consumed) } else { consumed };
        Some(user.goes_again(op, request, consumed))
    }

    /// What an event means that is no part of an answer.
    pub(super) fn trouble(
        &mut self,
        (user, wire): (&mut OfUser<P::User>, &mut Streams<P::Wire>),
        consumed: usize,
        event: Event<'_>,
        out: &mut Vec<u8>,
    ) -> Step {
        let (slot, kind) = match event {
            Event::Reset { slot, code } => {
                self.stream_error(code, format!("ended a stream ({code})"));
                let refused = code == ErrorCode::REFUSED_STREAM;
                let kind =
                    if refused { FailureKind::StreamRefused } else { FailureKind::StreamReset };
                (slot, kind)
            }
            Event::Faulty { slot, fault } => {
                self.stream_error(ErrorCode::PROTOCOL_ERROR, fault.to_string());
                let kind = match fault {
                    Fault::HeadTooLarge => FailureKind::HeadTooLarge,
                    Fault::Malformed(_) => FailureKind::Garbled,
                };
                (slot, kind)
            }
            Event::Failed { slot, code } => {
                self.complain(|| ended(code));
                (slot, FailureKind::ConnectionError)
            }
            Event::Unprocessed { slot } => {
                let Some(stream) = wire.take(slot) else { return Step::Aside { consumed } };
                return user.goes_again(stream.op, stream.request, consumed);
            }
            Event::Left { code } => {
                self.complain(|| ended(code));
                let waits = self.sent_back((user, wire), consumed);
                return waits.unwrap_or_else(|| self.leave(wire, consumed));
            }
            Event::None | Event::Head { .. } | Event::Content { .. } | Event::Ended { .. } => {
                return Step::Need { consumed };
            }
        };
        self.done(wire, (slot, consumed), (Answer::failed(kind), Then::Keep), out)
    }

    /// Nothing more stands in these bytes.
    pub(super) fn between(
        &mut self,
        (user, wire): (&mut OfUser<P::User>, &mut Streams<P::Wire>),
        consumed: usize,
        out: &mut Vec<u8>,
    ) -> Step {
        if !wire.stands && wire.client.stands() && wire.client.allowed_streams() != Some(0) {
            wire.stands = true;
            self.figures.connections += 1;
            let least = &mut self.figures.streams_allowed;
            let allowed = wire.client.allowed_streams().map(u64::from);
            *least = [*least, allowed].into_iter().flatten().min();
            let most = least.map_or(STREAMS_MAX, |least| u32::try_from(least).unwrap_or(u32::MAX));
            self.inner.ask_at_once(most.min(STREAMS_MAX) as usize);
            return Step::Done { consumed, answer: Answer::ok(0), then: Then::Keep };
        }
        if let Some(step) = self.sent_back((user, wire), consumed) {
            return step;
        }
        if wire.client.is_over() {
            return self.leave(wire, consumed);
        }
        self.begin_waiting(wire, out); // the server may take more than before
        if consumed > 0 { Step::Aside { consumed } } else { Step::Need { consumed } }
    }

    /// The server broke the protocol.
    pub(super) fn broken(&mut self, stands: bool, why: Violation, bytes: &[u8]) -> Step {
        if stands {
            self.connection_error(why.code, why.to_string());
        } else {
            let foreign = self.foreign;
            self.complain(|| foreign(bytes));
        }
        Step::broken(FailureKind::Garbled, bytes.len(), None)
    }
}

fn ended(code: ErrorCode) -> String {
    format!("ended the connection ({code})")
}

impl<U> OfUser<U> {
    /// Keeps a request that is to be asked for on the next connection.
    fn goes_again(&mut self, op: Op, request: Request, consumed: usize) -> Step {
        self.unprocessed.retain(|(known, _)| known.tag != op.tag);
        self.unprocessed.push((op, request));
        Step::Unprocessed { consumed, tag: op.tag }
    }
}
