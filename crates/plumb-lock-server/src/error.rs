//! Why the lock server did not run.

use plumb_engine::EngineError;
use plumb_lock_table::journal::JournalError;

/// Where a file of users is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct NoUsers {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// What was found, what was expected, and what to try.
    pub problem: String,
}

/// Why there is no lock server. Each message says what to try.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
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
    /// A user has no password.
    #[error(
        "the user {0} has no password: name a file with --password-file, or PLUMB_LOCK_PASSWORD"
    )]
    NoPasswordOf(String),
    /// The file of users cannot be read.
    #[error("cannot read the users from {path}: {cause}; name a readable file")]
    UsersFile {
        /// The file.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
    /// The file of users is none.
    #[error("{path}, {cause}")]
    Users {
        /// The file.
        path: String,
        /// Where, and why.
        cause: NoUsers,
    },
    /// The audit log cannot be written.
    #[error("cannot write the audit log {path}: {cause}; name a file in a folder that is there")]
    AuditLog {
        /// The file.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
    /// The kernel does not ask silent clients as it was told to.
    #[error("cannot have the kernel ask silent clients: {0}; give --keepalive 3s to 9h, or 0s")]
    KeepAlive(std::io::Error),
    /// The state of a witness cannot be used.
    #[error(transparent)]
    Witness(#[from] plumb_lock_pair::election::StoreError),
    /// The journal could not be ended in order.
    #[error("cannot end the journal in order: {0}; the next start reads it as after a crash")]
    Close(std::io::Error),
    /// The kernel gives no random numbers.
    #[error("cannot draw a number for this server: {0}; it needs the system call getrandom")]
    NoId(std::io::Error),
    /// Standard output or standard error could not be written.
    #[error("cannot write output: {0}")]
    Output(#[from] std::io::Error),
}
