//! Questions to a lock server beside a load, over a connection of their own.

use std::collections::{BTreeMap, VecDeque};

use plumb_engine::{Endpoint, EngineError, Interrupted, LoadPlan, Protocol, Stage, Stop};
use plumb_measure::{FailureKind, Span};
use plumb_wire::resp::{self, Reply};

use crate::LockError;
use crate::dialogue::{Dialogue, Greeted, Heard};
use crate::foreign::SPEAKS_TLS;
use crate::said::Said;
use crate::target::Target;

/// Nobody waits longer for an answer.
pub(crate) const PATIENCE: Span = Span::from_ms(5_000);

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
    /// [`LockError`] when the server cannot be reached or does not answer, or `stop` is asked before it has.
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
            if stop.asked() && complaint.is_none() {
                return Err(EngineError::from(Interrupted).into());
            }
            let failed = load.recorder.failures().iter().next();
            let how = complaint.unwrap_or_else(|| {
                let kind = failed.map_or("none", |(kind, _)| kind.name());
                format!("gave no answer: {kind}")
            });
            let address = endpoint.to_string();
            return Err(match &*how {
                SPEAKS_TLS => LockError::SpeaksTls { address },
                _ => LockError::NoAnswer { address, how },
            });
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

    /// The figures of a lock server of plumb.
    pub(crate) fn figures(&self, patience: Span, stop: &Stop) -> Result<Figures, LockError> {
        let said = self.ask_one(&[b"INFO"], patience, stop)?;
        Figures::parse(&said.text()).ok_or_else(|| LockError::NoAnswer {
            address: self.name.clone(),
            how: "is no lock server of plumb".into(),
        })
    }

    /// Commands that the server whose figures are asked has served from one of these questions to
    /// the next, the next one among them.
    pub(crate) fn commands_a_question(&self) -> u64 {
        let connections = if self.is_pair() { 2 } else { 1 }; // the role comes over one of its own
        connections * (1 + u64::from(self.login.is_some()))
    }
}

/// The figures of a lock server at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) by_name: BTreeMap<String, u64>,
    /// Which server counts, and since which start: of another number are other totals.
    pub(crate) run: Option<u64>,
    /// How replication is, in the server's word.
    pub(crate) replication: String,
}

impl Figures {
    /// Those that `INFO` tells, if a lock server of plumb has said it.
    fn parse(info: &str) -> Option<Self> {
        let value = |of: &str| {
            let mut pairs = info.lines().filter_map(|line| line.split_once(':'));
            pairs.find(|(name, _)| *name == of).map(|(_, value)| value)
        };
        value("plumb_version")?;
        let figures = info.lines().skip_while(|line| *line != "# Locks");
        let figures = figures.filter_map(|line| line.split_once(':'));
        let by_name = figures.map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        let by_name = by_name.collect::<Option<_>>()?;
        let replication = value("replication").unwrap_or_default().to_owned();
        Some(Self { by_name, run: value("run_id").and_then(run), replication })
    }

    /// The figure of this name; 0 for one that is not there.
    pub(crate) fn of(&self, name: &str) -> u64 {
        self.by_name.get(name).copied().unwrap_or(0)
    }

    /// True when what was counted from `before` on is what one server has done since.
    pub(crate) fn go_on_from(&self, before: &Self) -> bool {
        self.run == before.run
    }
}

/// Of `run_id`, the last of the hexadecimal digits that are drawn at each start.
pub(crate) fn run(text: &str) -> Option<u64> {
    const DIGITS: usize = 16;
    u64::from_str_radix(text.get(text.len().saturating_sub(DIGITS)..)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_a_lock_server_and_of_one_of_its_starts() {
        let info = |run: &str| {
            let head =
                format!("# Server\r\nredis_version:7.0.0\r\nplumb_version:1\r\nrun_id:{run}");
            format!("{head}\r\ntick:free\r\n\r\n# Locks\r\ncommands:7\r\nlocks:3\r\n")
        };
        let [one, other] = ["01", "02"].map(|run| Figures::parse(&info(run)).expect("figures"));
        assert_eq!((one.of("commands"), one.of("locks"), one.by_name.len()), (7, 3, 2));
        assert!(one.go_on_from(&one) && !other.go_on_from(&one));
        assert_eq!(Figures::parse("# Server\r\nredis_version:7.0.0\r\n"), None);
        assert_eq!(Figures::parse(&info("01").replace(":3", ":three")), None);
    }
}
