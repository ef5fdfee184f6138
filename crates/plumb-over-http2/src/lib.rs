//! Users of a scenario over HTTP/2: what a player asks for as HTTP/1.1 writes it becomes a stream,
//! and what comes back becomes an answer of HTTP/1.1 again. What a user asks for at the same time are
//! streams of one connection to each server. Who the player is, it does not know: any protocol that
//! [asks at once](AsksAtOnce).

mod answers;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use plumb_engine::{After, Next, Op, OpEnd, OperationGroup, Protocol, Step};
use plumb_http2::{Client, ErrorCode, Event, Request};
use plumb_measure::{Answer, FailureKind, Http2Figures};
use plumb_wire::http::Scheme;

use stream::{Kept, Stream};

/// Streams on one connection at the same time, where the server allows them.
///
/// # Source
/// What browsers do.
const STREAMS_MAX: u32 = 100;

/// A player who may ask for several things at the same time.
pub trait AsksAtOnce: Protocol {
    /// Asks a server for at most so many things at the same time, from here on.
    fn ask_at_once(&mut self, most: usize);
}

/// A client that keeps what it asks for under its own form until a connection takes it.
#[derive(Debug)]
pub struct OverHttp2<P> {
    inner: P,
    /// How each route is reached, the first first.
    schemes: Vec<Scheme>,
    /// What is said of a server that answered with such bytes instead of HTTP/2, and with none.
    foreign: fn(&[u8]) -> String,
    /// What the player asked for.
    asked: Vec<u8>,
    figures: Http2Figures,
    complaint: Option<String>,
}

/// A user.
#[derive(Debug)]
pub struct OfUser<U> {
    inner: U,
    /// What a server had not begun with when it left, by its operation.
    unprocessed: Vec<(Op, Request)>,
}

/// One connection.
#[derive(Debug, Default)]
pub struct Streams<W> {
    client: Client,
    opened: bool,
    stands: bool,
    under_way: Vec<Stream<W>>,
    /// What the server takes only once something else is over.
    waiting: VecDeque<(Op, Request)>,
    /// Bytes that were read already, and come once more because there is more to say.
    given_again: usize,
    /// Tags of answers that have begun, of which nobody has been told yet.
    begun: Vec<u16>,
    /// The player wants it closed behind what is under way.
    closes: bool,
    /// What the player asks with; it stays as it is.
    idle: W,
}

impl<P> OverHttp2<P> {
    /// `inner` over HTTP/2, to servers of `schemes`, the first first. `foreign` says of one that
    /// speaks something else what it answered; of none that it closed the connection.
    pub fn new(inner: P, schemes: Vec<Scheme>, foreign: fn(&[u8]) -> String) -> Self {
        let (asked, figures) = (Vec::new(), Http2Figures::default());
        Self { inner, schemes, foreign, asked, figures, complaint: None }
    }

    /// The player, and what its connections did.
    pub fn into_parts(self) -> (P, Http2Figures) {
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

    fn encrypted(&self, route: u16) -> bool {
        self.schemes.get(usize::from(route)) == Some(&Scheme::Https)
    }

    /// A request, bytes of HTTP/1.1, as HTTP/2 has it; says why it has no form there.
    fn request(&mut self, encrypted: bool, bytes: &[u8]) -> Option<Request> {
        match Request::of_http1(bytes, if encrypted { "https" } else { "http" }) {
            Ok(request) => Some(request),
            Err(why) => {
                self.complain(|| why.to_string());
                None
            }
        }
    }

    /// Begins a stream, or lets the request wait for one.
    fn begin<W: Default>(
        &mut self,
        wire: &mut Streams<W>,
        (op, request): (Op, Request),
        out: &mut Vec<u8>,
    ) {
        if !wire.client.takes_more() {
            return wire.waiting.push_back((op, request));
        }
        let slot = wire.client.begin(&request, 0, b"", out);
        wire.under_way.push(Stream::new(slot, op, request));
        self.figures.streams += 1;
        let at_once = &mut self.figures.streams_at_once;
        *at_once = (*at_once).max(wire.client.under_way() as u64);
    }

    /// Begins as many of those that wait as the server takes.
    fn begin_waiting<W: Default>(&mut self, wire: &mut Streams<W>, out: &mut Vec<u8>) {
        while wire.client.takes_more()
            && let Some(next) = wire.waiting.pop_front()
        {
            self.begin(wire, next, out);
        }
    }
}

fn find<W>(under_way: &mut [Stream<W>], slot: u16) -> Option<&mut Stream<W>> {
    under_way.iter_mut().find(|stream| stream.slot == slot)
}

impl<W: Default> Streams<W> {
    /// How many of the bytes read are done with, so that what was read is asked about once more.
    fn give_again(&mut self, read: usize) -> usize {
        self.given_again = read.min(1);
        read - self.given_again
    }

    /// Takes out the stream in `slot`, which is over.
    fn take(&mut self, slot: u16) -> Option<Stream<W>> {
        let at = self.under_way.iter().position(|stream| stream.slot == slot)?;
        let stream = self.under_way.swap_remove(at);
        self.begun.retain(|tag| *tag != stream.op.tag);
        Some(stream)
    }
}

impl<P: AsksAtOnce> Protocol for OverHttp2<P> {
    const SCRIPTED: bool = P::SCRIPTED;
    const MULTIPLEXED: bool = true;

    type User = OfUser<P::User>;
    type Wire = Streams<P::Wire>;

    fn user(&mut self, n: usize) -> Self::User {
        OfUser { inner: self.inner.user(n), unprocessed: Vec::new() }
    }

