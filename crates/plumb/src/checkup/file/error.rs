//! What can be wrong with a landscape file.

use std::io;
use std::path::PathBuf;

use plumb_wire::document::Wrong;
use thiserror::Error;

/// The largest file that is read: no landscape has that many servers.
pub(super) const BYTES_MAX: u64 = 1 << 20;

/// Why a file names no landscape.
#[derive(Debug, Error)]
pub(crate) enum LandscapeError {
    /// It is not there, may not be read, or is no text.
    #[error("cannot read the landscape {}: {cause}; check the path", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// It is larger than any landscape: probably another file was meant.
    #[error("{} is no landscape: it is larger than {BYTES_MAX} bytes", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is no TOML, or has a key that is not known; the excerpt shows where.
    #[error("{}, {wrong}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        wrong: Wrong,
    },
    /// A value that names no server. It is not shown: it may hold a password.
    #[error("{}, line {line}, column {column}: {problem}", .path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// What is wrong with it, and what to write instead.
        problem: String,
    },
    /// It has no section that names a server.
    #[error("{} names nothing to measure: write a section [net], [lock], [http], [flow] or [database]", .path.display())]
    Nothing {
        /// The file.
        path: PathBuf,
    },
}
