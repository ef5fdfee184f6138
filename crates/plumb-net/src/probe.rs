//! What one round trip is: a frame there, the same frame back, every byte compared.

use plumb_engine::{Next, Op, Protocol, Step, Then};
use plumb_measure::Answer;
use plumb_wire::extension;
use plumb_wire::ni::{self, HEADER_BYTES};

use crate::aside;

/// The start of a payload that is long enough for it.
const EYE_CATCHER: &[u8] = b"EYECATCHER";
/// Behind the eye-catcher two bytes tell one message from the next.
const STAMP_AT: usize = HEADER_BYTES + EYE_CATCHER.len();
const STAMP_END: usize = STAMP_AT + 2;

/// The client half of niping: sends frames of one size and demands them back unchanged.
#[derive(Debug)]
pub struct Probe {
    /// Header and payload; the stamp in it is that of the message that is sent or judged.
    frame: Vec<u8>,
    stamp: u16,
    complaint: Option<String>,
}

/// Where a connection stands in the answer that is coming in.
#[derive(Debug, Default)]
pub struct Position {
    /// Bytes of the frame, header included, that were compared already.
    at: usize,
    greeted: bool,
}

impl Probe {
    /// A probe whose payload has `size` bytes.
    ///
    /// # Panics
    /// When `size` does not fit the length of a frame (4 GiB).
    #[must_use]
    pub fn new(size: usize) -> Self {
        let mut frame = Vec::with_capacity(HEADER_BYTES + size);
        ni::push_frame(&mut frame, &payload(size));
        Self { frame, stamp: 0, complaint: None }
    }

    fn push_request(&mut self, out: &mut Vec<u8>) -> Op {
        self.stamp = self.stamp.wrapping_add(1);
        self.set_stamp(self.stamp);
        out.extend_from_slice(&self.frame);
        Op { label: 0, tag: self.stamp }
    }

    /// Where the payload that the answer to `op` should hold differs from what came, `bytes` from byte `at`
    /// of its frame on; `None` where it does not.
    fn differs(&mut self, op: Op, at: usize, bytes: &[u8]) -> Option<usize> {
        self.set_stamp(op.tag);
        let due = &self.frame[at..at + bytes.len()];
        if due == bytes {
            return None;
        }
        let before = due.iter().zip(bytes).take_while(|(due, came)| due == came).count();
        Some((at + before).saturating_sub(HEADER_BYTES))
    }

    fn set_stamp(&mut self, stamp: u16) {
        if let Some(place) = self.frame.get_mut(STAMP_AT..STAMP_END) {
            place.copy_from_slice(&stamp.to_be_bytes());
        }
    }

    fn told(&mut self, (step, complaint): aside::Judged) -> Step {
        self.complaint = self.complaint.take().or(complaint); // the first is shown
        step
    }

    fn garbled(&mut self, consumed: usize, complaint: String) -> Step {
        self.told(aside::garbled(consumed, complaint))
    }
}

impl Protocol for Probe {
    type User = ();
    type Wire = Position;

    fn user(&mut self, _: usize) {}

    /// One round trip that is not recorded: it shows that an echo server is there and takes
    /// messages of this size.
    fn hello(&mut self, (): &mut (), wire: &mut Position, out: &mut Vec<u8>) -> Option<Op> {
        if std::mem::replace(&mut wire.greeted, true) {
            return None;
        }
        Some(self.push_request(out))
    }

    fn encode(&mut self, (): &mut (), _: &mut Position, out: &mut Vec<u8>) -> Next {
        Next::Send(self.push_request(out))
    }

    fn decode(
        &mut self,
        (): &mut (),
        wire: &mut Position,
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        let total = self.frame.len();
        if wire.at == 0 {
            let Some(length) = ni::payload_length(bytes) else {
                return Step::Need { consumed: 0 };
            };
            let length = usize::try_from(length).unwrap_or(usize::MAX - HEADER_BYTES);
            let told = bytes.len() >= HEADER_BYTES + length.min(3); // ours never starts with NI_
            if !told {
                return Step::Need { consumed: 0 };
            }
            let expected = op.is_some() && HEADER_BYTES + length == total;
            if !expected || bytes[HEADER_BYTES..].starts_with(b"NI_") {
                let expected = total - HEADER_BYTES;
                return self.told(aside::judge(expected, length, bytes, out));
            }
        }
        let Some(op) = op else {
            return self.garbled(bytes.len(), "sent bytes that nobody asked for".into());
        };
        let here = bytes.len().min(total - wire.at);
        if let Some(byte) = self.differs(op, wire.at, &bytes[..here]) {
            let text = format!(
                "sent back other bytes than it was sent, from byte {} of {} on; is that an echo server?",
                byte + 1,
                total - HEADER_BYTES
            );
            return self.garbled(here, text);
        }
        wire.at += here;
        if wire.at < total {
            return Step::Need { consumed: here };
        }
        wire.at = 0;
        let answer = Answer::ok((total - HEADER_BYTES) as u64);
        Step::Done { consumed: here, answer, then: Then::Keep }
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }
}

