//! Filters: which elements or members a `?` selects.

use std::cmp::Ordering;
use std::ops::ControlFlow::{self, Break, Continue};

use super::evaluate::{Search, Stop};
use super::scan;
use super::{Path, Reach, Selector};
use crate::expression::Comparison;

/// A condition on a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filter {
    Any(Vec<Filter>),
    All(Vec<Filter>),
    Not(Box<Filter>),
    /// The path means something.
    Exists(Query),
    Compare(Comparable, Comparison, Comparable),
}

/// A path within a filter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Query {
    pub(super) origin: Origin,
    pub(super) path: Path,
}

/// Where a path within a filter begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// At the value that is judged, `@`.
    Here,
    /// At the whole document, `$`.
    Root,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Comparable {
    /// A text, without quotes.
    Text(String),
    /// A number, `true`, `false` or `null`, as written.
    Literal(String),
    /// A path to one value at most.
    Query(Query),
}

/// A side of a comparison when it is judged.
#[derive(Clone, Copy, Debug)]
enum Side<'a> {
    Nothing,
    /// Characters.
    Text(&'a str),
    /// JSON.
    Value(&'a str),
}

impl Filter {
    /// True when the condition holds for `value`.
    pub(super) fn holds<'a>(&self, search: &Search<'a>, value: &'a str) -> ControlFlow<Stop, bool> {
        match self {
            Self::Any(filters) => {
                for filter in filters {
                    if filter.holds(search, value)? {
                        return Continue(true);
                    }
                }
                Continue(false)
            }
            Self::All(filters) => {
                for filter in filters {
                    if !filter.holds(search, value)? {
                        return Continue(false);
                    }
                }
                Continue(true)
            }
            Self::Not(filter) => Continue(!filter.holds(search, value)?),
            Self::Exists(query) => Continue(query.first(search, value)?.is_some()),
            Self::Compare(left, comparison, right) => {
                Continue(holds(*comparison, left.side(search, value)?, right.side(search, value)?))
            }
        }
    }
}

impl Query {
    /// True when it cannot mean more than one value.
    pub(super) fn is_singular(&self) -> bool {
        self.path.segments.iter().all(|segment| {
            segment.reach == Reach::Children
                && matches!(segment.selectors[..], [Selector::Name(_) | Selector::Index(_)])
        })
    }

    /// The first value that is meant.
    fn first<'a>(&self, search: &Search<'a>, value: &'a str) -> ControlFlow<Stop, Option<&'a str>> {
        let origin = match self.origin {
            Origin::Here => value,
            Origin::Root => search.root,
        };
        let mut first = None;
        let stop = search.visit(origin, &self.path.segments, &mut |value| {
            first = Some(value);
            Break(Stop::Enough)
        });
        match stop {
            Break(stop @ (Stop::TooMuchWork | Stop::TooMuchFound)) => Break(stop),
            Break(Stop::Enough) | Continue(()) => Continue(first),
        }
    }
}

impl Comparable {
    fn side<'s, 'a: 's>(
        &'s self,
        search: &Search<'a>,
        value: &'a str,
    ) -> ControlFlow<Stop, Side<'s>> {
        Continue(match self {
            Self::Text(text) => Side::Text(text),
            Self::Literal(value) => Side::Value(value),
            Self::Query(query) => query.first(search, value)?.map_or(Side::Nothing, Side::Value),
        })
    }
}

/// # Source
/// RFC 9535, section 2.3.5.2.2.
fn holds(comparison: Comparison, left: Side<'_>, right: Side<'_>) -> bool {
    match comparison {
        Comparison::Equal => equal(left, right),
        Comparison::Unequal => !equal(left, right),
        Comparison::Less => less(left, right),
        Comparison::Greater => less(right, left),
        Comparison::LessOrEqual => less(left, right) || equal(left, right),
        Comparison::GreaterOrEqual => less(right, left) || equal(left, right),
    }
}

fn equal(left: Side<'_>, right: Side<'_>) -> bool {
    match (left, right) {
        (Side::Nothing, Side::Nothing) => true,
        (Side::Nothing, _) | (_, Side::Nothing) => false,
        (Side::Text(left), Side::Text(right)) => left == right,
        (Side::Text(text), Side::Value(value)) | (Side::Value(value), Side::Text(text)) => {
            scan::is_text(value) && scan::unquoted(value) == text
        }
        (Side::Value(left), Side::Value(right)) => same(left, right),
    }
}

fn less(left: Side<'_>, right: Side<'_>) -> bool {
    let text = |side| match side {
        Side::Text(text) => Some(text.into()),
        Side::Value(value) if scan::is_text(value) => Some(scan::unquoted(value)),
        Side::Value(_) | Side::Nothing => None,
    };
    if let (Some(left), Some(right)) = (text(left), text(right)) {
        return left < right;
    }
    match (left, right) {
        (Side::Value(left), Side::Value(right)) => order(left, right) == Some(Ordering::Less),
        _ => false,
    }
}

/// True for two values that mean the same; arrays and objects must be written alike.
fn same(left: &str, right: &str) -> bool {
    match (left.as_bytes().first(), right.as_bytes().first()) {
        (Some(b'"'), Some(b'"')) => scan::unquoted(left) == scan::unquoted(right),
        _ => left == right || order(left, right) == Some(Ordering::Equal),
    }
}

/// Which of two numbers is the larger; integers are compared exactly.
fn order(left: &str, right: &str) -> Option<Ordering> {
    if let (Ok(left), Ok(right)) = (left.parse::<i128>(), right.parse::<i128>()) {
        return Some(left.cmp(&right));
    }
    let number = |text: &str| text.parse::<f64>().ok().filter(|_| scan::is_number(text));
    number(left)?.partial_cmp(&number(right)?)
}
