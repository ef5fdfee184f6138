//! Rows out of documents, in one pass: XML and JSON by the same paths, in memory that does not grow
//! with the document.
//!
//! [`RowPlan`] compiles the place of the rows and the places of their fields into one tree of names.
//! A field inside of its row is known when the row ends. A field of something that the row stands in
//! (`../HEAD/DATE`) must stand before the row, unless rows may be [held](Late::Hold).

mod declaration;
mod held;
mod json;
mod markup;
mod path;
mod plan;
mod position;
mod row;
mod walk;
mod xml;

#[cfg(test)]
mod tests;

pub use json::rows_of_json;
pub use path::{FieldPath, PathError, RowPath, STEPS_MAX};
pub use plan::RowPlan;
pub use position::Position;
pub use row::Row;
pub(crate) use walk::VALUE_MAX;
pub use xml::rows_of_xml;

/// What becomes of a row whose document has a field of it only behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// The document is refused at that field.
    Refuse,
    /// Rows wait, in their order, until their fields are known or cannot come any more.
    Hold {
        /// Bytes of the rows that wait, at most.
        bytes: usize,
    },
}

/// Why a document gave no more rows. Rows before it have been given out.
#[derive(Debug, thiserror::Error)]
pub enum StreamError<E> {
    /// It is not well-formed.
    #[error("{at}: {problem}")]
    Malformed {
        /// Where.
        at: Position,
        /// What was found, and expected.
        problem: String,
    },
    /// A document type, which could name files and define entities.
    #[error("{at}: a DOCTYPE is refused: it can name files and hide what is large; leave it out")]
    Doctype {
        /// Where.
        at: Position,
    },
    /// Another encoding than UTF-8.
    #[error("{at}: the encoding is {encoding}, expected UTF-8")]
    Encoding {
        /// Where.
        at: Position,
        /// As the document names it.
        encoding: String,
    },
    /// Too many elements in each other.
    #[error("{at}: more than {most} elements in each other")]
    TooDeep {
        /// Where.
        at: Position,
        /// The limit.
        most: usize,
    },
    /// A value beyond the limit.
    #[error("{at}: a value of more than {most} bytes")]
    ValueTooLong {
        /// Where.
        at: Position,
        /// The limit.
        most: usize,
    },
    /// A field behind a row that needed it.
    #[error(
        "{at}: `{field}` stands behind a row that it belongs to, which ended at {row}; \
         with `buffer` rows wait for it"
    )]
    Late {
        /// Where the field is.
        at: Position,
        /// Its name in the plan.
        field: String,
        /// Where the row ended.
        row: Position,
    },
    /// The rows that wait are too many.
    #[error("{at}: rows of more than {most} bytes wait for a field behind them; raise `buffer`")]
    BufferFull {
        /// Where.
        at: Position,
        /// The limit, bytes.
        most: usize,
    },
    /// Whoever takes the rows failed.
    #[error(transparent)]
    Sink(E),
}
