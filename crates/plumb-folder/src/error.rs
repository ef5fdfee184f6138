//! What can go wrong with a folder, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use plumb_measure::{RecordError, hdr};

use crate::names::{CHECK, CHECKUP, COMPARISON, INTERVALS, NUMBERED_MAX, RECORD};

/// Why a folder could not be made, written or read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder holds a run already, and a run is never overwritten.
    #[error("{path} already holds a run, which is never overwritten: name another folder")]
    HoldsRun {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds an experiment already, and an experiment is never overwritten.
    #[error("{path} already holds an experiment, which is never overwritten: name another folder")]
    HoldsExperiment {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds files that are neither.
    #[error("{path} is not empty: name a folder that does not exist yet, or an empty one")]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// Another process works in the folder, and would write over what this one writes.
    #[error("another process works in {path} ({holder}): wait for its end, or end it")]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Which process of which machine.
        holder: String,
    },
    /// Every name from the stem to the stem with the highest number is taken.
    #[error(
        "{parent} holds {NUMBERED_MAX} folders named after {stem}: move some away, or name a folder"
    )]
    NamesTaken {
        /// Where the folder was to be made.
        parent: PathBuf,
        /// The name without its number.
        stem: String,
    },
    /// The folder cannot be made.
    #[error("cannot make the folder {path}: {cause}; {}", remedy(.cause))]
    Create {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A file of the folder cannot be written. What was written before stands.
    #[error("cannot write {path}: {cause}; {}", remedy(.cause))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// There is no run there.
    #[error("no run at {path}: name a run folder (one with a {RECORD} in it) or its {RECORD}")]
    NoRun {
        /// The path as given.
        path: PathBuf,
    },
    /// A run was begun there, and has no record.
    #[error(
        "{path} has no {RECORD}: its run has not ended yet, or its process was killed before it wrote \
         one; {INTERVALS} holds the intervals up to then"
    )]
    NoRecord {
        /// The folder of the run.
        path: PathBuf,
    },
    /// There is more than one report can show.
    #[error("{path}: more than {most} runs or folders in all: name fewer")]
    TooMany {
        /// Where the limit was reached.
        path: PathBuf,
        /// The limit.
        most: usize,
    },
    /// There is no comparison there.
    #[error(
        "no comparison at {path}: name the folder of an experiment (one with a {COMPARISON} in \
         it) or its {COMPARISON}"
    )]
    NoComparison {
        /// The path as given.
        path: PathBuf,
    },
    /// There is no check of a network path there.
    #[error("no check at {path}: name the folder that plumb net check made (with a {CHECK} in it)")]
    NoCheck {
        /// The path as given.
        path: PathBuf,
    },
    /// There is no checkup of a landscape there.
    #[error(
        "no checkup at {path}: name the folder that plumb checkup made (with a {CHECKUP} in it)"
    )]
    NoCheckup {
        /// The path as given.
        path: PathBuf,
    },
    /// The record is there and cannot be read.
    #[error("cannot read {path}: {cause}; {}", remedy(.cause))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The file is no interval log.
    #[error("{path}: {cause}: the file was altered")]
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        cause: hdr::LogError,
    },
    /// The file is not the one that was written when the run ended.
    #[error(
        "{path} is not what was written when it ended (the digest in SHA256SUMS is another): copy \
         the folder again from where it was measured, or measure again"
    )]
    Altered {
        /// The file.
        path: PathBuf,
    },
    /// The run is not the one that its experiment took.
    #[error(
        "{path} is not the run that its experiment took there (order.json has another digest): copy \
         the folder again from where it was measured"
    )]
    Another {
        /// The folder of the block.
        path: PathBuf,
    },
    /// The run is not the one that became the baseline.
    #[error(
        "{path} is not the run that was set as the baseline `{name}` (its record has another \
         digest): set a baseline again"
    )]
    NotTheBaseline {
        /// The folder of the run.
        path: PathBuf,
        /// The name of the baseline.
        name: String,
    },
    /// Figures of a record contradict each other, as no run leaves them.
    #[error(
        "{path} contradicts itself: {contradiction}; it was altered: copy the folder again from \
         where it was measured, or measure again"
    )]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// Which figures, in words.
        contradiction: String,
    },
    /// The file is no such record, or one of another version.
    #[error("{path}: {cause}{}", remedy_of(cause))]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        cause: RecordError,
    },
}

/// What to try with a record that cannot be read, where its words do not say it.
fn remedy_of(cause: &RecordError) -> String {
    match cause {
        RecordError::Json(error) if error.is_eof() => format!("; {}", cause.remedy()),
        RecordError::Json(_) | RecordError::Schema { .. } => String::new(),
    }
}

/// What to try after an error of the file system.
fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        ErrorKind::PermissionDenied => "ask for the right to it, or name another folder",
        ErrorKind::ReadOnlyFilesystem => "name a folder on a file system that can be written",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room, or name a folder on another file system"
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file stands where a folder is needed: name another folder"
        }
        ErrorKind::InvalidData => "it is not UTF-8 text: it was cut or altered",
        _ => "check the path and its file system",
    }
}
