//! What lies beside the runs of a report and could not be shown.

use std::path::Path;

use plumb_measure::RecordError;

use crate::error::FolderError;

/// A folder or file that is not in the figures, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Where it lies.
    pub place: String,
    /// What is wrong with it, with line and column where they are known.
    pub reason: String,
    /// What to try.
    pub remedy: &'static str,
}

impl Unread {
    /// What an error says of the folder or file at `path`.
    #[must_use]
    pub fn of(path: &Path, error: &FolderError) -> Self {
        let (reason, remedy) = match error {
            FolderError::NoRun { .. } => (
                "there is no run.json".to_owned(),
                "the run left no record: measure again, or take its folder out",
            ),
            FolderError::NoRecord { .. } => (
                "there is no run.json: the run has not ended yet, or its process was killed"
                    .to_owned(),
                "wait for its end; where it was killed, measure again, or take its folder out",
            ),
            FolderError::Record { cause, .. } => (reason_of(cause), cause.remedy()),
            FolderError::Read { cause, .. } => {
                (cause.to_string(), "make the file readable, or take its folder out")
            }
            other => (other.to_string(), "take its folder out"),
        };
        Self { place: path.display().to_string(), reason, remedy }
    }

    /// A block of an experiment that came to nothing.
    pub(crate) fn failed(path: &Path, round: u64, reason: &str) -> Self {
        Self {
            place: path.display().to_string(),
            reason: format!("the block of round {round} came to nothing: {reason}"),
            remedy: "its round has no pair; the others count",
        }
    }
}

/// What is wrong with a record, without what to try.
fn reason_of(cause: &RecordError) -> String {
    match cause {
        RecordError::Json(_) => cause.to_string(),
        RecordError::Schema { found, reads } => {
            format!("this record is `{found}`; this program reads `{reads}`")
        }
    }
}
