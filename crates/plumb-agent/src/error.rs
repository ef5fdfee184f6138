//! What keeps a verb of agents from beginning.

use std::io;
use std::path::PathBuf;

use plumb_engine::EngineError;
use thiserror::Error;

use crate::spool::SpoolError;

/// What is wrong with what the user asked for.
#[derive(Debug, Error)]
pub enum AgentError {
    /// A file or folder that cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Files that are not right, with their places.
    #[error("{0}")]
    Wrong(String),
    /// The spool cannot be used.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// An address cannot be listened on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The system refuses threads or sockets, or the output cannot be written.
    #[error(transparent)]
    System(#[from] io::Error),
}
