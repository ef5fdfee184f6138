//! Files of statements with their times: PostgreSQL's csvlog and jsonlog, and lines of plain text.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::{plain, records};

/// Bytes that one record of a file may have.
pub(crate) const RECORD_MAX: usize = 16 << 20;

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

/// A statement that was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// When it began, microseconds since some moment that is the same for the whole file.
    pub at_us: i64,
    /// When it was logged.
    pub logged_us: i64,
    /// Whose it is: statements of one session follow each other.
    pub session: String,
    /// The statement.
    pub text: String,
    /// Values of `$1`, `$2` and so on; `None` for each that is null.
    pub parameters: Vec<Option<String>>,
}

/// What a record of a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A statement.
    Statement(Logged),
    /// Something else that a server logs.
    Other,
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
        let bytes = BufReader::new(File::open(file).map_err(complain)?);
        Ok(Self { file: file.into(), records: records_of(bytes, format) })
    }
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

/// Lines of a file with their numbers, each no longer than [`RECORD_MAX`].
pub(crate) fn numbered_lines(
    mut bytes: impl io::BufRead,
) -> impl Iterator<Item = Result<(u64, String), String>> {
    let mut number = 0;
    std::iter::from_fn(move || {
        number += 1;
        let mut line = Vec::new();
        let most = RECORD_MAX as u64;
        match io::BufRead::read_until(&mut bytes.by_ref().take(most), b'\n', &mut line) {
            Err(error) => Some(Err(format!("line {number}: {error}"))),
            Ok(0) => None,
            Ok(_) if line.len() == RECORD_MAX && !line.ends_with(b"\n") => {
                Some(Err(format!("line {number} is longer than {RECORD_MAX} bytes")))
            }
            Ok(_) => {
                while line.ends_with(b"\n") || line.ends_with(b"\r") {
                    line.pop();
                }
                let line = String::from_utf8(line);
                Some(line.map(|it| (number, it)).map_err(|_| format!("line {number} is not UTF-8")))
            }
        }
    })
    .scan(false, |failed, line| {
        // behind what cannot be read nothing is
        if *failed {
            return None;
        }
        *failed = line.is_err();
        Some(line)
    })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
