//! Why the lock layer did not run.

use plumb_engine::EngineError;

use crate::journal::JournalError;

/// Why there is no lock server. Each message says what to try.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The engine could not begin, or go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The password cannot be read.
    #[error("cannot read the password from {path}: {cause}; name a readable file")]
    PasswordFile {
        /// The file.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
    /// The password is empty.
    #[error("the password is empty: put one line into the file or the variable, or leave it out")]
    NoPassword,
    /// No verb was named.
    #[error("name a verb: serve or journal")]
    NoVerb,
    /// The journal is damaged.
    #[error("{0} of the files are damaged; `plumb lock journal repair` cuts them off there")]
    Damaged(usize),
    /// The journal could not be ended in order.
    #[error("cannot end the journal in order: {0}; the next start reads it as after a crash")]
    Close(std::io::Error),
    /// Standard output or standard error could not be written.
    #[error("cannot write output: {0}")]
    Output(#[from] std::io::Error),
}
