//! What one operation of an exchange is: a request, and so many replies of another size, every byte
//! compared.

use plumb_engine::{Next, Op, Protocol, Step, Then};
use plumb_measure::Answer;
use plumb_wire::extension::{self, Exchange as Terms, Replies, Request};
use plumb_wire::ni::{self, HEADER_BYTES};

use crate::aside;

/// The tag of the message that opens a connection; requests carry a stamp from one.
const OPENING: u16 = 0;
/// What a server that returned the opening as it came is told to be.
const NO_PLUMB_SERVER: &str =
    "is not a plumb server: --replies needs plumb net serve; without it a plain echo still works";

/// Sends requests of one size and demands the replies that its terms say.
#[derive(Debug)]
pub struct Exchange {
    terms: Terms,
    /// Header and payload of a request; the stamp is set anew for each.
    request: Vec<u8>,
    replies: Replies,
    response_bytes: usize,
    stamp: u16,
    complaint: Option<String>,
}

/// Where a connection stands in the replies that are coming in.
#[derive(Debug, Default)]
pub struct ReplyProgress {
    opened: bool,
    greeted: bool,
    /// Replies that are complete.
    reply: u32,
    /// Bytes of the payload of the next reply that were compared already; its header is consumed
    /// with the first of them.
    at: usize,
    /// The header of the next reply has come.
    headed: bool,
}

impl Exchange {
    /// Requests of `request` bytes under `terms`.
    ///
    /// # Panics
    /// When a size does not fit the length of a frame (4 GiB).
    #[must_use]
    pub fn new(request: usize, terms: Terms) -> Self {
        let response_bytes = usize::try_from(terms.response_bytes).unwrap_or(usize::MAX);
        let mut replies = Replies::default();
        replies.reserve(response_bytes);
        let mut frame = Vec::with_capacity(HEADER_BYTES + request);
        ni::push_frame(&mut frame, &extension::blank(request));
        Self { terms, request: frame, replies, response_bytes, stamp: OPENING, complaint: None }
    }

    fn push_request(&mut self, out: &mut Vec<u8>) -> Op {
        self.stamp = self.stamp.checked_add(1).unwrap_or(OPENING + 1);
        extension::set_stamp(&mut self.request[HEADER_BYTES..], self.stamp);
        out.extend_from_slice(&self.request);
        // a request too short for its stamp is answered with what it has room for
        Op { label: 0, tag: extension::stamp_of(&self.request[HEADER_BYTES..]) }
    }

    fn told(&mut self, (step, complaint): aside::Judged) -> Step {
        self.complaint = self.complaint.take().or(complaint); // the first is shown
        step
    }

    /// The answer to the message that opens a connection.
    fn opening(&mut self, wire: &mut ReplyProgress, bytes: &[u8], out: &mut Vec<u8>) -> Step {
        let Some((length, payload)) = head(bytes) else {
            return Step::Need { consumed: 0 };
        };
        let due = extension::EYE_CATCHER.len();
        if payload.len() < length.min(due) {
            return Step::Need { consumed: 0 };
        }
        if !payload.starts_with(extension::EYE_CATCHER) || length > OPENING_BYTES_MAX {
            return self.told(aside::judge(OPENING_BYTES_MAX, length, bytes, out));
        }
        let Some(payload) = payload.get(..length) else {
            return Step::Need { consumed: 0 };
        };
        let consumed = HEADER_BYTES + length;
        match extension::Answer::parse(payload) {
            Ok(Some(extension::Answer::Exchange(terms))) if terms == self.terms => {
                wire.opened = true;
                Step::Done { consumed, answer: Answer::ok(length as u64), then: Then::Keep }
            }
            Ok(None) => self.told(aside::garbled(consumed, NO_PLUMB_SERVER.into())),
            Ok(Some(_)) => {
                let text = "agreed to other terms than it was asked for; is that plumb net serve?";
                self.told(aside::garbled(consumed, text.into()))
            }
            Err(error) => {
                let text = format!("answered in another way than plumb does: {error}");
                self.told(aside::garbled(consumed, text))
            }
        }
    }

