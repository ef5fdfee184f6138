//! Why a server does not run.

use std::path::PathBuf;

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
    /// A certificate or key cannot be used.
    #[error("cannot use {} for TLS: {cause}; it must be a PEM file", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The kernel refused a service that every server needs.
    #[error("cannot {what}: {cause}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        cause: std::io::Error,
    },
}
