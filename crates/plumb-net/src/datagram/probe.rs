//! What one round trip over UDP is: a datagram there, the same datagram back, every byte compared.

use plumb_engine::{Next, Op, Protocol, Step, Then};
use plumb_measure::{Answer, FailureKind};
use plumb_wire::datagram::{HEAD_BYTES, Head, Kind};

use super::window::{Arrival, Window};
use super::words;

/// The client half of a round trip over UDP.
#[derive(Debug)]
pub struct DatagramProbe {
    /// The datagram; its head is set anew for each.
    datagram: Vec<u8>,
    tally: DatagramTally,
    /// Tells the next socket from all others, of earlier runs from the same address, too.
    next_socket: u64,
    complaint: Option<String>,
}

/// Long enough for the words of a refusal.
const HELLO_BYTES: usize = 128;

/// What became of the datagrams of a load, those of its warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramTally {
    /// Messages that were sent.
    pub sent: u64,
    /// Those that came back while they were waited for.
    pub answered: u64,
    /// Those that came back when nobody waited for them any more.
    pub late: u64,
    /// Answers that had come before.
    pub again: u64,
    /// Messages that the server had not seen when it answered a later one: lost on the way there.
    pub lost_there: u64,
    /// The server counts what comes; else nothing is known of the way there.
    pub counted: bool,
}

impl DatagramTally {
    /// Adds that of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.late += other.late;
        self.again += other.again;
        self.lost_there += other.lost_there;
        self.counted |= other.counted;
    }
}

/// One socket, while it is used.
#[derive(Debug, Default)]
pub struct SocketState {
    /// As the server gave it.
    token: Option<u64>,
    /// Of this socket, from its first hello on.
    hello: Option<u64>,
    /// The number of the next message.
    next: u64,
    answers: Window<1>,
    /// Messages up to the last answered one that had not come to the server by then.
    missing: u64,
}

impl DatagramProbe {
    /// A probe whose datagrams have `bytes` bytes, at least those of a head; `run` is a number that
    /// no other run has.
    #[must_use]
    pub fn new(bytes: usize, run: u64) -> Self {
        let blank = Head { kind: Kind::Ping, token: 0, number: 0, stamp: 0 };
        Self {
            datagram: blank.filled(bytes),
            tally: DatagramTally::default(),
            next_socket: run,
            complaint: None,
        }
    }

    /// What has become of all datagrams so far.
    #[must_use]
    pub fn tally(&self) -> DatagramTally {
        self.tally
    }

    /// An answer came: which, and does anybody wait for it?
    fn answered(
        &mut self,
        wire: &mut SocketState,
        op: Option<Op>,
        head: Head,
        body: &[u8],
    ) -> Judged {
        if head.number >= wire.next {
            return Judged::Foreign;
        }
        let arrival = wire.answers.note(head.number, |_, _| {});
        if arrival == Arrival::Next && head.stamp > 0 {
            self.tally.counted = true;
            // the count of the server may hold what was sent before it forgot this client
            let missing = (head.number + 1).saturating_sub(head.stamp);
            self.tally.lost_there = (self.tally.lost_there + missing) - wire.missing;
            wire.missing = missing;
        }
        match arrival {
            Arrival::Again => self.tally.again += 1,
            _ if op.is_none_or(|op| op.tag != tag(head.number)) || head.number + 1 != wire.next => {
                self.tally.late += 1;
            }
            _ if body != &self.datagram[HEAD_BYTES..] => return Judged::Garbled,
            _ => {
                self.tally.answered += 1;
                return Judged::Due;
            }
        }
        Judged::Foreign
    }
}

/// What an answer is.
enum Judged {
    Due,
    Garbled,
    /// Nobody waits for it.
    Foreign,
}

/// What the engine keeps of a number.
fn tag(number: u64) -> u16 {
    let [.., one, other] = number.to_be_bytes();
    u16::from_be_bytes([one, other])
}

impl Protocol for DatagramProbe {
    const DATAGRAMS: bool = true;

    type User = ();
    type Wire = SocketState;

    fn user(&mut self, _: usize) {}

    /// Asks for the token of this socket.
    fn hello(&mut self, (): &mut (), wire: &mut SocketState, out: &mut Vec<u8>) -> Option<Op> {
        if wire.token.is_some() {
            return None;
        }
        let stamp = *wire.hello.get_or_insert_with(|| {
            self.next_socket = self.next_socket.wrapping_add(1);
            self.next_socket
        });
        let head = Head { kind: Kind::Hello, token: 0, number: 0, stamp };
        out.extend_from_slice(&head.filled(HELLO_BYTES));
        Some(Op { label: 0, tag: 0 })
    }

    fn encode(&mut self, (): &mut (), wire: &mut SocketState, out: &mut Vec<u8>) -> Next {
        let token = wire.token.unwrap_or(0);
        let head = Head { kind: Kind::Ping, token, number: wire.next, stamp: 0 };
        head.write(&mut self.datagram);
        out.extend_from_slice(&self.datagram);
        wire.next += 1;
        self.tally.sent += 1;
        Next::Send(Op { label: 0, tag: tag(head.number) })
    }

