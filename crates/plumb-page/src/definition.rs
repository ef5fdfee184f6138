//! A word of a report and what it means.

/// A word and what it means here.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The word, as it stands in tables.
    pub term: &'static str,
    /// Its meaning, in sentences.
    pub meaning: &'static str,
}
