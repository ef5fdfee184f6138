//! Files of statements with their times: PostgreSQL's csvlog and jsonlog, and lines of plain text.

use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::{Entry, plain, records};

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// PostgreSQL's log with `log_destination = csvlog`.
    Csvlog,
    /// PostgreSQL's log with `log_destination = jsonlog`.
    Jsonlog,
    /// Lines of `SECONDS<tab>SESSION<tab>STATEMENT`.
    Text,
}

impl LogFormat {
    /// As options name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csvlog => "csvlog",
            Self::Jsonlog => "jsonlog",
            Self::Text => "text",
        }
    }

    /// The format that the name of `file` ends like.
    #[must_use]
    pub fn of_name(file: &Path) -> Self {
        match file.extension().and_then(|it| it.to_str()) {
            Some("csv") => Self::Csvlog,
            Some("json") => Self::Jsonlog,
            _ => Self::Text,
        }
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Csvlog, Self::Jsonlog, Self::Text]
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| "expected csvlog, jsonlog or text".into())
    }
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {complaint}", file.display())]
pub struct UnreadableLog {
    /// The file.
    pub file: PathBuf,
    /// Where, what is wrong with it, and what was expected.
    pub complaint: String,
}

/// A file, read record by record.
pub struct LogReader {
    file: PathBuf,
    records: Box<dyn Iterator<Item = Result<Entry, String>> + Send>,
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogReader").field("file", &self.file).finish_non_exhaustive()
    }
}

impl LogReader {
    /// Opens `file`.
    ///
    /// # Errors
    /// [`UnreadableLog`].
    pub fn open(file: &Path, format: LogFormat) -> Result<Self, UnreadableLog> {
        let complain =
            |error: io::Error| UnreadableLog { file: file.into(), complaint: error.to_string() };
        let bytes = BufReader::new(plain_file(file).map_err(complain)?);
        Ok(Self { file: file.into(), records: records_of(bytes, format) })
    }
}

/// A log is surveyed before it is replayed. What gives its content once only is refused, and not opened: a
/// pipe without a writer would wait for one.
fn plain_file(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_fifo() || kind.is_socket() || kind.is_char_device() {
        return Err(io::Error::other(
            "it is read twice, and no file: write what comes out of it to one first",
        ));
    }
    File::open(path)
}

fn records_of(
    bytes: impl io::BufRead + Send + 'static,
    format: LogFormat,
) -> Box<dyn Iterator<Item = Result<Entry, String>> + Send> {
    match format {
        LogFormat::Csvlog => Box::new(records::Csv::new(bytes)),
        LogFormat::Jsonlog => Box::new(records::json(bytes)),
        LogFormat::Text => Box::new(plain::lines(bytes)),
    }
}

impl Iterator for LogReader {
    type Item = Result<Entry, UnreadableLog>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.records.next()?;
        Some(next.map_err(|complaint| UnreadableLog { file: self.file.clone(), complaint }))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
