//! Answers: how large they may be, what they were, and why there is none.

use std::fmt;

use plumb_measure::{ByteSize, FailureKind};

/// Why something was not done, as data.
pub(crate) trait Failure: fmt::Debug {
    /// The kind that it is counted under.
    fn kind(&self) -> FailureKind;

    /// Why, as far as that holds no value: the number under which the server refuses it, as the server's
    /// words may hold values of a statement, which are secrets.
    fn reason(&self) -> Option<String> {
        None
    }

    /// Why, in the server's words, in one line.
    fn words(&self) -> Option<String> {
        None
    }
}

/// What a state of SQL stands for: the class that its first two characters name.
///
/// # Source
/// ISO/IEC 9075-2, SQLSTATE class and subclass codes; the classes of PostgreSQL, appendix A of its manual.
pub(crate) fn state(code: &str) -> String {
    let class = match code.get(..2).unwrap_or_default() {
        "0A" => "a feature that is not supported",
        "08" => "the connection",
        "22" => "a value that does not fit",
        "23" => "a constraint",
        "25" => "the state of the transaction",
        "26" => "the name of a prepared statement",
        "28" => "the log-on",
        "3D" | "3F" => "the name of a database or schema",
        "40" => "the transaction was rolled back",
        "42" => "the syntax, a name or a right",
        "53" => "resources of the server",
        "54" => "a limit of the server",
        "55" => "the state of an object",
        "57" => "the statement was cancelled, or the server is stopped",
        "58" => "the server's machine",
        "XX" => "an internal error",
        _ => return format!("SQLSTATE {code}"),
    };
    format!("SQLSTATE {code}: {class}")
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

    fn reason(&self) -> Option<String> {
        match self {
            Self::Driver(error) => error.reason(),
            Self::TooLarge => Some("the answer is larger than --rows or --size".into()),
            Self::Unexpected => None,
        }
    }

    fn words(&self) -> Option<String> {
        match self {
            Self::Driver(error) => error.words(),
            Self::TooLarge | Self::Unexpected => None,
        }
    }
}
