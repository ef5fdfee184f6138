//! A client of a load: what it says next, and whether the answer is right.

use std::num::NonZeroU32;

use plumb_engine::{Next, Op, Protocol, Step as Read, Then};
use plumb_lock_server::Login;
use plumb_lock_server::stamps;
use plumb_measure::{Answer, FailureKind, Outcome, Residence};
use plumb_wire::resp::{self, Reply, ReplyLimits};

use super::script::{Digits, Expect, Frame, Step, Who, Workload};
use crate::foreign::no_resp;

/// What is read of one answer at most.
pub(crate) const LIMITS: ReplyLimits = ReplyLimits { bytes: 16 << 20, items: 200_000 };
/// Tags of greetings count down from here; steps of scripts count up from zero.
const GREETING: u16 = u16::MAX;
/// Lost connections that are remembered at most where each has to be released by itself; the older half
/// of them has most likely ended.
const LOST_MAX: usize = 1 << 16;
/// Bytes of an error that are shown.
const SHOWN: usize = 200;

/// The client half of a lock load.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    workload: Workload,
    /// Tells this load from all others.
    load: String,
    greeting: Vec<(Frame, Expect)>,
    complaint: Option<String>,
    /// What its clients may have left on the server when the load was over.
    left: Vec<Left>,
    /// Locks that were released by their number.
    released: u64,
}

/// One client, over all its connections.
#[derive(Debug)]
pub(crate) struct Client {
    number: usize,
    life: u32,
    steps: Vec<Step>,
    at: usize,
    round: u32,
    digits: Digits,
    /// The last fence number that it was given.
    fence: i64,
    /// Nothing of a round is under way: what it took is released.
    released: bool,
    /// That was not so of a connection that was lost, and all of them are to be released.
    lost: bool,
}

impl Client {
    /// What it may have left behind.
    fn left(&self) -> Left {
        Left { number: self.number, life: self.life, digits: self.digits }
    }
}

/// What a client was interrupted with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// Which client.
    pub(super) number: usize,
    /// How often its connection was made: it was somebody else each time.
    pub(super) life: u32,
    /// Its last round.
    pub(super) digits: Digits,
}

/// How much of its greeting a connection has said, and what the server tells beside its replies.
#[derive(Debug, Default)]
pub(crate) struct Greeted {
    said: usize,
    /// It tells how long it has single commands.
    telling: bool,
    told: Option<(u32, Residence)>,
}

impl Probe {
    pub(crate) fn new(workload: Workload, load: String, login: Option<&Login>) -> Self {
        let auth = login.map(|it| {
            let password = String::from_utf8_lossy(&it.password);
            let words = match &it.user {
                Some(user) => vec!["AUTH", user, &password],
                None => vec!["AUTH", &password],
            };
            (Frame::new(&words), Expect::Welcome)
        });
        let greeting = auth.into_iter().chain(workload.greeting()).collect();
        Self { workload, load, greeting, complaint: None, left: Vec::new(), released: 0 }
    }

    /// What its clients may have left on the server, now that the load is over.
    pub(super) fn left(&self) -> &[Left] {
        &self.left
    }

    /// Locks that the server says it has released, of a load that only releases.
    pub(super) fn released(&self) -> u64 {
        self.released
    }

    /// It asks only that of several servers which gives locks out.
    pub(crate) fn of_a_pair(mut self) -> Self {
        self.greeting.push((Frame::new(&["ROLE"]), Expect::Primary));
        self
    }

    /// The same, whose server is asked how long it has one command in `every`, if it is one of ours.
    pub(crate) fn stamped(mut self, every: Option<NonZeroU32>) -> Self {
        if let Some(every) = every.filter(|_| self.workload.is_of_plumb()) {
            // last, so that the commands of the load are counted from the first
            let question = Frame::new(&["STAMPS", &every.to_string(), "0"]);
            self.greeting.push((question, Expect::Stamps));
        }
        self
    }

    fn judge(&mut self, client: &mut Client, tag: u16, reply: Reply<'_>) -> Answer {
        let greeting = usize::from(GREETING - tag);
        let expect = match self.greeting.get(greeting) {
            Some((_, expect)) => expect,
            None => &client.steps[usize::from(tag)].expect,
        };
        if let (Workload::Clear(..), Expect::Count(expected), &Reply::Integer(count)) =
            (self.workload, expect, &reply)
        {
            self.released += u64::try_from(count).unwrap_or(0);
            if count != *expected {
                let locks = if count == 1 { "lock" } else { "locks" };
                self.complaint.get_or_insert_with(|| {
                    format!("released {count} {locks} of one owner, who was to hold {expected}")
                });
            }
        }
        let failed = match (expect, reply) {
            (Expect::Fence, Reply::Integer(fence)) if fence > 0 && fence >= client.fence => {
                client.fence = fence;
                return Answer::ok(0);
            }
            (Expect::Count(expected), Reply::Integer(count)) if count == *expected => {
                return Answer::ok(0);
            }
            (Expect::Primary, Reply::Array(mut role)) => {
                if matches!(role.next(), Some(Reply::Bulk(b"master"))) {
                    return Answer::ok(0);
                }
                FailureKind::Refused
            }
            (Expect::Stored, Reply::Simple(b"OK"))
            | (Expect::Epoch, Reply::Integer(_))
            | (Expect::Stamps, _) => return Answer::ok(0),
            (Expect::Bytes(expected), Reply::Bulk(found)) if found == expected => {
                return Answer::ok(0);
            }
            (Expect::Epoch, Reply::Error(text)) => {
                let said = shown(text);
                self.complaint = Some(format!(
                    "is no lock server of plumb, or does not know us: {said}; for Redis write \
                     --target-kind redis"
                ));
                FailureKind::Refused
            }
            (_, Reply::Error(text)) => {
                self.complaint = Some(format!("refused: {}", shown(text)));
                FailureKind::Refused
            }
            (Expect::Welcome, _) => return Answer::ok(0),
            (Expect::Fence, Reply::Array(_))
            | (Expect::Count(_), Reply::Integer(_))
            | (Expect::Stored | Expect::Bytes(_), Reply::Null | Reply::Bulk(_)) => {
                FailureKind::Collided
            }
            (Expect::Fence, Reply::Integer(fence)) => {
                self.complaint = Some(format!(
                    "gave the fence number {fence} after {}: numbers must not go back",
                    client.fence
                ));
                FailureKind::Garbled
            }
            (expected, found) => {
                self.complaint = Some(format!("answered {found:?} instead of {expected:?}"));
                FailureKind::Garbled
            }
        };
        Answer::failed(failed)
    }

