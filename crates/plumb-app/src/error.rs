//! Why the server does not run.

use std::path::PathBuf;

use plumb_engine::EngineError;

/// Why the application server cannot start or go on. Each message names the place, the cause and
/// what to try.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The command line names no verb.
    #[error("say what to do: plumb app serve, or plumb app generate")]
    NoVerb,
    /// The configuration cannot be read.
    #[error("cannot read {}: {cause}; name an existing file, or none", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        cause: std::io::Error,
    },
    /// The configuration is wrong at one place.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong there, and what to write instead.
        problem: String,
    },
    /// The configuration contradicts itself.
    #[error("{0}")]
    Plan(String),
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
    /// An address cannot be listened on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Standard output is gone.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl AppError {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |cause| Self::System { what, cause }
    }
}
