//! Why a file was not made a scenario.

use std::path::PathBuf;

use plumb_draft::SourceError;

/// Why there is no scenario. Each message says what to try; none holds a password.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// More bytes than are read.
    #[error("{} is larger than {most_mib} MiB: record less, or leave out the contents of answers", path.display())]
    Large {
        /// The file.
        path: PathBuf,
        /// MiB that are read at most.
        most_mib: u64,
    },
    /// Bytes that are no UTF-8.
    #[error(
        "{}: line {line} is not UTF-8: write the file again in UTF-8 (iconv -t UTF-8)",
        path.display()
    )]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
    },
    /// Two files are made, and standard output is one.
    #[error(
        "an access log becomes a scenario and a data file beside it: name the scenario with --out \
         SCENARIO.toml"
    )]
    NoOut,
    /// Neither of the formats.
    #[error(
        "{} is none of the formats that are read: HAR begins with `{{`, JMX with `<`, \
         grinder.properties holds lines `grinder.NAME=VALUE`, and access logs a time in brackets; name the format with --from",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// The file gives no scenario.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The output is there already.
    #[error("{} is there already: name another file, or give --force", path.display())]
    There {
        /// The file.
        path: PathBuf,
    },
    /// Two of the files are one.
    #[error("{} is named twice: read from one file, and write to others", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// The output cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The file names nobody whose credentials could be written.
    #[error(
        "--credentials-out: the file holds no user with a password that is written out; leave the \
         option out"
    )]
    NoLogin,
    /// Standard output, or the log beside it, cannot be written.
    #[error("cannot write what was made")]
    Output(#[from] std::io::Error),
    /// Values that TOML cannot hold.
    #[error("the scenario cannot be written as TOML: {0}")]
    Toml(#[from] toml::ser::Error),
}
