//! Why remotes cannot measure.

use crate::nats::NatsError;

/// Why remotes cannot measure.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// A remote on this machine cannot be started.
    #[error("a remote on this machine cannot be started: {0}")]
    Start(#[from] std::io::Error),
    /// It has not said who it is.
    #[error("{name} does not answer: {why}")]
    Silent {
        /// The remote.
        name: String,
        /// What came in the place of an answer.
        why: String,
    },
    /// It is another version.
    #[error("{name} is plumb {version} ({schema}), this is {}: give both the same", env!("CARGO_PKG_VERSION"))]
    Version {
        /// The remote.
        name: String,
        /// Its version.
        version: String,
        /// What it speaks.
        schema: String,
    },
    /// It is not who was taken, or has a name that none can have.
    #[error("{name:?} calls itself {said:?}, and no remote of that name was asked for")]
    Name {
        /// By which it was taken.
        name: String,
        /// What it calls itself.
        said: String,
    },
    /// What two hand over would lie in one place.
    #[error(
        "{name} and {other}: the record of the first has the name of the second: give one another --name"
    )]
    Alike {
        /// One of them.
        name: String,
        /// The other.
        other: String,
    },
    /// It cannot carry out its part.
    #[error("{name}: {why}")]
    Refused {
        /// The remote.
        name: String,
        /// In its own words.
        why: String,
    },
    /// The NATS server in which they wait is of no use.
    #[error(transparent)]
    Nats(#[from] NatsError),
}
