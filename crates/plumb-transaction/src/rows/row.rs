//! A row, as whoever takes it sees it.

use super::Position;

/// A row as it leaves the document.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its fields, in the order of the plan; `None` for one that the document does not have.
    pub values: &'a [Option<&'a str>],
    pub(super) document: &'a [u8],
    /// The byte where its element ends.
    pub(super) at: usize,
}

impl Row<'_> {
    /// Where its element ends, for which the document is gone through up to there.
    #[must_use]
    pub fn position(&self) -> Position {
        Position::of(self.document, self.at)
    }
}
