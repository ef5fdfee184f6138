//! A row, as whoever takes it sees it.

use super::Position;

/// A row as it leaves the document.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Where its element ends.
    pub position: Position,
    /// Its fields, in the order of the plan; `None` for one that the document does not have.
    pub values: &'a [Option<&'a str>],
}
