//! What is said of wrong answers: of each step the first, that of the warm-up apart.

use super::Player;
use crate::scenario::program::Step;

/// What is said of a wrong answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Complaint<'a> {
    /// No answer of the recorded part has been wrong.
    pub(crate) warms_up: bool,
    /// The step, and its place in the file.
    pub(crate) step: (&'a str, &'a str),
    pub(crate) words: &'a str,
}

impl std::fmt::Display for Complaint<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, place) = self.step;
        write!(f, "{name} ({place}): {}", self.words)
    }
}

/// The complaints about one step.
#[derive(Clone, Debug, Default)]
pub(super) struct Complaints {
    /// Of an operation that has not ended yet: where it belongs is known then.
    fresh: Option<String>,
    warming: Option<String>,
    recorded: Option<String>,
}

impl Complaints {
    fn add(&mut self, words: impl FnOnce() -> String) {
        if self.recorded.is_none() {
            self.fresh.get_or_insert_with(words);
        }
    }

    fn first<'a>(&'a self, step: &'a Step) -> Option<Complaint<'a>> {
        let recorded = self.recorded.as_ref().or(self.fresh.as_ref());
        let words = recorded.or(self.warming.as_ref())?;
        Some(Complaint { warms_up: recorded.is_none(), step: (&step.name, &step.place), words })
    }
}

impl Player {
    /// What is said of wrong answers, the first of each step.
    pub(crate) fn complaints(&self) -> impl Iterator<Item = Complaint<'_>> {
        let each = self.complaints.iter().zip(self.script.steps.iter());
        each.filter_map(|(complaints, step)| complaints.first(step))
    }

    /// Says what is wrong with the answer to step `number`.
    pub(super) fn complain(&mut self, number: u16, words: impl FnOnce() -> String) {
        if let Some(complaints) = self.complaints.get_mut(usize::from(number)) {
            complaints.add(words);
        }
    }

    /// An operation of step `number` has ended, in the recorded part if it `counts`: what was said of it
    /// belongs there.
    pub(super) fn file_complaint(&mut self, number: usize, counts: bool) {
        let Some(complaints) = self.complaints.get_mut(number) else { return };
        if let Some(words) = complaints.fresh.take() {
            let place = if counts { &mut complaints.recorded } else { &mut complaints.warming };
            place.get_or_insert(words);
        }
    }
}
