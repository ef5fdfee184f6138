//! Answers: how large they may be, what they were, and why there is none.

use std::fmt;

use plumb_measure::{ByteSize, FailureKind};

/// Why something was not done, as data.
pub(crate) trait Failure: fmt::Debug {
    /// The kind that it is counted under.
    fn kind(&self) -> FailureKind;
}

/// The most that an answer may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl Limits {
    /// In words.
    pub(crate) fn describe(&self) -> String {
        let size = ByteSize::new(self.bytes).map_or_else(|| "0 B".into(), |size| size.to_string());
        format!("{} rows or {size}", self.rows)
    }

    /// Checks an answer of so many rows and bytes.
    ///
    /// # Errors
    /// [`NoAnswer::TooLarge`].
    pub(crate) fn check<E>(&self, rows: u64, bytes: u64) -> Result<(), NoAnswer<E>> {
        if rows > self.rows || bytes > self.bytes {
            return Err(NoAnswer::TooLarge);
        }
        Ok(())
    }
}

/// A complete answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    /// When its first bytes came, nanoseconds on the monotonic clock.
    pub(crate) first_ns: u64,
    /// When its last bytes came.
    pub(crate) last_ns: u64,
    /// Bytes of its rows.
    pub(crate) bytes: u64,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer<E> {
    /// What the driver says.
    Driver(E),
    /// The answer is larger than its limits.
    TooLarge,
    /// The answer is none that such a server gives.
    Unexpected,
}

impl<E> From<E> for NoAnswer<E> {
    fn from(error: E) -> Self {
        Self::Driver(error)
    }
}

impl<E: Failure> Failure for NoAnswer<E> {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Driver(error) => error.kind(),
            Self::TooLarge | Self::Unexpected => FailureKind::Garbled,
        }
    }
}
