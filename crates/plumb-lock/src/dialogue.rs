//! Questions to a server over one connection, one after the other, behind the greeting.

use plumb_engine::{Next, Op, Protocol, Step, Then};
use plumb_lock_server::Login;
use plumb_measure::{Answer, FailureKind};
use plumb_wire::resp::{self, Reply};

use crate::foreign::no_resp;
use crate::load::{LIMITS, shown};

/// What is said of a server whose replies are not those of a lock server.
pub(crate) const FOREIGN: &str = "does not speak RESP as a lock server does";
/// The answer to a password is not one of those that were asked for.
const HELLO: u16 = 1;

/// What is asked, and what becomes of the answers.
pub(crate) trait Dialogue {
    /// A connection stands: the first one, or another behind one that was lost.
    fn opened(&mut self) {}

    /// Nothing is asked for so many nanoseconds. Asked before each question, and again behind the
    /// pause.
    fn pause(&mut self) -> Option<u64> {
        None
    }

    /// Appends the next question; false when everything was asked.
    fn ask(&mut self, out: &mut Vec<u8>) -> bool;

    /// The server said this.
    ///
    /// # Errors
    /// The kind of failure, and what is wrong: nothing more is asked then.
    fn hear(&mut self, reply: Reply<'_>) -> Result<Heard, (FailureKind, String)>;

    /// The server said this while no question was under way.
    ///
    /// # Errors
    /// As [`hear`](Self::hear), and for every reply where nothing may be said unasked.
    fn overhear(&mut self, _: Reply<'_>) -> Result<(), (FailureKind, String)> {
        Err((FailureKind::Garbled, FOREIGN.into()))
    }
}

/// What a reply was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The answer to the question.
    Answer,
    /// Something beside it: the answer is yet to come.
    Aside,
}

/// A dialogue behind its greeting.
#[derive(Clone, Debug)]
pub(crate) struct Greeted<D> {
    login: Option<Login>,
    pub(crate) dialogue: D,
    complaint: Option<String>,
}

impl<D> Greeted<D> {
    /// One that names its password first, if there is one.
    pub(crate) fn new(login: Option<Login>, dialogue: D) -> Self {
        Self { login, dialogue, complaint: None }
    }

    fn failed(&mut self, consumed: usize, (kind, complaint): (FailureKind, String)) -> Step {
        self.complaint = Some(complaint);
        Step::Done { consumed, answer: Answer::failed(kind), then: Then::Keep }
    }
}

impl<D: Dialogue> Protocol for Greeted<D> {
    type User = ();
    type Wire = ();

    fn user(&mut self, _: usize) {}

    fn hello(&mut self, (): &mut (), (): &mut (), out: &mut Vec<u8>) -> Option<Op> {
        let Some(login) = self.login.take() else {
            self.dialogue.opened();
            return None;
        };
        login.push(out);
        Some(Op { label: 0, tag: HELLO })
    }

    fn encode(&mut self, (): &mut (), (): &mut (), out: &mut Vec<u8>) -> Next {
        if self.complaint.is_some() {
            return Next::Finish;
        }
        if let Some(ns) = self.dialogue.pause() {
            return Next::Pause(ns);
        }
        if self.dialogue.ask(out) { Next::Send(Op { label: 0, tag: 0 }) } else { Next::Finish }
    }

    fn decode(
        &mut self,
        (): &mut (),
        (): &mut (),
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let done = |consumed| Step::Done {
            consumed,
            answer: Answer::ok(consumed as u64),
            then: Then::Keep,
        };
        match (resp::reply(bytes, &LIMITS), op) {
            (Ok(None), _) => Step::Need { consumed: 0 },
            (Ok(Some((Reply::Error(text), taken))), Some(Op { tag: HELLO, .. })) => {
                self.failed(taken, (FailureKind::Refused, format!("refused: {}", shown(text))))
            }
            (Ok(Some((_, taken))), Some(Op { tag: HELLO, .. })) => done(taken),
            (Ok(Some((reply, taken))), Some(_)) => match self.dialogue.hear(reply) {
                Ok(Heard::Answer) => done(taken),
                Ok(Heard::Aside) => Step::Aside { consumed: taken },
                Err(why) => self.failed(taken, why),
            },
            (Ok(Some((reply, taken))), None) => match self.dialogue.overhear(reply) {
                Ok(()) => Step::Aside { consumed: taken },
                Err((kind, complaint)) => {
                    self.complaint = Some(complaint);
                    Step::broken(kind, bytes.len(), None)
                }
            },
            (Err(_), _) => {
                self.complaint = Some(no_resp(bytes, || FOREIGN.into()));
                Step::broken(FailureKind::Garbled, bytes.len(), None)
            }
        }
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }
}
