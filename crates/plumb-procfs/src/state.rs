//! What becomes of a sampler.

use std::fmt;
use std::io::{self, ErrorKind};

use rustix::io::Errno;
use serde::Serialize;

/// Whether a sampler delivers, and why not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state", content = "reason")]
pub enum State {
    /// It delivers figures.
    #[default]
    Active,
    /// Nobody wants its figures.
    Disabled,
    /// This machine does not have what it reads.
    Unsupported(String),
    /// This machine has it, but it could not be read.
    Failed(String),
}

impl State {
    /// What an error of the kernel makes of a sampler that reads `path`.
    pub(crate) fn after(path: &str, error: &io::Error) -> Self {
        let lacking = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported)
            || matches!(
                Errno::from_io_error(error),
                Some(Errno::OPNOTSUPP | Errno::NODEV | Errno::NXIO | Errno::INVAL | Errno::NOSYS)
            );
        match (lacking, error.kind()) {
            (_, ErrorKind::NotFound) => Self::Unsupported(format!("there is no {path}")),
            (true, _) => Self::Unsupported(format!("{path} is there, but switched off")),
            (_, ErrorKind::PermissionDenied) => {
                Self::Failed(format!("{path} may not be read: run as root, or leave it out"))
            }
            _ => Self::Failed(format!("cannot read {path}: {error}")),
        }
    }

    /// True while it delivers.
    #[must_use]
    pub fn is_active(&self) -> bool {
        *self == Self::Active
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active => f.write_str("active"),
            Self::Disabled => f.write_str("disabled"),
            Self::Unsupported(reason) => write!(f, "unsupported: {reason}"),
            Self::Failed(reason) => write!(f, "failed: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_told_from_what_cannot_be_read() {
        let state = |errno: Errno| State::after("/proc/x", &errno.into());
        assert_eq!(state(Errno::NOENT), State::Unsupported("there is no /proc/x".into()));
        assert!(matches!(state(Errno::OPNOTSUPP), State::Unsupported(_)));
        assert!(matches!(state(Errno::ACCESS), State::Failed(_)));
        assert!(matches!(state(Errno::IO), State::Failed(_)));
    }
}