    /// The start of a reply, if it is one; bytes of the header.
    fn header(&mut self, op: Option<Op>, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Step> {
        let Some((length, payload)) = head(bytes) else {
            return Err(Step::Need { consumed: 0 });
        };
        // replies never start as the frames of NI's own do, which are told by their third byte
        if payload.len() < length.min(3) {
            return Err(Step::Need { consumed: 0 });
        }
        if op.is_none() || length != self.response_bytes || payload.starts_with(b"NI_") {
            return Err(self.told(aside::judge(self.response_bytes, length, bytes, out)));
        }
        Ok(())
    }
}

/// No answer to an opening is longer.
const OPENING_BYTES_MAX: usize = 64;

/// The length that a header announces, and what has come of its payload.
fn head(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let length = ni::payload_length(bytes)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX - HEADER_BYTES);
    Some((length, &bytes[HEADER_BYTES..]))
}

impl Protocol for Exchange {
    type User = ();
    type Wire = ReplyProgress;

    fn user(&mut self, _: usize) {}

    /// The terms, then one exchange that is not recorded.
    fn hello(&mut self, (): &mut (), wire: &mut ReplyProgress, out: &mut Vec<u8>) -> Option<Op> {
        if !wire.opened {
            Request::Exchange(self.terms).push(out);
            return Some(Op { label: 0, tag: OPENING });
        }
        if std::mem::replace(&mut wire.greeted, true) {
            return None;
        }
        Some(self.push_request(out))
    }

    fn encode(&mut self, (): &mut (), _: &mut ReplyProgress, out: &mut Vec<u8>) -> Next {
        Next::Send(self.push_request(out))
    }

