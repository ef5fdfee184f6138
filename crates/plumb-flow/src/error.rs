//! What keeps a verb of this layer from beginning.

use std::io;
use std::path::{Path, PathBuf};

use plumb_engine::EngineError;
use plumb_serve::ServeError;
use plumb_trace::TraceError;
use thiserror::Error;

/// What is wrong with what the user asked for.
#[derive(Debug, Error)]
pub enum FlowError {
    /// No verb was given.
    #[error("say what to do: `plumb flow check`, `plumb flow try` or `plumb flow serve`")]
    NoVerb,
    /// A file that cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file beyond the limit.
    #[error("{path} is larger than {most} bytes, which is what this command takes")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit, bytes.
        most: u64,
    },
    /// A folder without transactions.
    #[error("{path} holds no transaction: a transaction is a file NAME.toml")]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// A name that no file has.
    #[error("{folder} has no transaction `{name}`{}", meant(.nearest.as_deref()))]
    Unknown {
        /// As it was asked for.
        name: String,
        /// Where it was looked for.
        folder: PathBuf,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// `--set` without `=`.
    #[error("--set {given}: expected NAME=VALUE")]
    NotAssigned {
        /// As it was given.
        given: String,
    },
    /// Settings that contradict each other or cannot work.
    #[error("{0}")]
    Plan(String),
    /// Spans cannot be read or received.
    #[error(transparent)]
    Traces(#[from] TraceError),
    /// What every server needs: settings, threads, sockets.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// An address cannot be listened on or reached, or a certificate does not serve.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Transactions that are not right.
    #[error("{0}")]
    Wrong(String),
    /// The output could not be written.
    #[error("cannot write output")]
    Output(#[from] io::Error),
}

impl FlowError {
    pub(crate) fn unreadable(path: &Path, error: io::Error) -> Self {
        Self::Unreadable { path: path.into(), error }
    }
}

fn meant(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}
