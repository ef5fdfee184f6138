//! Why a transaction ended before its last action.

use std::fmt;
use std::sync::Arc;

use super::OutsideError;
use crate::rows::Position;

/// Why a transaction ended before its last action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The actions that were under way, outermost first.
    pub actions: Vec<Arc<str>>,
    /// What went wrong, with the place in the document where there is one.
    pub problem: String,
    /// Whether another attempt makes sense.
    pub kind: FailureKind,
}

/// What becomes of a message whose transaction failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Something outside could not be reached.
    Lost,
    /// The message, or what an action asked for, is not right.
    Refused,
    /// It took longer than it may.
    TimeLimit,
    /// Nothing failed: an attempt whose end was not heard of has done it.
    DoneBefore,
}

impl FailureKind {
    /// True when the next attempt may succeed.
    #[must_use]
    pub fn is_worth_retrying(self) -> bool {
        matches!(self, Self::Lost | Self::TimeLimit)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.actions.is_empty() {
            return f.write_str(&self.problem);
        }
        write!(f, "{}: {}", self.actions.join(", "), self.problem)
    }
}

impl std::error::Error for Failed {}

/// What an action could not do, before it is known which actions were around it.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub(super) struct Trouble {
    pub(super) kind: FailureKind,
    pub(super) problem: String,
}

impl Trouble {
    pub(super) fn within(self, actions: Vec<Arc<str>>) -> Failed {
        Failed { actions, problem: self.problem, kind: self.kind }
    }

    pub(super) fn in_row(self, at: Position) -> Self {
        Self { problem: format!("{}; in the row that ends at {at}", self.problem), ..self }
    }
}

impl From<String> for Trouble {
    fn from(problem: String) -> Self {
        Self { kind: FailureKind::Refused, problem }
    }
}

impl From<OutsideError> for Trouble {
    fn from(error: OutsideError) -> Self {
        let kind = match &error {
            OutsideError::Lost(_) => FailureKind::Lost,
            OutsideError::Refused(_) => FailureKind::Refused,
            OutsideError::Late(_) => FailureKind::TimeLimit,
            OutsideError::DoneBefore => FailureKind::DoneBefore,
        };
        Self { kind, problem: error.to_string() }
    }
}
