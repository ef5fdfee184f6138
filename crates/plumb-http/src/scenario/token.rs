//! Tokens that end, and are got again before they do.

use plumb_measure::Span;
use plumb_scenario::ScenarioError;
use plumb_scenario::ScenarioSource;
use plumb_scenario::file;
use plumb_scenario::template::Template;
use plumb_scenario::variables::{Names, Slot, Variables};

use super::cursor::Cursor;
use super::program::{Instruction, Program};

/// How long before its end a token is got again when nothing is said.
const EARLY: Span = Span::from_ms(30_000);
const NS_PER_S: u64 = 1_000_000_000;
/// Characters that are told of what should have been a time.
const TOLD_CHARS: usize = 40;

/// How a user gets its token.
#[derive(Debug)]
pub(crate) struct Token {
    /// The steps that get it.
    pub(crate) program: Program,
    lasts: Lasts,
    early_ns: u64,
}

#[derive(Debug)]
enum Lasts {
    Time(Span),
    /// A number of seconds.
    Seconds(Template),
}

/// Where a user is with its token.
#[derive(Debug, Default)]
pub(crate) struct TokenState {
    /// In its steps, while they are done.
    pub(crate) cursor: Cursor,
    pub(crate) renewing: bool,
    /// It is got again from this moment on, on the clock of the run.
    due_ns: u64,
    /// It could not be got: what waited for it goes on without.
    pub(crate) failed: bool,
}

impl Token {
    /// How `written` says it, with steps that became `program`.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] at a time that is none.
    pub(crate) fn new(
        written: &file::Token,
        program: Program,
        source: &ScenarioSource,
        names: &mut Names,
    ) -> Result<Self, ScenarioError> {
        let (text, at) = (written.lasts.get_ref(), written.lasts.span());
        let lasts = match text.contains("${") {
            true => Lasts::Seconds(
                Template::parse(text, names)
                    .map_err(|error| source.wrong(&at, format!("lasts: {error}")))?,
            ),
            false => Lasts::Time(
                text.parse().map_err(|error| source.wrong(&at, format!("lasts: {error}")))?,
            ),
        };
        let early_ns = written.early.unwrap_or(EARLY).ns();
        Ok(Self { program, lasts, early_ns })
    }

    /// The number of the last step that gets it.
    pub(crate) fn last_step(&self) -> u16 {
        let steps = self.program.iter().flat_map(Instruction::requests);
        steps.last().unwrap_or(0) // there is one: what asks for nothing was refused
    }

    /// The variables that say how long it lasts.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        let template = match &self.lasts {
            Lasts::Time(_) => None,
            Lasts::Seconds(template) => Some(template),
        };
        template.into_iter().flat_map(Template::slots)
    }

    /// From `now_ns` on the token of the user of `state` is good.
    ///
    /// # Errors
    /// What `lasts` became, where that is no time. The token then counts as one without an end.
    pub(crate) fn got(
        &self,
        state: &mut TokenState,
        variables: &Variables,
        now_ns: u64,
    ) -> Result<(), String> {
        let lasts_ns = match &self.lasts {
            Lasts::Time(time) => time.ns(),
            Lasts::Seconds(template) => {
                let mut text = Vec::new();
                let written = template.write(variables, &mut text).is_ok();
                let text = String::from_utf8_lossy(&text).into_owned();
                let seconds = text.trim().parse::<u64>().ok().filter(|it| *it > 0 && written);
                let Some(seconds) = seconds else {
                    state.due_ns = u64::MAX;
                    return Err(text.chars().take(TOLD_CHARS).collect());
                };
                seconds.saturating_mul(NS_PER_S)
            }
        };
        let early_ns = self.early_ns.min(lasts_ns / 2);
        state.due_ns = now_ns.saturating_add(lasts_ns - early_ns);
        Ok(())
    }
}

impl TokenState {
    /// The same, out of the steps that get the token.
    pub(crate) fn at_rest(self) -> Self {
        Self { cursor: Cursor::default(), renewing: false, ..self }
    }

    /// True when the token is to be got before the next request at `now_ns`.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        !self.failed && now_ns >= self.due_ns
    }
}
