//! A path applied to a document.

use std::cell::Cell;
use std::ops::ControlFlow::{self, Break, Continue};

use super::scan::{self, parts};
use super::{Path, Reach, Segment, Selector};
use crate::expression::{FOUND_BYTES_MAX, FindError, text_of};

/// Bytes looked at for each byte of the document, at most: several `..` in one path would
/// otherwise take a time that grows with a power of the depth.
const WORK_PER_BYTE: usize = 1_000;
/// And at most so many for a small document.
const WORK_LEAST: usize = 64 << 10;

/// What ends a search early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Enough,
    TooMuchWork,
    TooMuchFound,
}

pub(super) fn find(path: &Path, document: &[u8], most: usize) -> Result<Vec<String>, FindError> {
    let root = scan::document(text_of(document)?)?;
    let work = root.len().saturating_mul(WORK_PER_BYTE).max(WORK_LEAST);
    let search = Search { root, work: Cell::new(work) };
    let (mut found, mut bytes) = (Vec::new(), 0);
    let stop = search.visit(root, &path.segments, &mut |value| {
        if found.len() == most {
            return Break(Stop::Enough);
        }
        let null = path.null.as_deref().filter(|_| value == "null");
        bytes += null.unwrap_or(value).len();
        if bytes > FOUND_BYTES_MAX {
            return Break(Stop::TooMuchFound);
        }
        found.push(null.map_or_else(|| scan::as_text(value), ToOwned::to_owned));
        // one that is looked for alone ends the search here, not at the next match
        if found.len() == most { Break(Stop::Enough) } else { Continue(()) }
    });
    match stop {
        Break(Stop::TooMuchWork) => Err(FindError::TooMuchWork),
        Break(Stop::TooMuchFound) => Err(FindError::TooManyMatches),
        Break(Stop::Enough) | Continue(()) => Ok(found),
    }
}

/// What is called for each value that is meant.
pub(super) type Sink<'s, 'a> = dyn FnMut(&'a str) -> ControlFlow<Stop> + 's;

/// A search in one document.
pub(super) struct Search<'a> {
    pub(super) root: &'a str,
    /// Bytes that may still be looked at.
    work: Cell<usize>,
}

impl<'a> Search<'a> {
    /// Hands over what `segments` mean from `value` on, in order.
    pub(super) fn visit(
        &self,
        value: &'a str,
        segments: &[Segment],
        sink: &mut Sink<'_, 'a>,
    ) -> ControlFlow<Stop> {
        let Some((segment, rest)) = segments.split_first() else {
            return sink(value);
        };
        for selector in &segment.selectors {
            self.select(value, selector, &mut |part| self.visit(part, rest, sink))?;
        }
        if segment.reach == Reach::Descendants {
            self.work_on(value)?;
            for part in parts(value) {
                self.visit(part.value, segments, sink)?;
            }
        }
        Continue(())
    }

    /// The children of `value` that one selector means.
    fn select(
        &self,
        value: &'a str,
        selector: &Selector,
        sink: &mut Sink<'_, 'a>,
    ) -> ControlFlow<Stop> {
        self.work_on(value)?;
        match selector {
            Selector::Name(name) => match member(value, name) {
                Some(value) => sink(value),
                None => Continue(()),
            },
            Selector::Wildcard => parts(value).try_for_each(|part| sink(part.value)),
            Selector::Index(index) => match element(value, *index) {
                Some(value) => sink(value),
                None => Continue(()),
            },
            Selector::Slice { start, end, step } => {
                let elements = elements(value);
                let indices = slice(elements.len(), *start, *end, *step);
                indices.into_iter().try_for_each(|index| sink(elements[index]))
            }
            Selector::Filter(filter) => parts(value).try_for_each(|part| {
                if filter.holds(self, part.value)? { sink(part.value) } else { Continue(()) }
            }),
        }
    }

    fn work_on(&self, value: &str) -> ControlFlow<Stop> {
        match self.work.get().checked_sub(value.len()) {
            Some(left) => {
                self.work.set(left);
                Continue(())
            }
            None => Break(Stop::TooMuchWork),
        }
    }
}

/// The member called `name`; the first where there are several.
pub(super) fn member<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    let mut parts = parts(value);
    let found = parts.find(|part| part.name.is_some_and(|written| scan::unquoted(written) == name));
    found.map(|part| part.value)
}

/// The elements of an array; of anything else none.
fn elements(value: &str) -> Vec<&str> {
    if value.starts_with('[') { parts(value).map(|part| part.value).collect() } else { Vec::new() }
}

/// The element of an array with this index.
fn element(value: &str, index: i64) -> Option<&str> {
    if !value.starts_with('[') {
        return None;
    }
    let from_front = |index: u64| parts(value).nth(usize::try_from(index).ok()?);
    let part = match u64::try_from(index) {
        Ok(index) => from_front(index),
        Err(_) => {
            let count = parts(value).count() as u64;
            from_front(count.checked_sub(index.unsigned_abs())?)
        }
    };
    part.map(|part| part.value)
}

/// The indices of a slice, in its order.
///
/// # Source
/// RFC 9535, section 2.3.4.2.2.
fn slice(count: usize, start: Option<i64>, end: Option<i64>, step: i64) -> Vec<usize> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let normal = |index: i64| if index < 0 { count + index } else { index };
    let indices: Vec<i64> = match step {
        0 => Vec::new(),
        1.. => {
            let from = normal(start.unwrap_or(0)).clamp(0, count);
            let to = normal(end.unwrap_or(count)).clamp(0, count);
            stepped(from, step, |at| at < to)
        }
        _ => {
            let from = normal(start.unwrap_or(count - 1)).clamp(-1, count - 1);
            let to = end.map_or(-1, |end| normal(end).clamp(-1, count - 1));
            stepped(from, step, |at| at > to)
        }
    };
    indices.into_iter().filter_map(|index| usize::try_from(index).ok()).collect()
}

fn stepped(from: i64, step: i64, goes_on: impl Fn(i64) -> bool) -> Vec<i64> {
    std::iter::successors(Some(from), |at| at.checked_add(step))
        .take_while(|at| goes_on(*at))
        .collect()
}
