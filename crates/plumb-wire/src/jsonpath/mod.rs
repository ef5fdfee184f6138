//! `JSONPath`: which values of a JSON document are meant.
//!
//! [`Path::find`] walks through the bytes of a document and builds no tree of it. What is
//! understood: names (`.name`, `['name']`), indices from the front and, when negative, from the
//! end, slices (`[1:5:2]`), wildcards, several selectors in one pair of brackets, descent (`..`),
//! and filters (`[?@.a == 'x']`) that compare, test for existence, and join with `&&`, `||`, `!`.
//! The functions of the RFC are not.
//!
//! # Source
//! RFC 9535.

mod evaluate;
mod filter;
mod parse;
mod scan;

use crate::expression::Reach;
pub use crate::expression::{FindError, PathError};

/// A path that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    segments: Vec<Segment>,
    /// What a `null` is given as, where it is not `null`.
    null: Option<Box<str>>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
struct Segment {
    reach: Reach,
    selectors: Vec<Selector>,
}

#[derive(Clone, Debug, PartialEq)]
enum Selector {
    Name(String),
    Wildcard,
    /// From the front, or from the end when negative.
    Index(i64),
    Slice {
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    },
    Filter(filter::Filter),
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// [`PathError`] with the place and what should stand there.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        parse::path(text)
    }

    /// The same path, to which a `null` is this text.
    #[must_use]
    pub fn with_null(self, text: &str) -> Self {
        Self { null: Some(text.into()), ..self }
    }

    /// The first of the values that are meant, at most `most`, in the order of the RFC: strings without
    /// quotes and escapes, everything else as it is written in the document, but for a `null` that is said to
    /// be another text. The search ends with the last
    /// of them.
    ///
    /// # Errors
    /// [`FindError`] when the document is no JSON, is nested too deep, holds too much that matches, or takes
    /// too much work.
    pub fn find(&self, document: &[u8], most: usize) -> Result<Vec<String>, FindError> {
        evaluate::find(self, document, most)
    }
}

#[cfg(test)]
mod tests;
