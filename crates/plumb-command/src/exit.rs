//! How the program ends.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use plumb_measure::{RunRecord, Status};
use plumb_page::wrap;

/// The meaning of each exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
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

impl Exit {
    /// What the run in `record` means for whoever called.
    pub fn of(record: &RunRecord) -> Self {
        let mut thresholds = record.results.iter().flat_map(|result| &result.thresholds);
        let missed = thresholds.any(|threshold| !threshold.met);
        // the only thing against the figures is that something could not be checked
        let unchecked = !record.validity.is_checked();
        if record.status == Status::Interrupted {
            Self::Interrupted
        } else if missed || !(record.validity.valid || unchecked) {
            Self::Finding
        } else if unchecked {
            Self::Unanswered
        } else {
            Self::Ran
        }
    }
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
pub fn pipe_was_closed(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// `error` with what caused it, in words, each said once: many say their cause themselves.
pub fn said(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        cause if said.is_empty() => cause,
        cause if said.contains(&cause) => said,
        cause => format!("{said}: {cause}"),
    })
}

/// The help of a command within others, which was asked for and is no error.
pub fn help(error: &anyhow::Error) -> Option<&clap::Error> {
    error.downcast_ref::<clap::Error>().filter(|message| !message.use_stderr())
}

/// Writes to standard output. Whoever has read enough, and closed it, still gets the exit code.
///
/// # Errors
/// When it cannot be written for another reason.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout();
    unless_closed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Tells whoever watches, on standard error: what others say in `text` steers no terminal.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "plumb: {}", wrap::harmless(text)); // nobody may be there to read it
}

/// Output whose reader may go: what is written then is read by nobody, and what was under way goes on
/// to the exit code that it earns.
#[derive(Debug)]
pub struct Unread<W>(pub W);

impl<W: io::Write> io::Write for Unread<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }
}

/// What came of writing to standard output, where a reader that has gone is no error.
///
/// # Errors
/// When it cannot be written for another reason.
pub fn unless_closed(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("standard output cannot be written"),
    }
}
