//! Questions to a lock server beside a load, over a connection of their own.

use std::collections::{BTreeMap, VecDeque};

use plumb_engine::{Endpoint, LoadPlan, Protocol, Stage, Stop};
use plumb_measure::{FailureKind, Span};
use plumb_wire::resp::{self, Reply};

use crate::LockError;
use crate::dialogue::{Dialogue, Greeted, Heard};
use crate::said::Said;
use crate::target::Target;

/// Nobody waits longer for an answer.
pub(crate) const PATIENCE: Span = Span::from_ms(5_000);

/// What a server said, without anything that a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Commands that are asked one after the other.
#[derive(Clone, Debug)]
struct Questions {
    commands: VecDeque<Vec<u8>>,
    said: Vec<Said>,
}

impl Dialogue for Questions {
    fn ask(&mut self, out: &mut Vec<u8>) -> bool {
        let command = self.commands.pop_front();
        command.inspect(|command| out.extend_from_slice(command)).is_some()
    }

    fn hear(&mut self, reply: Reply<'_>) -> Result<Heard, (FailureKind, String)> {
        self.said.push(Said::of(reply));
        Ok(Heard::Answer)
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
        let commands_framed = commands.iter().map(frame).collect();
        let questions = Questions { commands: commands_framed, said: Vec::new() };
        let questions = Greeted::new(self.login.clone(), questions);
        let mut stage = Stage { endpoint, stop, samplers: &mut [], gate: None };
        let plan = LoadPlan::lone(commands.len() as u64, patience);
        let load = self.drive(&plan, &mut stage, 1, || questions.clone())?;
        let complaint = load.protocols.iter().find_map(Protocol::complaint);
        let said = load.protocols.into_iter().next().map(|it| it.dialogue.said).unwrap_or_default();
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
