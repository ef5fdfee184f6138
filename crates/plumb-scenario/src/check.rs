//! Checks: whether an answer is what it must be.

mod content;

use plumb_wire::http::{BatchError, batch_statuses};

use crate::answer::Answer;
use crate::extract::takes_location;
use crate::file;
use crate::pattern::PatternError;
use crate::pattern_list::is_like;
use crate::template::TemplateError;
use crate::variables::{Names, Slot, Variables};
use crate::{Expected, NoStatus};
pub use content::Unknown;
use content::{ContentCheck, Search};

/// The statuses of an answer when nothing is said about them.
const USUAL_STATUS: &str = "2xx";
/// The same of a step that takes where a redirect leads.
const FOLLOWED_STATUS: &str = "2xx,3xx";

/// The statuses of a right answer to `step` when its check says nothing about them. A redirect is
/// right only where somebody reckons with it: a page behind a log-on that has ended is none.
#[must_use]
pub fn usual_status(step: &file::Step) -> &'static str {
    let follows = step.extract.iter().any(|extract| takes_location(extract.get_ref()));
    if follows { FOLLOWED_STATUS } else { USUAL_STATUS }
}

/// What an answer must be, ready to be judged.
#[derive(Clone, Debug)]
pub struct Checker {
    status: Expected,
    /// The address that answers, with `*` for anything.
    path: Option<String>,
    length_min: u64,
    length_max: u64,
    within_ns: u64,
    content: Vec<ContentCheck>,
    /// Of an answer to a batch: how many operations it answers, and with which statuses.
    batch: Option<(usize, Expected)>,
}

/// What is wrong in a check.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CheckError {
    /// Statuses.
    #[error("status: {cause}")]
    Status {
        /// What is wrong.
        cause: NoStatus,
    },
    /// A path that none can be like.
    #[error(
        "path: `{0}` is none: write /PATH, or an address of one of the hosts, without a query or `;`"
    )]
    Path(String),
    /// A regular expression.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// An empty text: every content holds it.
    #[error("contains and contains-not need a text: every content holds the empty one")]
    EmptyText,
    /// A text that is no template.
    #[error("`{text}`: {cause}")]
    Template {
        /// As written.
        text: String,
        /// What is wrong there.
        cause: TemplateError,
    },
    /// A text with a value that is drawn, counted or read from the clock for it.
    #[error(
        "`{0}`: what is drawn, counted or read from the clock in a check is made when the answer is \
         there, and stands in none: `set` a variable, send it, and name it here"
    )]
    Drawn(String),
    /// Lengths that exclude each other.
    #[error("no length is at least {min} and at most {max}")]
    Lengths {
        /// As asked for.
        min: u64,
        /// As asked for.
        max: u64,
    },
    /// Statuses of operations.
    #[error("operations: {cause}")]
    Operations {
        /// What is wrong.
        cause: NoStatus,
    },
    /// Operations of a step that is no batch.
    #[error("operations belongs to a step with a batch")]
    NoBatch,
    /// A length of its own beside bounds.
    #[error("length says it all: leave length-min and length-max out")]
    LengthTwice,
}

/// The first check that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckFailed {
    /// Another status than expected.
    Status(u16),
    /// Another address answered than expected.
    Address,
    /// Other bytes of content than expected.
    Length(u64),
    /// The check of the content with this number, from 0.
    Content(usize),
    /// Whether the content is right by the check with this number, from 0, cannot be known.
    Unknown(usize, Unknown),
    /// The operation of a batch with this number, from 1, has another status than expected.
    Operation(usize, u16),
    /// So many operations of a batch are answered.
    Operations(usize),
    /// The answer is none to a batch.
    Batch(BatchError),
    /// The answer came too late, after so many nanoseconds.
    Slow(u64),
}

impl Checker {
    /// True when an answer with `status` may be right.
    #[must_use]
    pub fn expects(&self, status: u16) -> bool {
        self.status.has(status)
    }

    /// Prepares a check; the variables of its texts become known to `names`.
    ///
    /// # Errors
    /// [`CheckError`] in words.
    pub fn new(check: &file::Check, names: &mut Names) -> Result<Self, CheckError> {
        let (length_min, length_max) = match (check.length, check.length_min, check.length_max) {
            (Some(length), None, None) => (length, length),
            (Some(_), ..) => return Err(CheckError::LengthTwice),
            (None, min, max) => (min.unwrap_or(0), max.unwrap_or(u64::MAX)),
        };
        if length_min > length_max {
            return Err(CheckError::Lengths { min: length_min, max: length_max });
        }
        let mut content = Vec::new();
        for (texts, wanted) in [(&check.contains, true), (&check.contains_not, false)] {
            for text in texts {
                content.push(ContentCheck { wanted, search: Search::text(text, names)? });
            }
        }
        for (patterns, wanted) in [(&check.matches, true), (&check.matches_not, false)] {
            for pattern in patterns {
                content.push(ContentCheck { wanted, search: Search::pattern(pattern)? });
            }
        }
        let status = check.status.as_deref().unwrap_or(USUAL_STATUS);
        Ok(Self {
            status: status.parse().map_err(|cause| CheckError::Status { cause })?,
            path: check.path.clone().map(path).transpose()?,
            length_min,
            length_max,
            within_ns: check.within.map_or(u64::MAX, plumb_measure::Span::ns),
            content,
            batch: None,
        })
    }

