//! Why a table cannot be read.

use std::io;
use std::path::PathBuf;

/// A table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read: check its name and its permissions.
    #[error("cannot be read: {cause}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The file is larger than any table that is written for people.
    #[error("larger than 64 MiB: give a table of results, not of samples")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A line is not understood; the message says what was expected.
    #[error("line {line}: {message}")]
    Line {
        /// Line of the file, from 1.
        line: u64,
        /// What is wrong and what was expected.
        message: String,
    },
}

impl ReadError {
    pub(crate) fn at(line: u64, message: impl Into<String>) -> Self {
        Self::Line { line, message: message.into() }
    }
}
