//! Why the lock layer did not run.

use plumb_engine::EngineError;
use plumb_lock_server::ServerError;
use plumb_lock_table::journal::JournalError;

/// Why there is no answer of a lock server. Each message says what to try.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The password of a client cannot be read.
    #[error(transparent)]
    Password(#[from] ServerError),
    /// The engine could not begin, or go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// No verb was named.
    #[error("name a verb: serve, witness, load, status, show, watch, promote or journal")]
    NoVerb,
    /// A server did not answer, or not as a lock server does.
    #[error("{address} {how}; is a lock server of plumb there, and is the password right?")]
    NoAnswer {
        /// Who.
        address: String,
        /// What happened.
        how: String,
    },
    /// A connection that listened is gone.
    #[error(
        "{address} {how}; watch again there, or at the server that took over, and see what is held by then \
         (plumb lock show)"
    )]
    Lost {
        /// Who.
        address: String,
        /// What happened.
        how: &'static str,
    },
    /// A server was asked without TLS.
    #[error("{address} speaks TLS: add --tls")]
    SpeaksTls {
        /// Who.
        address: String,
    },
    /// More locks than the load tool can tell apart.
    #[error(
        "{owners} owners with {locks} locks each are too many: up to 9999 owners, 99999999 locks \
         of each, and 2^30 in all"
    )]
    TooManyLocks {
        /// As asked.
        owners: usize,
        /// As asked, of each.
        locks: u32,
    },
    /// Nobody is named to log in to PostgreSQL.
    #[error("as whom is PostgreSQL to be asked? Name a user in PGUSER, or in USER")]
    NoUser,
    /// The load tool speaks to PostgreSQL without TLS.
    #[error(
        "PostgreSQL is driven without TLS only: leave --tls out, or name its socket file with \
         unix:PATH"
    )]
    NoTls,
    /// The kernel gives no random numbers.
    #[error("cannot draw a random key: {0}; `verify` needs the system call getrandom")]
    NoKey(std::io::Error),
    /// A server was to be promoted, and refused.
    #[error("{address} was not promoted: {why}")]
    NotPromoted {
        /// Who.
        address: String,
        /// Why not, and what to do.
        why: String,
    },
    /// Locks were to be removed, and the server refused some.
    #[error("{address} removed {gone} and refused the rest: {why}")]
    NotRemoved {
        /// Who.
        address: String,
        /// How many locks are gone.
        gone: String,
        /// Why not more, and what to do.
        why: String,
    },
    /// Locks were to be removed, and nobody agreed.
    #[error("nothing was removed: {0}")]
    NotAgreed(&'static str),
    /// Standard output or standard error could not be written.
    #[error("cannot write output: {0}")]
    Output(#[from] std::io::Error),
}