    /// The same, for the answer to a batch of so many operations; 0 for any other.
    ///
    /// # Errors
    /// [`CheckError`] in words.
    pub fn of_batch(self, operations: usize, check: &file::Check) -> Result<Self, CheckError> {
        let batch = match (operations, &check.operations) {
            (0, None) => None,
            (0, Some(_)) => return Err(CheckError::NoBatch),
            (operations, status) => {
                let status = status.as_deref().unwrap_or(USUAL_STATUS);
                let expected = status.parse().map_err(|cause| CheckError::Operations { cause })?;
                Some((operations, expected))
            }
        };
        Ok(Self { batch, ..self })
    }

    /// The variables that its texts need.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.content.iter().flat_map(ContentCheck::slots)
    }

    /// True when it judges which address answered.
    #[must_use]
    pub fn needs_address(&self) -> bool {
        self.path.is_some()
    }

    /// True when it judges the content, so that the content has to be kept.
    #[must_use]
    pub fn needs_content(&self) -> bool {
        !self.content.is_empty() || self.batch.is_some()
    }

    /// Judges an answer to whoever has `variables`: the status first, then the address, length and content, the
    /// time last. Without checks of the content that takes a few comparisons.
    ///
    /// # Errors
    /// The first check that failed.
    #[inline]
    pub fn judge(&self, answer: &Answer<'_>, variables: &Variables) -> Result<(), CheckFailed> {
        if !self.status.has(answer.status) {
            return Err(CheckFailed::Status(answer.status));
        }
        if self.path.as_ref().is_some_and(|path| !is_like(path, answer.address)) {
            return Err(CheckFailed::Address);
        }
        if answer.length < self.length_min || answer.length > self.length_max {
            return Err(CheckFailed::Length(answer.length));
        }
        for (number, check) in self.content.iter().enumerate() {
            match check.holds(answer.content, variables) {
                Ok(true) => {}
                Ok(false) => return Err(CheckFailed::Content(number)),
                Err(unknown) => return Err(CheckFailed::Unknown(number, unknown)),
            }
        }
        if let Some(batch) = &self.batch {
            judge_batch(batch, answer.content)?;
        }
        if answer.took_ns > self.within_ns {
            return Err(CheckFailed::Slow(answer.took_ns));
        }
        Ok(())
    }

    /// What failed of `answer`, in words; `names` are those of its variables.
    #[must_use]
    pub fn words(&self, failed: CheckFailed, answer: &Answer<'_>, names: &Names) -> String {
        match failed {
            CheckFailed::Status(status) => {
                format!("the status is {status}, expected {}", self.status)
            }
            CheckFailed::Address => format!(
                "the answer is that of {}, expected that of {}",
                answer.address,
                self.path.as_deref().unwrap_or_default()
            ),
            CheckFailed::Length(length) => {
                format!("the content has {length} bytes, expected {}", self.lengths())
            }
            CheckFailed::Content(number) => {
                self.content.get(number).map_or_else(String::new, ContentCheck::words)
            }
            CheckFailed::Unknown(number, unknown) => {
                let check = self.content.get(number).map_or_else(String::new, ContentCheck::words);
                format!("nobody knows whether {check}: {}", unknown.words(names))
            }
            CheckFailed::Operation(number, status) => format!(
                "the status of operation {number} is {status}, expected {}",
                self.batch.as_ref().map_or_else(String::new, |(_, status)| status.to_string())
            ),
            CheckFailed::Operations(count) => format!(
                "the answer is one to {}, expected {}",
                plumb_measure::counted(count as u64, "operation"),
                self.batch.as_ref().map_or(0, |(operations, _)| *operations)
            ),
            CheckFailed::Batch(error) => format!("the answer is none to a batch: {error}"),
            CheckFailed::Slow(ns) => format!(
                "the answer took {}, expected at most {}",
                plumb_measure::show_ns(ns),
                plumb_measure::show_ns(self.within_ns)
            ),
        }
    }

    fn lengths(&self) -> String {
        match (self.length_min, self.length_max) {
            (min, max) if min == max => min.to_string(),
            (min, u64::MAX) => format!("at least {min}"),
            (0, max) => format!("at most {max}"),
            (min, max) => format!("{min} to {max}"),
        }
    }
}

impl CheckFailed {
    /// The name under which failures are counted.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Status(_) => "unexpected-status",
            Self::Address => "wrong-address",
            Self::Length(_) => "wrong-length",
            Self::Content(_)
            | Self::Unknown(..)
            | Self::Operation(..)
            | Self::Operations(_)
            | Self::Batch(_) => "wrong-content",
            Self::Slow(_) => "too-slow",
        }
    }
}

/// Judges the answer to a batch: the first operation that failed, then how many there are. Of a change
/// set that failed there is one answer.
fn judge_batch(
    (operations, expected): &(usize, Expected),
    content: &[u8],
) -> Result<(), CheckFailed> {
    let statuses = batch_statuses(content).map_err(CheckFailed::Batch)?;
    for (number, status) in (1..).zip(&statuses) {
        if !expected.has(*status) {
            return Err(CheckFailed::Operation(number, *status));
        }
    }
    match statuses.len() == *operations {
        true => Ok(()),
        false => Err(CheckFailed::Operations(statuses.len())),
    }
}

/// A path that an address may be like.
fn path(text: String) -> Result<String, CheckError> {
    let starts = ["/", "*", "http://", "https://"];
    let sound =
        starts.iter().any(|start| text.starts_with(start)) && !text.contains(['?', '#', ';']);
    if sound { Ok(text) } else { Err(CheckError::Path(text)) }
}

#[cfg(test)]
mod tests;
