//! A table of figures and what its header says about them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::figure::{Figure, Style};
use super::formula::Formula;
use super::interval::Interval;
use super::unit::Unit;
use super::{csv, json};

/// Largest file that is read, bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Most columns and rows.
pub(super) const COLUMNS_MAX: usize = 1_000;
pub(super) const ROWS_MAX: usize = 200_000;

/// A table that can be checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// Bytes a second that the link between the hosts carries one way.
    pub(super) link: Option<(String, f64)>,
    pub(super) extremes: Option<Extremes>,
}

/// A column and its rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) unit: Option<Unit>,
    /// Directions that its rate counts together.
    pub(super) directions: f64,
    pub(super) rules: Vec<Rule>,
}

/// What must hold for a figure of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rule {
    /// All columns with the same whole add up to it.
    PartOf(Formula),
    /// The figure is the value of a formula.
    Is(Formula),
    /// The figure is a rate times a time.
    Total { rate: usize, time: Time },
    /// The figure is the improvement of one column against another, percent.
    Improvement(Improvement),
    /// The figure lies between two columns.
    Between(usize, usize),
    /// The figure is at most a formula.
    AtMost(Formula),
    /// The figure is at least a formula.
    AtLeast(Formula),
    /// The figure is that of another column in another unit.
    SameAs(usize),
}

/// The time of a total.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Time {
    Column(usize),
    /// So many seconds, as the header says.
    Fixed(f64),
}

/// How an improvement was worked out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Improvement {
    pub(super) candidate: usize,
    pub(super) baseline: usize,
    pub(super) better: Better,
    /// What the percentage is of, if the header says so.
    pub(super) base: Option<Base>,
}

/// Which figures are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    Lower,
    Higher,
}

/// What an improvement is a percentage of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Baseline,
    Candidate,
}

/// Rows that hold averages and extremes of the same counters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Extremes {
    /// The column that says which row it is.
    pub(super) column: usize,
    pub(super) average: String,
    pub(super) min: String,
    pub(super) max: String,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Line of the file, or number of the row.
    pub(super) line: u64,
    pub(super) cells: Vec<Cell>,
}

/// What stands in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Figure(Figure),
    Words(String),
    Empty,
}

impl Cell {
    pub(super) fn parse(text: &str, style: Style) -> Self {
        match Figure::parse(text, style) {
            Ok(Some(figure)) => Self::Figure(figure),
            Ok(None) => Self::Empty,
            Err(_) => Self::Words(text.trim().to_owned()),
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Figure(figure) => &figure.text,
            Self::Words(words) => words,
            Self::Empty => "",
        }
    }
}

impl Row {
    pub(super) fn figure(&self, column: usize) -> Option<&Figure> {
        match self.cells.get(column)? {
            Cell::Figure(figure) => Some(figure),
            Cell::Words(_) | Cell::Empty => None,
        }
    }

    pub(super) fn interval(&self, column: usize) -> Option<Interval> {
        self.figure(column).map(|figure| figure.interval)
    }
}

impl Table {
    /// The names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Rows of figures.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }
}

/// A table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read: check its name and its permissions.
    #[error("cannot be read: {cause}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The file is larger than any table that is written for people.
    #[error("larger than 64 MiB: give a table of results, not of samples")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A line is not understood; the message says what was expected.
    #[error("line {line}: {message}")]
    Line {
        /// Line of the file, from 1.
        line: u64,
        /// What is wrong and what was expected.
        message: String,
    },
}

impl ReadError {
    pub(super) fn at(line: u64, message: impl Into<String>) -> Self {
        Self::Line { line, message: message.into() }
    }
}

/// Reads a table from a file, JSON when its first sign is `{`, else CSV.
///
/// # Errors
/// [`ReadError`].
pub fn open(path: &Path) -> Result<Table, ReadError> {
    let failed = |cause| ReadError::File { path: path.to_owned(), cause };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(ReadError::TooLarge { path: path.to_owned() });
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') { read_json(text) } else { read_csv(text) }
}

/// Reads a CSV table: lines that start with `#` say what the columns mean, the next line names
/// them, the others are rows.
///
/// # Errors
/// [`ReadError::Line`].
pub fn read_csv(text: &str) -> Result<Table, ReadError> {
    csv::read(text)
}

/// Reads a JSON table.
///
/// # Errors
/// [`ReadError::Line`].
pub fn read_json(text: &str) -> Result<Table, ReadError> {
    json::read(text)
}
