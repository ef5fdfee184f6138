//! How the program ends.

use std::io;
use std::process::ExitCode;

/// The meaning of each exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It ran, and the figures may be used.
    Ran,
    /// It ran, and the figures may not be used, or a threshold was missed.
    Finding,
    /// It did not run, or refused to.
    DidNotRun,
    /// It ran, and cannot answer what was asked: untestable, or not checked.
    Unanswered,
    /// A signal ended it.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ran => 0,
            Exit::Finding => 1,
            Exit::DidNotRun => 2,
            Exit::Unanswered => 3,
            Exit::Interrupted => 130,
        })
    }
}

/// True when the reader of our output has gone, which is its good right.
pub(crate) fn pipe_was_closed(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
