//! Why nothing was made of a file.

use std::path::PathBuf;

/// Why a file gives no draft. Each message says what to try; none holds a password.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file of a format that is not one.
    #[error("{}: {cause}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        cause: String,
    },
    /// Nothing in it is a request to a server that can be asked.
    #[error("{}: {cause}", path.display())]
    Nothing {
        /// The file.
        path: PathBuf,
        /// What it holds instead.
        cause: String,
    },
    /// The file does not ask the server of `--base`.
    #[error(
        "--base {wanted}: the file does not ask it, but {}; the command line of the load may name \
         another server later",
        seen.join(", ")
    )]
    OtherServers {
        /// The server of `--base`.
        wanted: String,
        /// The servers that the file asks.
        seen: Vec<String>,
    },
}