    fn decode(
        &mut self,
        (): &mut (),
        wire: &mut SocketState,
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let consumed = bytes.len();
        let aside = Step::Aside { consumed };
        let done = |answer| Step::Done { consumed, answer, then: Then::Keep };
        let Ok((head, body)) = Head::parse(bytes) else { return aside };
        match head.kind {
            Kind::Welcome if wire.token.is_none() && op.is_some() => {
                wire.token = Some(head.token);
                done(Answer::ok(0))
            }
            Kind::Pong if wire.token == Some(head.token) => {
                match self.answered(wire, op, head, body) {
                    Judged::Due => done(Answer::ok(consumed as u64)),
                    Judged::Garbled => {
                        let text = "sent back other bytes than it was sent";
                        self.complaint.get_or_insert_with(|| text.into());
                        done(Answer::failed(FailureKind::Garbled))
                    }
                    Judged::Foreign => aside,
                }
            }
            Kind::Refused if op.is_some() => {
                self.complaint.get_or_insert_with(|| format!("refused: {}", words(body)));
                Step::broken(FailureKind::Refused, consumed, None)
            }
            _ => aside,
        }
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 64;

    /// A probe, a socket of it that was welcomed, and room for what it sends.
    fn welcomed() -> (DatagramProbe, SocketState) {
        let (mut probe, mut wire) = (DatagramProbe::new(BYTES, 1), SocketState::default());
        let op = probe.hello(&mut (), &mut wire, &mut Vec::new());
        let welcome = Head { kind: Kind::Welcome, token: 9, number: 0, stamp: 0 };
        let step = judge(&mut probe, &mut wire, op, &welcome.filled(HEAD_BYTES));
        assert!(matches!(step, Step::Done { then: Then::Keep, .. }));
        assert_eq!(probe.hello(&mut (), &mut wire, &mut Vec::new()), None);
        (probe, wire)
    }

    fn asked(probe: &mut DatagramProbe, wire: &mut SocketState) -> (Op, Vec<u8>) {
        let mut out = Vec::new();
        match probe.encode(&mut (), wire, &mut out) {
            Next::Send(op) => (op, out),
            other => panic!("{other:?}"),
        }
    }

    /// The answer to `ping` of a server that had seen `count` messages.
    fn pong(ping: &[u8], count: u64) -> Vec<u8> {
        let mut pong = ping.to_vec();
        let (head, _) = Head::parse(ping).unwrap();
        Head { kind: Kind::Pong, stamp: count, ..head }.write(&mut pong);
        pong
    }

    fn judge(
        probe: &mut DatagramProbe,
        wire: &mut SocketState,
        op: Option<Op>,
        bytes: &[u8],
    ) -> Step {
        probe.decode(&mut (), wire, op, bytes, &mut Vec::new())
    }

    fn is_due(step: Step) -> bool {
        step == Step::Done { consumed: BYTES, answer: Answer::ok(BYTES as u64), then: Then::Keep }
    }

    const ASIDE: Step = Step::Aside { consumed: BYTES };

    #[test]
    fn a_late_answer_is_not_taken_for_the_one_that_is_due() {
        let (mut probe, mut wire) = welcomed();
        let (_, first) = asked(&mut probe, &mut wire);
        let (second_op, second) = asked(&mut probe, &mut wire);
        assert_eq!(judge(&mut probe, &mut wire, Some(second_op), &pong(&first, 1)), ASIDE);
        assert!(is_due(judge(&mut probe, &mut wire, Some(second_op), &pong(&second, 2))));
        assert_eq!(judge(&mut probe, &mut wire, None, &pong(&second, 2)), ASIDE, "twice");
        let expected =
            DatagramTally { sent: 2, answered: 1, late: 1, again: 1, lost_there: 0, counted: true };
        assert_eq!(probe.tally(), expected);
    }

    #[test]
    fn what_the_server_has_not_seen_was_lost_on_the_way_there() {
        let (mut probe, mut wire) = welcomed();
        let pings: Vec<_> = (0..10).map(|_| asked(&mut probe, &mut wire)).collect();
        // 0 and 1 never came, 2 is answered: one seen
        judge(&mut probe, &mut wire, None, &pong(&pings[2].1, 1));
        assert_eq!(probe.tally().lost_there, 2);
        // 1 came late after all, 3 and 4 did not
        judge(&mut probe, &mut wire, None, &pong(&pings[5].1, 3));
        assert_eq!(probe.tally().lost_there, 3);
        // an answer that was overtaken says nothing new
        judge(&mut probe, &mut wire, None, &pong(&pings[1].1, 2));
        assert_eq!((probe.tally().lost_there, probe.tally().late), (3, 3));
    }

    #[test]
    fn a_changed_byte_anywhere_is_seen_and_other_datagrams_are_not_taken() {
        let (mut probe, mut wire) = welcomed();
        let (op, ping) = asked(&mut probe, &mut wire);
        let mut cut = pong(&ping, 1);
        cut.pop();
        let garbled = Answer::failed(FailureKind::Garbled);
        let step = judge(&mut probe, &mut wire, Some(op), &cut);
        assert!(matches!(step, Step::Done { answer, then: Then::Keep, .. } if answer == garbled));
        for place in HEAD_BYTES..BYTES {
            let (op, ping) = asked(&mut probe, &mut wire);
            let mut changed = pong(&ping, 0);
            changed[place] ^= 1;
            let step = judge(&mut probe, &mut wire, Some(op), &changed);
            assert!(matches!(step, Step::Done { answer, .. } if answer == garbled), "{place}");
        }
        let (op, ping) = asked(&mut probe, &mut wire);
        let mut of_somebody_else = pong(&ping, 0);
        of_somebody_else[5] ^= 1; // its token
        for other in [of_somebody_else, ping.clone(), vec![0; BYTES]] {
            assert_eq!(judge(&mut probe, &mut wire, Some(op), &other), ASIDE);
        }
        let mut ahead = pong(&ping, 0);
        ahead[18] = 1; // its number
        assert_eq!(judge(&mut probe, &mut wire, Some(op), &ahead), ASIDE);
        assert!(is_due(judge(&mut probe, &mut wire, Some(op), &pong(&ping, 0))));
    }
}
