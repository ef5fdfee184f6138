//! What the path languages share: reading an expression, comparisons, and why one finds nothing.

use thiserror::Error;

/// Values that are taken of one document at most.
pub const MATCHES_MAX: usize = 100_000;
/// Bytes of all values together at most.
pub(crate) const FOUND_BYTES_MAX: usize = 64 << 20;
/// Bytes of an expression at most.
pub const EXPRESSION_BYTES_MAX: usize = 4 << 10;
/// How deep brackets and parentheses of an expression may be nested: each filter in a filter may go
/// through the whole depth of the document.
const NESTING_MAX: usize = 24;
/// How deep the elements of a document may be nested.
pub const DEPTH_MAX: usize = 128;

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// How each is written, longer ones first: `<=` begins with `<`.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        (">", Self::Greater),
    ];
}

/// What is wrong in an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("byte {at} of the expression: expected {expected}")]
pub struct PathError {
    /// The byte at which it goes wrong, from 0; its length where it ends too early.
    pub at: usize,
    /// What should stand there.
    pub expected: String,
}

/// Why a document could not be searched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FindError {
    /// Bytes that are no text.
    #[error("byte {at} of the document is not UTF-8")]
    NotUtf8 {
        /// From 0.
        at: usize,
    },
    /// The document does not follow its grammar.
    #[error("byte {at} of the document: {problem}")]
    Malformed {
        /// From 0.
        at: usize,
        /// What is wrong there, in words.
        problem: String,
    },
    /// Nested deeper than [`DEPTH_MAX`].
    #[error("the document is nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// More than the reader keeps.
    #[error("the document has more than {most} elements and texts")]
    TooLarge {
        /// As many as may be.
        most: usize,
    },
    /// A document type: it could define entities.
    #[error("the document has a DOCTYPE; such documents are not read")]
    Doctype,
    /// More values than [`MATCHES_MAX`], or more than 64 MiB of them.
    #[error("more than {MATCHES_MAX} values or 64 MiB match; write a narrower expression")]
    TooManyMatches,
    /// The expression visits too much of the document too often.
    #[error("the expression takes too long on this document; write one with fewer `..`")]
    TooMuchWork,
}

impl FindError {
    pub(crate) fn malformed(at: usize, problem: impl Into<String>) -> Self {
        Self::Malformed { at, problem: problem.into() }
    }
}

/// Where a step of a path looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// At what is directly in the value or element.
    Children,
    /// At what is in it, however deep.
    Descendants,
}

/// The text of a document.
pub(crate) fn text_of(document: &[u8]) -> Result<&str, FindError> {
    let text = std::str::from_utf8(document)
        .map_err(|error| FindError::NotUtf8 { at: error.valid_up_to() })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// A place in an expression that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Self, PathError> {
        let cursor = Self { text, at: 0, depth: 0 };
        if text.len() > EXPRESSION_BYTES_MAX {
            return Err(PathError {
                at: EXPRESSION_BYTES_MAX,
                expected: format!("an end: an expression has at most {EXPRESSION_BYTES_MAX} bytes"),
            });
        }
        Ok(cursor)
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    /// Passes `word` over; false when something else stands here.
    pub(crate) fn eat(&mut self, word: &str) -> bool {
        let here = self.rest().starts_with(word);
        self.at += if here { word.len() } else { 0 };
        here
    }

    /// Passes characters over while they are `wanted`.
    pub(crate) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|char| !wanted(char)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub(crate) fn skip_space(&mut self) {
        self.take_while(|char| matches!(char, ' ' | '\t' | '\n' | '\r'));
    }

    pub(crate) fn require(&mut self, word: &str) -> Result<(), PathError> {
        if self.eat(word) { Ok(()) } else { Err(self.expected(format!("`{word}`"))) }
    }

    pub(crate) fn require_end(&self) -> Result<(), PathError> {
        if self.rest().is_empty() {
            Ok(())
        } else {
            Err(self.expected("the end of the expression, or a further step"))
        }
    }

    pub(crate) fn expected(&self, what: impl Into<String>) -> PathError {
        PathError { at: self.at, expected: what.into() }
    }

    /// `error`, or that `what` was expected when it goes wrong right here.
    pub(crate) fn nothing_read(&self, error: PathError, what: &str) -> PathError {
        if error.at == self.at { self.expected(what) } else { error }
    }

    /// Reads something nested with `read`.
    pub(crate) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, PathError>,
    ) -> Result<T, PathError> {
        if self.depth == NESTING_MAX {
            return Err(self.expected("something simpler: the brackets are nested too deep"));
        }
        self.depth += 1;
        let read = read(self)?;
        self.depth -= 1;
        Ok(read)
    }
}
