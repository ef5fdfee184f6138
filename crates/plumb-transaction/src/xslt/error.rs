//! Why a document was not transformed.

use std::io;
use std::path::PathBuf;

/// Why a stylesheet was not read, compiled or applied.
#[derive(Debug, thiserror::Error)]
pub enum XsltError {
    /// The program that applies stylesheets is not installed.
    #[error(
        "`plumb-xslt` is neither in {beside} nor in PATH: install libxslt1-dev and \
         libxml2-dev, build again, and put it there"
    )]
    NoProgram {
        /// The folder of the running program.
        beside: PathBuf,
    },
    /// The program could not be started.
    #[error("cannot start {program}: {error}")]
    NotStarted {
        /// The program.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A path that is absolute or leads out of the folder of transactions.
    #[error("`{path}` is not below {folder}: a stylesheet stands in the folder of transactions")]
    Elsewhere {
        /// As it was written.
        path: String,
        /// The folder of transactions.
        folder: PathBuf,
    },
    /// A stylesheet that cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A stylesheet beyond the limit.
    #[error("{path} is larger than {most} bytes, which is what a stylesheet may have")]
    StylesheetTooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        most: u64,
    },
    /// A result that is to be in an encoding that the actions behind it do not read.
    #[error("{path}: it writes {encoding}, expected <xsl:output encoding=\"UTF-8\"/>")]
    Encoding {
        /// The file.
        path: PathBuf,
        /// As it is written there.
        encoding: String,
    },
    /// A document beyond the limit.
    #[error("the document has {found} bytes, more than the {most} that a stylesheet is given")]
    DocumentTooLarge {
        /// Its size.
        found: usize,
        /// The limit.
        most: u32,
    },
    /// A result beyond the limit.
    #[error("{stylesheet}: a result of {found} bytes, at most {most} are taken")]
    ResultTooLarge {
        /// The file.
        stylesheet: PathBuf,
        /// Its size.
        found: u32,
        /// The limit.
        most: u32,
    },
    /// The stylesheet is wrong, the document is, or what it asks for is refused.
    #[error("{stylesheet}: {problem}")]
    Failed {
        /// The file.
        stylesheet: PathBuf,
        /// The line that the problem names first; 0: none.
        line: u32,
        /// What, and where.
        problem: String,
    },
    /// The process ended, instead of answering.
    #[error("{stylesheet}: {how}")]
    Ended {
        /// The file.
        stylesheet: PathBuf,
        /// How it ended.
        how: String,
        /// Somebody else ended it, so that it may work the next time.
        by_others: bool,
    },
    /// It was not done in time, and was killed.
    #[error("{stylesheet}: it was not done in time, and was stopped")]
    Late {
        /// The file.
        stylesheet: PathBuf,
    },
    /// All processes of the stylesheet were busy all the time.
    #[error("{stylesheet}: all {processes} processes of it were busy for too long")]
    Busy {
        /// The file.
        stylesheet: PathBuf,
        /// How many.
        processes: usize,
    },
}
