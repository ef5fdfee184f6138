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

pub use crate::expression::{FindError, MATCHES_MAX, PathError};
use crate::expression::{Reach, not_too_many};

/// A path that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    segments: Vec<Segment>,
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

    /// The values that are meant, in the order of the RFC: strings without quotes and escapes,
    /// everything else as it is written in the document.
    ///
    /// # Errors
    /// [`FindError`] when the document is no JSON, is nested too deep, has more than
    /// [`MATCHES_MAX`] matches, or takes too much work.
    pub fn find(&self, document: &[u8]) -> Result<Vec<String>, FindError> {
        not_too_many(|most| evaluate::find(self, document, most))
    }

    /// The first of the values that are meant, at most `most`; the search ends with the last of
    /// them.
    ///
    /// # Errors
    /// As [`Path::find`], without a limit of its own to the matches.
    pub fn find_first(&self, document: &[u8], most: usize) -> Result<Vec<String>, FindError> {
        evaluate::find(self, document, most)
    }
}

#[cfg(test)]
mod tests;