/// `size` bytes: the eye-catcher, then bytes that no link can compress.
fn payload(size: usize) -> Vec<u8> {
    EYE_CATCHER.iter().copied().chain(extension::noise()).take(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::FailureKind;
    use plumb_wire::ni::ReturnCode;

    fn asked(probe: &mut Probe) -> (Op, Vec<u8>) {
        let mut out = Vec::new();
        match probe.encode(&mut (), &mut Position::default(), &mut out) {
            Next::Send(op) => (op, out),
            other => panic!("{other:?}"),
        }
    }

    fn judge(probe: &mut Probe, op: Option<Op>, bytes: &[u8]) -> (Step, Vec<u8>) {
        let mut out = Vec::new();
        let step = probe.decode(&mut (), &mut Position::default(), op, bytes, &mut out);
        (step, out)
    }

    #[test]
    fn an_echo_is_accepted_whole_and_one_byte_at_a_time() {
        for size in [1, 3, 8, 11, 12, 13, 500] {
            let mut probe = Probe::new(size);
            let (op, frame) = asked(&mut probe);
            assert_eq!(frame.len(), HEADER_BYTES + size);
            let answer = Answer::ok(size as u64);
            let whole = Step::Done { consumed: frame.len(), answer, then: Then::Keep };
            assert_eq!(judge(&mut probe, Some(op), &frame).0, whole);

            let (mut wire, mut kept, mut done) = (Position::default(), Vec::new(), 0);
            for byte in &frame {
                kept.push(*byte);
                match probe.decode(&mut (), &mut wire, Some(op), &kept, &mut Vec::new()) {
                    Step::Need { consumed } => drop(kept.drain(..consumed)),
                    Step::Done { answer: got, .. } => {
                        assert_eq!(got, answer);
                        done += 1;
                    }
                    other => panic!("an echo is an answer: {other:?}"),
                }
            }
            assert_eq!(done, 1, "size {size}");
        }
    }

    #[test]
    fn a_changed_byte_anywhere_is_seen() {
        let mut probe = Probe::new(64);
        let (op, frame) = asked(&mut probe);
        for place in HEADER_BYTES..frame.len() {
            let mut changed = frame.clone();
            changed[place] ^= 1;
            let (step, _) = judge(&mut probe, Some(op), &changed);
            let answer = Answer::failed(FailureKind::Garbled);
            assert!(matches!(step, Step::Done { answer: got, .. } if got == answer), "{place}");
        }
    }

    #[test]
    fn the_answer_to_another_message_is_not_taken() {
        let mut probe = Probe::new(64);
        let (_, first) = asked(&mut probe);
        let (second, _) = asked(&mut probe);
        let (step, _) = judge(&mut probe, Some(second), &first);
        assert!(matches!(step, Step::Done { then: Then::Close, .. }));
    }

    #[test]
    fn a_ping_is_answered_whether_or_not_an_answer_is_due() {
        let mut probe = Probe::new(8); // as long as a ping
        let (op, _) = asked(&mut probe);
        let mut ping = Vec::new();
        ni::push_frame(&mut ping, ni::PING);
        let mut pong = Vec::new();
        ni::push_frame(&mut pong, ni::PONG);
        for op in [None, Some(op)] {
            let (step, out) = judge(&mut probe, op, &ping);
            assert_eq!(step, Step::Aside { consumed: ping.len() });
            assert_eq!(out, pong);
        }
    }

    #[test]
    fn a_refusal_is_told_with_its_remedy() {
        let mut probe = Probe::new(500);
        let (op, _) = asked(&mut probe);
        let mut refusal = Vec::new();
        ni::push_message(&mut refusal, ni::OPCODE_ERROR, ReturnCode::TOO_BIG, "limit 100 bytes");
        let (step, _) = judge(&mut probe, Some(op), &refusal);
        let answer = Answer::failed(FailureKind::Refused);
        assert!(matches!(step, Step::Done { answer: got, .. } if got == answer));
        let complaint = probe.complaint().unwrap();
        assert!(complaint.contains("limit 100 bytes") && complaint.contains("--max-message"));
    }

    #[test]
    fn a_web_server_is_recognised_by_its_words() {
        let mut probe = Probe::new(500);
        let (op, _) = asked(&mut probe);
        judge(&mut probe, Some(op), b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n");
        let complaint = probe.complaint().unwrap();
        assert!(complaint.contains("does not speak NI: it answered `HTTP/1.1 400 Bad Request`"));
    }
}
