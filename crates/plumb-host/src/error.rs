//! Why the host layer did not run.

use std::io;
use std::path::PathBuf;

use plumb_engine::EngineError;
use plumb_folder::FolderError;
use plumb_measure::Span;
use plumb_nmon::WriteError;

/// Why there are no samples. Each message says what to try.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// No verb was named.
    #[error("name a verb: watch, record or serve")]
    NoVerb,
    /// Samples at that pace would cost more than they show.
    #[error("samples every {every} are too many: write --every {least} or more")]
    TooOften {
        /// As asked for.
        every: Span,
        /// What is possible.
        least: Span,
    },
    /// A recording of that length holds no sample.
    #[error("--for {length} is shorter than --every {every}, so there would be no sample")]
    TooShort {
        /// Length of the recording.
        length: Span,
        /// Time between two samples.
        every: Span,
    },
    /// Idling cannot be measured for that long, or for so short a time.
    #[error("--for {length} is no length for this: write 1s to {longest}")]
    IdleLength {
        /// As asked for.
        length: Span,
        /// What is possible.
        longest: Span,
    },
    /// It takes two processors, no more and no fewer.
    #[error("--pin names {0} processors, and it takes two: write for example --pin 0,1")]
    IdleProcessors(usize),
    /// The exchange whose idling is measured broke.
    #[error("cannot {what}: {cause}; is loopback up?")]
    IdleExchange {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        cause: io::Error,
    },
    /// A process was named that is not there.
    #[error("there is no process {0}; name one that runs, or give a name to wait for it")]
    NoProcess(u32),
    /// The folder cannot be made, or holds something already: nothing is ever overwritten.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file or folder cannot be written.
    #[error(
        "cannot write {path}: {cause}; name a folder on a disk with room that you may write to"
    )]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The nmon file cannot be written.
    #[error("cannot write {path}: {cause}")]
    Nmon {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: WriteError,
    },
    /// The time of the processors cannot be read, without which nothing else means much.
    #[error("cannot watch this machine: {0}")]
    Blind(String),
    /// The engine could not connect or listen.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Whoever answers at the address of a far host is none.
    #[error("{address} {complaint}")]
    NoFarHost {
        /// Where.
        address: String,
        /// What it does instead of answering.
        complaint: String,
    },
    /// The kernel refused a service that every recording needs.
    #[error("cannot {what}: {cause}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
    /// Standard output could not be written.
    #[error("cannot write output: {0}")]
    Output(#[from] io::Error),
}

impl HostError {
    pub(crate) fn write(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Write { path, cause }
    }

    pub(crate) fn nmon(path: &std::path::Path) -> impl FnOnce(WriteError) -> Self {
        let path = path.to_owned();
        move |cause| Self::Nmon { path, cause }
    }

    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::System { what, cause }
    }
}
