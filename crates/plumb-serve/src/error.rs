//! Why a server does not run.

/// Why a server cannot start or go on. Each message names the place, the cause and what to try.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The database cannot be used at all.
    #[error("cannot use the database {url}: {cause}; {remedy}")]
    Database {
        /// Where it is, without a password.
        url: String,
        /// What it said.
        cause: String,
        /// What to try.
        remedy: &'static str,
    },
    /// The certificates that are to be trusted cannot be used.
    #[error(transparent)]
    Trust(#[from] plumb_engine::EngineError),
    /// The kernel refused a service that every server needs.
    #[error("cannot {what}: {cause}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        cause: std::io::Error,
    },
}