    fn hello(
        &mut self,
        _: &mut Self::User,
        wire: &mut Self::Wire,
        out: &mut Vec<u8>,
    ) -> Option<Op> {
        let first = !std::mem::replace(&mut wire.opened, true);
        first.then(|| {
            wire.client.open(out);
            Op { label: 0, tag: 0 }
        })
    }

    fn encode(&mut self, user: &mut Self::User, wire: &mut Self::Wire, out: &mut Vec<u8>) -> Next {
        let mut asked = std::mem::take(&mut self.asked);
        asked.clear();
        let next = self.inner.encode(&mut user.inner, &mut wire.idle, &mut asked);
        let (route, op) = match next {
            Next::Send(op) => (0, Some(op)),
            Next::SendOver { route, op, .. } => (route, Some(op)),
            Next::Wait | Next::Pause(_) | Next::Turn | Next::Fail(..) | Next::Finish => (0, None),
        };
        let encrypted = self.encrypted(route);
        let request = op.and_then(|_| self.request(encrypted, &asked));
        let next = match (next, op, request) {
            (_, Some(op), None) => Next::Fail(op, FailureKind::NotSent),
            (Next::Send(op), _, Some(request)) => {
                self.begin(wire, (op, request), out);
                next
            }
            (_, Some(op), Some(_)) => {
                Kept::add(encrypted, op, &asked, out);
                next
            }
            (_, None, _) => next,
        };
        self.asked = asked;
        next
    }

    fn encode_again(
        &mut self,
        user: &mut Self::User,
        wire: &mut Self::Wire,
        op: Op,
        out: &mut Vec<u8>,
    ) -> Op {
        let known = user.unprocessed.iter().position(|(known, _)| known.tag == op.tag);
        if let Some(at) = known {
            let (_, request) = user.unprocessed.swap_remove(at);
            self.figures.sent_again += 1;
            self.begin(wire, (op, request), out);
        }
        op
    }

    fn carry(&mut self, wire: &mut Self::Wire, bytes: &mut Vec<u8>) {
        let kept = std::mem::take(bytes);
        for (encrypted, op, request) in Kept::of(&kept) {
            if let Some(request) = self.request(encrypted, request) {
                self.begin(wire, (op, request), bytes);
            }
        }
    }

    fn takes_more(&self, wire: &Self::Wire) -> bool {
        wire.client.farewell().is_none()
    }

    fn begun(&mut self, wire: &mut Self::Wire) -> Option<u16> {
        wire.begun.pop()
    }

    fn cancel(&mut self, wire: &mut Self::Wire, op: Op, out: &mut Vec<u8>) -> bool {
        let stream = wire.under_way.iter().find(|stream| stream.op.tag == op.tag);
        let Some(slot) = stream.map(|stream| stream.slot) else {
            wire.waiting.retain(|(waits, _)| waits.tag != op.tag);
            return true;
        };
        let lives = wire.client.cancel(slot, out) && !wire.client.is_over();
        wire.take(slot);
        self.begin_waiting(wire, out);
        lives
    }

    fn decode(
        &mut self,
        user: &mut Self::User,
        wire: &mut Self::Wire,
        _: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        let mut at = std::mem::take(&mut wire.given_again);
        if let Some(step) = self.sent_back((user, wire), at) {
            return step;
        }
        loop {
            let (taken, event) = match wire.client.read(&bytes[at..], out) {
                Ok(read) => read,
                Err(why) => return self.broken(wire.stands, why, bytes),
            };
            at += taken;
            let Streams { client, under_way, begun, .. } = wire;
            let (slot, ends) = match event {
                Event::None => return self.between((user, wire), at, out),
                Event::Head { slot, head, ends } => {
                    let Some(stream) = find(under_way, slot) else { continue };
                    stream.head(head, client.lines(0), ends);
                    begun.push(stream.op.tag);
                    (slot, ends)
                }
                Event::Content { slot, bytes, ends } => {
                    let Some(stream) = find(under_way, slot) else { continue };
                    stream.content(bytes, ends);
                    (slot, ends)
                }
                Event::Ended { slot } => {
                    let Some(stream) = find(under_way, slot) else { continue };
                    stream.content(b"", true);
                    (slot, true)
                }
                event => return self.trouble((user, wire), at, event, out),
            };
            if let Some(end) = self.read((user, wire), (slot, ends), out) {
                return self.done(wire, (slot, at), end, out);
            }
        }
    }

    fn eof(&mut self, user: &mut Self::User, wire: &mut Self::Wire, op: Op) -> Answer {
        match wire.under_way.iter_mut().find(|stream| stream.op.tag == op.tag) {
            Some(stream) => self.inner.eof(&mut user.inner, &mut stream.inner, op),
            None => Answer::failed(FailureKind::Closed), // it had not begun
        }
    }

    fn identity(&self, user: &Self::User) -> u32 {
        self.inner.identity(&user.inner)
    }

    fn moment(&mut self, now_ns: u64) {
        self.inner.moment(now_ns);
    }

    fn settle(&mut self, user: &mut Self::User, end: &mut OpEnd) -> After {
        self.inner.settle(&mut user.inner, end)
    }

    fn resume(&mut self, user: &mut Self::User) -> After {
        self.inner.resume(&mut user.inner)
    }

    fn leave(&mut self, user: Self::User) {
        self.inner.leave(user.inner);
    }

    fn complete(&mut self) -> Option<OperationGroup> {
        self.inner.complete()
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone().or_else(|| self.inner.complaint())
    }

    fn ungreeted(&self) -> Option<String> {
        // where it is encrypted both have agreed on HTTP/2
        (!self.encrypted(0)).then(|| (self.foreign)(b""))
    }
}
