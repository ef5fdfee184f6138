//! A table of figures and what its header says about them.

use crate::figure::{Figure, Style};
use crate::formula::Formula;
use crate::interval::Interval;
use crate::unit::Unit;

/// Most columns and rows.
pub(crate) const COLUMNS_MAX: usize = 1_000;
pub(crate) const ROWS_MAX: usize = 200_000;

/// A table that can be checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// Bytes a second that the link between the hosts carries one way.
    pub(crate) link: Option<(String, f64)>,
    pub(crate) extremes: Option<Extremes>,
}

/// A column and its rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) unit: Option<Unit>,
    /// Directions that its rate counts together.
    pub(crate) directions: f64,
    pub(crate) rules: Vec<Rule>,
}

/// What must hold for a figure of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rule {
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
pub(crate) enum Time {
    Column(usize),
    /// So many seconds, as the header says.
    Fixed(f64),
}

/// How an improvement was worked out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Improvement {
    pub(crate) candidate: usize,
    pub(crate) baseline: usize,
    pub(crate) better: Better,
    /// What the percentage is of, if the header says so.
    pub(crate) base: Option<Base>,
}

/// Which figures are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
}

/// What an improvement is a percentage of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Baseline,
    Candidate,
}

/// Rows that hold averages and extremes of the same counters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extremes {
    /// The column that says which row it is.
    pub(crate) column: usize,
    pub(crate) average: String,
    pub(crate) min: String,
    pub(crate) max: String,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// Line of the file, or number of the row.
    pub(crate) line: u64,
    pub(crate) cells: Vec<Cell>,
}

/// What stands in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Figure(Figure),
    Words(String),
    Empty,
}

impl Cell {
    pub(crate) fn parse(text: &str, style: Style) -> Self {
        match Figure::parse(text, style) {
            Ok(Some(figure)) => Self::Figure(figure),
            Ok(None) => Self::Empty,
            Err(_) => Self::Words(text.trim().to_owned()),
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Figure(figure) => &figure.text,
            Self::Words(words) => words,
            Self::Empty => "",
        }
    }
}

impl Row {
    pub(crate) fn figure(&self, column: usize) -> Option<&Figure> {
        match self.cells.get(column)? {
            Cell::Figure(figure) => Some(figure),
            Cell::Words(_) | Cell::Empty => None,
        }
    }

    pub(crate) fn interval(&self, column: usize) -> Option<Interval> {
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
