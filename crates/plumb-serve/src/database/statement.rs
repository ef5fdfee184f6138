//! Statements whose values travel as texts: the database gives each the type that it wants there.

use std::sync::Arc;

use super::DatabaseError;

/// A statement with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// With `$1`, `$2`, ... for its values, each of them once and in this order.
    pub text: Arc<str>,
    /// A value each, `None` for none.
    pub values: Vec<Option<String>>,
}

/// What a statement brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Rows that it changed; of a statement that brings rows, how many it brought.
    pub changed: u64,
    /// Names of the columns of its rows.
    pub columns: Vec<String>,
    /// Its first row, as texts.
    pub first: Option<Vec<Option<String>>>,
}

/// Why several statements were not all done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The first that was not, from 0.
    pub at: usize,
    /// What the database said of it.
    pub error: DatabaseError,
}

impl Statement {
    /// A statement without values.
    #[must_use]
    pub fn plain(text: &str) -> Self {
        Self { text: text.into(), values: Vec::new() }
    }

    /// Texts that no database takes are found before anything is sent.
    pub(super) fn check(&self) -> Result<(), DatabaseError> {
        let nul = self.values.iter().flatten().any(|text| text.contains('\0'));
        if nul { Err(DatabaseError::Nul) } else { Ok(()) }
    }
}
