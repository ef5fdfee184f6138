//! Why the server does not run.

use std::path::PathBuf;

use plumb_engine::EngineError;
use plumb_serve::ServeError;

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
    /// What every server needs: settings, the database, threads.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// An address cannot be listened on, or a certificate does not serve.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Standard output is gone.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}
