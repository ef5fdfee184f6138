//! Why a server does not run.

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
    /// The certificates that are to be trusted cannot be used.
    #[error(transparent)]
    Trust(#[from] plumb_engine::EngineError),
    /// A setting cannot work.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The kernel refused a service that every server needs.
    #[error("cannot {what}: {cause}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        cause: std::io::Error,
    },
}

/// What a setting cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A number of threads, connections and the like out of its range.
    #[error("{name} is {value}: write a number from 1 to {most}")]
    Count {
        /// The setting, as the file calls it.
        name: &'static str,
        /// What was written.
        value: usize,
        /// The largest there may be.
        most: usize,
    },
    /// A limit of the request line and its headers that would refuse ordinary requests.
    #[error("front.header-size must be at least 8KiB")]
    HeaderSize,
    /// A name that the Basic scheme cannot carry.
    #[error("`{name}` cannot be a user: a name has no colon and is not empty")]
    User {
        /// The name.
        name: String,
    },
    /// A password that everybody knows.
    #[error("the password of `{name}` is empty: give one, or leave the user out")]
    Password {
        /// The user.
        name: String,
    },
}