    fn decode(
        &mut self,
        (): &mut (),
        wire: &mut ReplyProgress,
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        if !wire.opened {
            return self.opening(wire, bytes, out);
        }
        let mut at = 0;
        loop {
            if !wire.headed {
                match self.header(op, &bytes[at..], out) {
                    Ok(()) => at += HEADER_BYTES,
                    // bytes that were compared need not be given again
                    Err(Step::Need { .. }) => return Step::Need { consumed: at },
                    Err(Step::Aside { consumed }) => {
                        return Step::Aside { consumed: at + consumed };
                    }
                    Err(Step::Done { consumed, answer, then }) => {
                        return Step::Done { consumed: at + consumed, answer, then };
                    }
                    Err(other) => return other, // of other protocols
                }
                wire.headed = true;
            }
            let Some(op) = op else {
                let text = "sent bytes that nobody asked for";
                return self.told(aside::garbled(bytes.len(), text.into()));
            };
            let here = (bytes.len() - at).min(self.response_bytes - wire.at);
            if !self.replies.agree(op.tag, wire.reply, wire.at, &bytes[at..at + here]) {
                let text = "sent other bytes than were asked for; is that plumb net serve?";
                return self.told(aside::garbled(bytes.len(), text.into()));
            }
            at += here;
            wire.at += here;
            if wire.at < self.response_bytes {
                return Step::Need { consumed: at };
            }
            (wire.at, wire.headed) = (0, false);
            wire.reply += 1;
            if wire.reply == self.terms.replies {
                wire.reply = 0;
                let body_bytes = u64::from(self.terms.replies) * self.response_bytes as u64;
                let answer = Answer::ok(body_bytes);
                return Step::Done { consumed: at, answer, then: Then::Keep };
            }
        }
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::FailureKind;

    const TERMS: Terms = Terms { response_bytes: 40, replies: 3 };

    fn opened() -> ReplyProgress {
        ReplyProgress { opened: true, greeted: true, ..ReplyProgress::default() }
    }

    fn asked(exchange: &mut Exchange) -> (Op, Vec<u8>) {
        let mut out = Vec::new();
        match exchange.encode(&mut (), &mut opened(), &mut out) {
            Next::Send(op) => (op, out),
            other => panic!("{other:?}"),
        }
    }

    fn answer_to(request: &[u8], terms: Terms) -> Vec<u8> {
        let mut replies = Replies::default();
        replies.reserve(usize::try_from(terms.response_bytes).unwrap());
        let mut out = Vec::new();
        replies.push(terms, extension::stamp_of(&request[HEADER_BYTES..]), &mut out);
        out
    }

    fn judge(
        exchange: &mut Exchange,
        wire: &mut ReplyProgress,
        op: Option<Op>,
        bytes: &[u8],
    ) -> Step {
        exchange.decode(&mut (), wire, op, bytes, &mut Vec::new())
    }

    #[test]
    fn all_replies_are_taken_whole_and_one_byte_at_a_time() {
        for request in [0, 1, 2, 3, 300] {
            for response_bytes in [0, 1, 4, 40] {
                let terms = Terms { response_bytes, ..TERMS };
                let mut exchange = Exchange::new(request, terms);
                let (op, frame) = asked(&mut exchange);
                let answer = answer_to(&frame, terms);
                let good = Answer::ok(u64::from(3 * response_bytes));
                let done = Step::Done { consumed: answer.len(), answer: good, then: Then::Keep };
                assert_eq!(judge(&mut exchange, &mut opened(), Some(op), &answer), done);

                let (mut wire, mut kept, mut ended) = (opened(), Vec::new(), 0);
                for byte in &answer {
                    kept.push(*byte);
                    match judge(&mut exchange, &mut wire, Some(op), &kept) {
                        Step::Need { consumed } => drop(kept.drain(..consumed)),
                        Step::Done { answer, .. } => {
                            assert_eq!(answer, good);
                            ended += 1;
                        }
                        other => panic!("a reply is an answer: {other:?}"),
                    }
                }
                assert_eq!(ended, 1, "request {request}, response {response_bytes}");
            }
        }
    }

    #[test]
    fn a_changed_byte_anywhere_is_seen() {
        let mut exchange = Exchange::new(300, TERMS);
        let (op, frame) = asked(&mut exchange);
        let answer = answer_to(&frame, TERMS);
        for place in 0..answer.len() {
            let mut changed = answer.clone();
            changed[place] ^= 1;
            let step = judge(&mut exchange, &mut opened(), Some(op), &changed);
            let failed = Answer::failed(FailureKind::Garbled);
            assert!(matches!(step, Step::Done { answer, .. } if answer == failed), "{place}");
        }
    }

    #[test]
    fn fewer_replies_are_waited_for_and_more_are_garbled() {
        let mut exchange = Exchange::new(300, TERMS);
        let (op, frame) = asked(&mut exchange);
        let answer = answer_to(&frame, TERMS);
        let mut wire = opened();
        let step = judge(&mut exchange, &mut wire, Some(op), &answer[..88]);
        assert_eq!(step, Step::Need { consumed: 88 });
        let rest = judge(&mut exchange, &mut wire, Some(op), &answer[88..]);
        assert!(matches!(rest, Step::Done { consumed: 44, then: Then::Keep, .. }));
        let more = judge(&mut exchange, &mut wire, None, &answer[..44]);
        assert!(matches!(more, Step::Done { then: Then::Close, .. }));
    }

    #[test]
    fn a_ping_between_two_replies_is_answered() {
        let mut exchange = Exchange::new(300, TERMS);
        let (op, frame) = asked(&mut exchange);
        let answer = answer_to(&frame, TERMS);
        let mut bytes = answer[..44].to_vec();
        ni::push_frame(&mut bytes, ni::PING);
        let (mut wire, mut out) = (opened(), Vec::new());
        let step = exchange.decode(&mut (), &mut wire, Some(op), &bytes, &mut out);
        assert_eq!(step, Step::Aside { consumed: bytes.len() });
        let mut pong = Vec::new();
        ni::push_frame(&mut pong, ni::PONG);
        assert_eq!(out, pong);
        let rest = judge(&mut exchange, &mut wire, Some(op), &answer[44..]);
        assert!(matches!(rest, Step::Done { consumed: 88, then: Then::Keep, .. }));
    }

    #[test]
    fn a_plain_echo_is_recognised_and_the_right_terms_are_taken() {
        let mut exchange = Exchange::new(300, TERMS);
        let (mut wire, mut opening) = (ReplyProgress::default(), Vec::new());
        let op = exchange.hello(&mut (), &mut wire, &mut opening);
        let step = judge(&mut exchange, &mut wire, op, &opening);
        assert!(matches!(step, Step::Done { then: Then::Close, .. }));
        assert_eq!(exchange.complaint().as_deref(), Some(NO_PLUMB_SERVER));

        let mut agreed = Vec::new();
        extension::Answer::Exchange(TERMS).push(&mut agreed);
        for cut in 0..agreed.len() {
            let step = judge(&mut exchange, &mut wire, op, &agreed[..cut]);
            assert_eq!(step, Step::Need { consumed: 0 }, "cut at {cut}");
        }
        let step = judge(&mut exchange, &mut wire, op, &agreed);
        assert!(matches!(step, Step::Done { then: Then::Keep, .. }));
        assert!(exchange.hello(&mut (), &mut wire, &mut Vec::new()).is_some());
        assert!(exchange.hello(&mut (), &mut wire, &mut Vec::new()).is_none());
    }
}