    /// The connection of `client` is gone in the midst of a round.
    fn lose(&mut self, client: &mut Client) {
        if !self.workload.names_rounds() {
            client.lost = true;
            return;
        }
        if self.left.len() == LOST_MAX {
            self.left.drain(..LOST_MAX / 2);
        }
        self.left.push(client.left());
    }

    fn garbled(&mut self, consumed: usize, complaint: String) -> Read {
        self.complaint = Some(complaint);
        Read::broken(FailureKind::Garbled, consumed, None)
    }
}

/// The start of what a server said.
pub(crate) fn shown(text: &[u8]) -> String {
    // no terminal obeys it
    String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).replace(char::is_control, "?")
}

impl Protocol for Probe {
    type User = Client;
    type Wire = Greeted;

    fn user(&mut self, number: usize) -> Client {
        Client {
            number,
            life: 0,
            steps: Vec::new(),
            at: 0,
            round: 0,
            digits: Digits::of(0),
            fence: 0,
            released: true,
            lost: false,
        }
    }

    /// A client on a new connection begins a round as somebody new: what it held on the old one
    /// ends with that, but not at once. Locks that outlive a connection keep their owner.
    fn hello(&mut self, client: &mut Client, wire: &mut Greeted, out: &mut Vec<u8>) -> Option<Op> {
        if wire.said == 0 {
            if !std::mem::replace(&mut client.released, true) {
                self.lose(client);
            }
            client.life += 1;
            if std::mem::take(&mut client.at) > 0 {
                client.round += 1;
                client.digits = Digits::of(client.round % self.workload.cycle());
            }
            let who = Who { load: &self.load, number: client.number, life: client.life };
            client.steps = self.workload.script(who);
        }
        let (frame, _) = self.greeting.get(wire.said)?;
        frame.push(out, Digits::of(0));
        let said = u16::try_from(wire.said).unwrap_or(0); // a handful
        wire.said += 1;
        Some(Op { label: 0, tag: GREETING - said })
    }

    fn encode(&mut self, client: &mut Client, _: &mut Greeted, out: &mut Vec<u8>) -> Next {
        if client.at == client.steps.len() {
            client.at = 0;
            client.round += 1;
            client.digits = Digits::of(client.round % self.workload.cycle());
        }
        if self.workload.rounds().is_some_and(|rounds| client.round >= rounds) {
            return Next::Finish;
        }
        let step = &client.steps[client.at];
        let frame = match &step.first {
            Some(first) if client.round == 0 => first,
            _ => &step.frame,
        };
        frame.push(out, client.digits);
        let tag = u16::try_from(client.at).unwrap_or(0); // scripts are short
        client.at += 1;
        client.released = false;
        Next::Send(Op { label: step.row, tag })
    }

    fn decode(
        &mut self,
        client: &mut Client,
        wire: &mut Greeted,
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Read {
        match (resp::reply(bytes, &LIMITS), op) {
            (Ok(None), _) => Read::Need { consumed: 0 },
            (Ok(Some((reply, consumed))), _)
                if wire.telling
                    && let Some(told) = stamps::told(reply) =>
            {
                wire.told = Some(told);
                Read::Aside { consumed }
            }
            (Ok(Some((reply, consumed))), Some(op)) => {
                // another server has taken its place: it may be found there
                let replaced = matches!(reply, Reply::Error(text) if text.starts_with(b"READONLY"));
                let greeting = self.greeting.get(usize::from(GREETING - op.tag));
                if greeting.is_some_and(|(_, expect)| *expect == Expect::Stamps) {
                    wire.telling = reply == Reply::Simple(b"OK");
                }
                let answer = self.judge(client, op.tag, reply);
                let asked = usize::from(op.tag) + 1;
                client.released |= asked == client.at
                    && asked == client.steps.len()
                    && answer.outcome == Outcome::Ok;
                let then = if replaced { Then::Close } else { Then::Keep };
                Read::Done { consumed, answer, then }
            }
            (Ok(Some((reply, consumed))), None) => {
                let text = format!("sent {reply:?}, for which nobody asked");
                self.garbled(consumed, text)
            }
            (Err(malformed), _) => {
                let text = no_resp(bytes, || format!("does not speak RESP: {malformed}"));
                self.garbled(bytes.len(), text)
            }
        }
    }

    fn tells_residence(&self, wire: &Greeted) -> bool {
        wire.telling
    }

    fn residence(&mut self, wire: &mut Greeted) -> Option<(u32, Residence)> {
        wire.told.take()
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }

    fn leave(&mut self, client: Client) {
        if client.lost || !client.released {
            self.left.push(client.left());
        }
    }
}

#[cfg(test)]
mod tests;
