//! `XPath`: which values of an XML document are meant.
//!
//! A small part of the language. Steps: `/name`, `//name`, `/*`, and at the end of a path
//! `/@name` or `/text()`. A name is matched as the document writes it, with its prefix
//! (`m:properties`); `*:properties` matches any prefix, `m:*` any name. In brackets behind a step:
//! a position (`[2]`, `[last()]`, `[position()=2]`), or a condition on an attribute (`[@rel]`,
//! `[@rel='edit']`), a child (`[title='x']`), the text (`[text()='x']`, `[.='x']`) or the name
//! (`[local-name()='id']`), each also with `!=`; `and` joins conditions.
//!
//! # Source
//! XML Path Language (XPath) 1.0; XML 1.0.

mod document;
mod evaluate;
mod parse;

use crate::expression::Reach;
pub use crate::expression::{FindError, PathError};

/// A path that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    steps: Vec<Step>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    reach: Reach,
    node: NodeTest,
    predicates: Vec<Predicate>,
}

/// What a step looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NodeTest {
    Element(NameTest),
    Attribute(NameTest),
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum NameTest {
    /// `*`.
    Any,
    /// `name` or `prefix:name`.
    Written(String),
    /// `prefix:*`.
    Prefix(String),
    /// `*:name`.
    Local(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Predicate {
    /// From 1.
    Position(usize),
    Last,
    Condition(Operand, Relation),
}

/// What a condition looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Operand {
    Attribute(NameTest),
    Child(NameTest),
    /// All text within, `.`.
    Whole,
    /// The texts directly within, `text()`.
    Texts,
    LocalName,
    Name,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Relation {
    Exists,
    Is(String),
    IsNot(String),
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// [`PathError`] with the place and what should stand there.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        parse::path(text)
    }

    /// The first of the values that are meant, at most `most`, in the order of the document: of an element
    /// all text within it, of an attribute its value.
    ///
    /// # Errors
    /// [`FindError`] when the document is no XML, has a DOCTYPE, is too deep or too large, or holds too much
    /// that matches.
    pub fn find(&self, document: &[u8], most: usize) -> Result<Vec<String>, FindError> {
        evaluate::find(self, document, most)
    }
}

impl NameTest {
    /// True for a name as it is written, with its prefix.
    fn fits(&self, written: &str) -> bool {
        let (prefix, local) = written.split_once(':').unwrap_or(("", written));
        match self {
            Self::Any => true,
            Self::Written(name) => name == written,
            Self::Prefix(wanted) => wanted == prefix,
            Self::Local(name) => name == local,
        }
    }
}

#[cfg(test)]
mod tests;
