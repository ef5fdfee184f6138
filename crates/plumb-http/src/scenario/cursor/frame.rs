//! What a user is within: loops and groups, and the lists that all users share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plumb_engine::OperationGroup;
use plumb_measure::{LoadPart, Outcome};
use plumb_scenario::variables::{Slot, Value};

use super::Around;
use crate::scenario::program::Turns;

/// How far all users together are in the lists they share.
#[derive(Debug, Default)]
pub(crate) struct SharedTurns {
    begun: Vec<AtomicUsize>,
    /// Whose turns those of this process are.
    part: LoadPart,
}

impl SharedTurns {
    /// Nobody has begun any of `count` lists.
    pub(crate) fn new(count: usize, part: LoadPart) -> Self {
        Self { begun: (0..count).map(|_| AtomicUsize::new(0)).collect(), part }
    }

    /// The next value of list `number` that nobody has had.
    fn next(&self, number: usize) -> usize {
        let Some(begun) = self.begun.get(number) else { return usize::MAX };
        let next = self.part.number(begun.fetch_add(1, Ordering::Relaxed) as u64);
        usize::try_from(next).unwrap_or(usize::MAX)
    }
}

/// Something that a user is within.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    Each { values: Arc<[Arc<str>]>, variable: Slot, next: usize, end: usize, turns: Turns },
    Repeat { left: u64 },
    While { done: u64 },
    Group { row: u16, took_ns: u64, counts: bool, outcome: Outcome, asked: bool },
}

impl Frame {
    /// A loop over the first `most` of `values`, whose first turn is not taken yet.
    pub(super) fn each(values: Arc<[Arc<str>]>, variable: Slot, most: u64, turns: Turns) -> Self {
        let end = usize::try_from(most).unwrap_or(usize::MAX).min(values.len());
        Self::Each { values, variable, next: 0, end, turns }
    }

    /// A group in which nothing was asked for yet.
    pub(super) fn group(row: u16) -> Self {
        Self::Group { row, took_ns: 0, counts: true, outcome: Outcome::Ok, asked: false }
    }

    /// Turns that a loop with a condition has had.
    pub(super) fn done(&self) -> u64 {
        match self {
            Self::While { done } => *done,
            Self::Each { .. } | Self::Repeat { .. } | Self::Group { .. } => 0,
        }
    }

    /// Takes the next turn of a loop; false when there is none.
    pub(super) fn turn(&mut self, around: &mut Around<'_>) -> bool {
        match self {
            Self::Each { values, variable, next, end, turns } => {
                let number = match turns {
                    Turns::Own => *next,
                    Turns::Shared(list) => around.shared.next(*list),
                };
                *next += 1;
                match values.get(number).filter(|_| number < *end) {
                    Some(value) => {
                        around.variables.set(*variable, Value::Text(Arc::clone(value)));
                        true
                    }
                    None => false,
                }
            }
            Self::Repeat { left } => {
                let more = *left > 0;
                *left = left.saturating_sub(1);
                more
            }
            Self::While { done } => {
                *done += 1;
                true // the condition is asked next
            }
            Self::Group { .. } => false,
        }
    }

    /// True of a loop that has no turn behind this one, whatever comes. Whether one with a condition,
    /// or with turns that all users share, has another is asked behind it.
    pub(super) fn is_at_last_turn(&self) -> bool {
        match self {
            Self::Each { values, next, end, turns: Turns::Own, .. } => {
                *next >= (*end).min(values.len())
            }
            Self::Repeat { left } => *left == 0,
            Self::Each { turns: Turns::Shared(_), .. }
            | Self::While { .. }
            | Self::Group { .. } => false,
        }
    }

    /// A group that asked for something, all of it within the recorded part, is timed, once.
    pub(super) fn complete(&mut self, complete: &mut Vec<OperationGroup>) {
        if let Self::Group { row, took_ns, counts: true, outcome, asked } = self
            && std::mem::take(asked)
        {
            complete.push(OperationGroup { row: *row, took_ns: *took_ns, outcome: *outcome });
        }
    }
}
