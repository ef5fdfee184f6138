//! Questions to a lock server beside a load, over a connection of their own.

use std::collections::{BTreeMap, VecDeque};

use plumb_engine::{Endpoint, LoadPlan, Next, Op, Protocol, Stage, Step, Stop, Then};
use plumb_measure::{Answer, FailureKind, Span};
use plumb_wire::resp::{self, Reply};

use crate::LockError;
use crate::load::{LIMITS, shown};
use crate::password::Login;
use crate::target::Target;

/// Nobody waits longer for an answer.
pub(crate) const PATIENCE: Span = Span::from_ms(5_000);

/// A reply that outlives the bytes it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Bytes, or a status.
    Text(Vec<u8>),
    Number(i64),
    Nothing,
    Many(Vec<Said>),
    Error(String),
}

impl Said {
    fn of(reply: Reply<'_>) -> Self {
        match reply {
            Reply::Simple(text) | Reply::Bulk(text) => Self::Text(text.to_vec()),
            Reply::Error(text) => Self::Error(shown(text)),
            Reply::Integer(value) => Self::Number(value),
            Reply::Null => Self::Nothing,
            Reply::Array(items) => Self::Many(items.map(Self::of).collect()),
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Self::Number(value) => value.to_string(),
            Self::Error(text) => text.clone(),
            Self::Nothing | Self::Many(_) => String::new(),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            Self::Number(_) | Self::Nothing | Self::Many(_) | Self::Error(_) => b"",
        }
    }

    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Number(value) => u64::try_from(*value).unwrap_or(0),
            _ => 0,
        }
    }
}

/// What a server said, without anything that a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Commands that are asked one after the other.
#[derive(Clone, Debug)]
struct Questions {
    login: Option<Login>,
    commands: VecDeque<Vec<u8>>,
    said: Vec<Said>,
    complaint: Option<String>,
}

/// The answer to a password is not one of those that were asked for.
pub(crate) const HELLO: u16 = 1;

/// Names the password on the only connection, if one is wanted.
pub(crate) fn hello(login: &mut Option<Login>, out: &mut Vec<u8>) -> Option<Op> {
    login.take()?.push(out);
    Some(Op { label: 0, tag: HELLO })
}

impl Protocol for Questions {
    type User = ();
    type Wire = ();

    fn user(&mut self, _: usize) {}

    fn hello(&mut self, (): &mut (), (): &mut (), out: &mut Vec<u8>) -> Option<Op> {
        hello(&mut self.login, out)
    }

    fn encode(&mut self, (): &mut (), (): &mut (), out: &mut Vec<u8>) -> Next {
        match self.commands.pop_front() {
            None => Next::Finish,
            Some(command) => {
                out.extend_from_slice(&command);
                Next::Send(Op { label: 0, tag: 0 })
            }
        }
    }

    fn decode(
        &mut self,
        (): &mut (),
        (): &mut (),
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let done = |consumed, answer| Step::Done { consumed, answer, then: Then::Keep };
        match (resp::reply(bytes, &LIMITS), op) {
            (Ok(None), _) => Step::Need { consumed: 0 },
            (Ok(Some((Reply::Error(text), taken))), Some(Op { tag: HELLO, .. })) => {
                self.complaint = Some(format!("refused: {}", shown(text)));
                done(taken, Answer::failed(FailureKind::Refused))
            }
            (Ok(Some((_, taken))), Some(Op { tag: HELLO, .. })) => done(taken, Answer::ok(0)),
            (Ok(Some((reply, taken))), Some(_)) => {
                self.said.push(Said::of(reply));
                done(taken, Answer::ok(0))
            }
            (Ok(Some(_)), None) | (Err(_), _) => {
                self.complaint = Some("does not speak RESP as a lock server does".into());
                Step::broken(FailureKind::Garbled, bytes.len(), None)
            }
        }
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }
}

impl Target {
    /// Asks `commands` in their order; as many answers.
    ///
    /// # Errors
    /// [`LockError`] when the server cannot be reached or does not answer.
    pub(crate) fn ask(
        &self,
        commands: &[&[&[u8]]],
        patience: Span,
        stop: &Stop,
    ) -> Result<Vec<Said>, LockError> {
        let endpoint = self.reach(patience, stop)?;
        self.ask_at(&endpoint, commands, patience, stop)
    }

    /// The same, of one address.
    pub(crate) fn ask_at(
        &self,
        endpoint: &Endpoint,
        commands: &[&[&[u8]]],
        patience: Span,
        stop: &Stop,
    ) -> Result<Vec<Said>, LockError> {
        let frame = |words: &&[&[u8]]| {
            let mut bytes = Vec::new();
            resp::push_command(&mut bytes, words);
            bytes
        };
        let questions = Questions {
            login: self.login.clone(),
            commands: commands.iter().map(frame).collect(),
            said: Vec::new(),
            complaint: None,
        };
        let mut stage = Stage { endpoint, stop, samplers: &mut [], gate: None };
        let plan = LoadPlan::lone(commands.len() as u64, patience);
        let load = self.drive(&plan, &mut stage, 1, || questions.clone())?;
        let complaint = load.protocols.iter().find_map(Protocol::complaint);
        let said = load.protocols.into_iter().next().map(|it| it.said).unwrap_or_default();
        if said.len() < commands.len() {
            let failed = load.recorder.failures().iter().next();
            let how = complaint.unwrap_or_else(|| {
                let kind = failed.map_or("interrupted", |(kind, _)| kind.name());
                format!("gave no answer: {kind}")
            });
            return Err(LockError::NoAnswer { address: endpoint.to_string(), how });
        }
        Ok(said)
    }

    /// One question whose answer must not be an error.
    pub(crate) fn ask_one(
        &self,
        words: &[&[u8]],
        patience: Span,
        stop: &Stop,
    ) -> Result<Said, LockError> {
        match self.ask(&[words], patience, stop)?.pop() {
            Some(Said::Error(how)) => {
                Err(LockError::NoAnswer { address: self.name.clone(), how: format!("said: {how}") })
            }
            Some(said) => Ok(said),
            None => Err(LockError::NoAnswer { address: self.name.clone(), how: "is gone".into() }),
        }
    }

    /// The figures of a lock server of plumb, by name.
    pub(crate) fn figures(
        &self,
        patience: Span,
        stop: &Stop,
    ) -> Result<BTreeMap<String, u64>, LockError> {
        match self.ask_one(&[b"LOCKSTAT"], patience, stop)? {
            Said::Many(said) => {
                Ok(said.chunks_exact(2).map(|pair| (pair[0].text(), pair[1].number())).collect())
            }
            _ => Err(LockError::NoAnswer {
                address: self.name.clone(),
                how: "is no lock server of plumb".into(),
            }),
        }
    }
}
