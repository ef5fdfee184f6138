//! Why a journal cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use super::record::NoRecord;
use crate::table::Impossible;

/// Why a journal cannot be read or written. Each message says what to try.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The folder or a file in it cannot be used.
    #[error("cannot {what} {path}: {cause}; check the folder, its owner and the room on its disk")]
    File {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Another server uses the folder.
    #[error("{path} is in use by another server; stop that one, or name another folder")]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The file is none of ours, or damaged where no crash could have damaged it.
    #[error(
        "{path} is damaged at byte {at}: {cause}; `plumb lock journal verify` says more, \
         `plumb lock journal repair` keeps what stands before it"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        at: u64,
        /// How.
        cause: NoRecord,
    },
    /// There is no journal.
    #[error("{path} holds no files of a journal; name the folder of `plumb lock serve --journal`")]
    Nothing {
        /// The folder.
        path: PathBuf,
    },
    /// There is no complete snapshot to begin with.
    #[error(
        "{path} holds files of a journal but no complete snapshot; `plumb lock journal repair` \
         keeps what there is of one, or restore one, or empty the folder"
    )]
    NoSnapshot {
        /// The folder.
        path: PathBuf,
    },
    /// The table is not as it was when the journal was written.
    #[error("{path} cannot be applied: {cause}")]
    Impossible {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: Impossible,
    },
}

impl JournalError {
    pub(super) fn file<'p>(what: &'static str, path: &'p Path) -> impl Fn(io::Error) -> Self + 'p {
        move |cause| Self::File { what, path: path.to_owned(), cause }
    }
}
