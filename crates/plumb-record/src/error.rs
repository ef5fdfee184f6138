//! Why nothing can be recorded.

use std::io;
use std::path::{Path, PathBuf};

use plumb_engine::EngineError;
use plumb_engine::tls::TlsError;

/// Why the proxy cannot begin. Each message says what to try; what goes wrong later is data in the
/// recording, or a line of the log.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot listen, or an address is none.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The authorities of servers cannot be read.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A socket file: browsers know only host and port of a proxy.
    #[error("{address}: a proxy listens on HOST:PORT")]
    NoPort {
        /// As given.
        address: String,
    },
    /// A proxy that everybody may use.
    #[error(
        "{address} can be reached from elsewhere, and leads to whatever this machine reaches: name \
         who may connect with --allow, for example --allow 10.1.2.3"
    )]
    Open {
        /// As given.
        address: String,
    },
    /// The file is there already.
    #[error("{} exists already: a recording is never overwritten; name another --out", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file or folder cannot be made, read or written.
    #[error("cannot {what} {}: {cause}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        cause: io::Error,
    },
    /// There is no place for the authority.
    #[error("neither XDG_STATE_HOME nor HOME says where to keep the authority: give --ca-dir DIR")]
    NoHome,
    /// Others may read the authority's key, or put another in its place.
    #[error(
        "{} may be used by others ({mode:03o}), who could then read what its clients encrypt: \
         chmod {wanted:03o} it, or make a new authority elsewhere",
        path.display()
    )]
    OpenAuthority {
        /// The file or folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// What they must be.
        wanted: u32,
    },
    /// The folder of the authority holds something else.
    #[error("{} is no authority of plumb http record: {cause}; name another --ca-dir", path.display())]
    NoAuthority {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// The kernel refused a service that every server needs.
    #[error("cannot {what}: {cause}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What it said.
        cause: io::Error,
    },
}

impl RecordError {
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::File { what, path, cause }
    }

    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::System { what, cause }
    }
}
