//! Answers: how large they may be, what they were, and why there is none.

use plumb_measure::ByteSize;

/// The most that an answer may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) rows: u64,
    pub(crate) bytes: ByteSize,
}

impl Limits {
    /// Checks an answer of so many rows and bytes.
    ///
    /// # Errors
    /// [`NoAnswer::TooLarge`].
    pub(crate) fn check(&self, rows: u64, bytes: u64) -> Result<(), NoAnswer> {
        if rows > self.rows || bytes > self.bytes.bytes() {
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
pub(crate) enum NoAnswer {
    /// What the driver says.
    Driver(tokio_postgres::Error),
    /// The answer is larger than its limits.
    TooLarge,
    /// The answer is none that a server of PostgreSQL gives.
    Unexpected,
}

impl From<tokio_postgres::Error> for NoAnswer {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Driver(error)
    }
}
