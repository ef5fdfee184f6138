//! Why the app cannot start.

use std::io;
use std::path::PathBuf;

use plumb_engine::EngineError;
use plumb_serve::ServeError;

/// Why the app cannot start or go on. Each message names the place, the cause and what to try.
#[derive(Debug, thiserror::Error)]
pub enum UiError {
    /// The folder of runs is not there, or is none.
    #[error("{} is no folder: name the folder of your runs, such as plumb-runs", path.display())]
    NoFolder {
        /// What was named.
        path: PathBuf,
    },
    /// The default folder cannot be made.
    #[error("cannot make the folder {}: {cause}; name a folder of yours", path.display())]
    Create {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// Others reach an address, and something that protects it is missing.
    #[error("{address} can be reached from elsewhere: {remedy}")]
    Open {
        /// The address.
        address: String,
        /// What to add.
        remedy: &'static str,
    },
    /// No name is known under which a client on another machine asks.
    #[error(
        "{address} stands for every address of this machine: say with --name under which name or \
         address browsers ask"
    )]
    NoName {
        /// The address.
        address: String,
    },
    /// A browser knows no socket files.
    #[error("{address} is a socket file, which no browser opens: write HOST:PORT")]
    SocketFile {
        /// The address.
        address: String,
    },
    /// The password cannot be used.
    #[error("{place}: {cause}")]
    Password {
        /// Where it was to come from.
        place: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A certificate without a key, or the other way round.
    #[error("--cert and --key belong together: name both")]
    HalfTls,
    /// The index cannot be made, not even in memory.
    #[error("cannot keep an index of the folders: {cause}")]
    Index {
        /// What `SQLite` says.
        #[from]
        cause: rusqlite::Error,
    },
    /// The system gives no random numbers, or does not say which program this is.
    #[error("cannot {what}: {cause}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        cause: io::Error,
    },
    /// An address, a certificate or a key does not serve.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The server cannot go on.
    #[error(transparent)]
    Serve(#[from] ServeError),
}
