//! What does not agree in a table.

use std::fmt;

/// Findings that are kept; a table with a wrong rule has one in every row.
const FINDINGS_MAX: usize = 1_000;

/// A figure that cannot be true beside the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Line of the file, or number of the row.
    pub line: u64,
    /// What the row is called: its first cell.
    pub row: String,
    /// The column, or the columns added up.
    pub column: String,
    /// What kind of disagreement it is.
    pub kind: Disagreement,
    /// The figure as it is printed.
    pub printed: String,
    /// What it should be.
    pub expected: String,
    /// From which formula.
    pub formula: String,
    /// What probably happened, if anything explains the figure.
    pub likely: Option<String>,
}

/// The kinds of disagreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Disagreement {
    /// Shares do not add up to their whole.
    Shares,
    /// A figure is not the value of its formula.
    Formula,
    /// A total is not its rate times its time.
    Total,
    /// A rate that the link cannot carry.
    Link,
    /// An improvement that is not relative to the baseline.
    Improvement,
    /// A figure outside of its minimum and maximum.
    Extremes,
    /// A figure beyond its bound.
    Bound,
    /// The same quantity in two units differs.
    Units,
    /// A separator stands where only the other one can.
    Separator,
    /// Words where a rule needs a figure.
    Words,
    /// Lines of two hosts in one recording.
    Hosts,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, row, column, printed, expected, formula, .. } = self;
        write!(f, "line {line}")?;
        if !row.is_empty() {
            write!(f, " ({row})")?;
        }
        write!(f, ", {column}: {printed}, expected {expected} from {formula}")?;
        match &self.likely {
            Some(likely) => write!(f, "; likely {likely}"),
            None => Ok(()),
        }
    }
}

/// The result of checking a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    findings: Vec<Finding>,
    left_out: u64,
    checks: u64,
}

impl Report {
    /// What does not agree, in the order of the rows; at most a thousand.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Findings beyond those that are kept.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Comparisons made; a table without rules has none and says nothing.
    #[must_use]
    pub fn checks(&self) -> u64 {
        self.checks
    }

    pub(crate) fn checked(&mut self) {
        self.checked_often(1);
    }

    pub(crate) fn checked_often(&mut self, comparisons: u64) {
        self.checks += comparisons;
    }

    /// Findings that nobody kept.
    pub(crate) fn leave_out(&mut self, findings: u64) {
        self.left_out += findings;
    }

    pub(crate) fn add(&mut self, mut finding: Finding) {
        // no file can steer a terminal
        for text in [&mut finding.row, &mut finding.column, &mut finding.printed] {
            if text.contains(char::is_control) {
                *text = text.replace(char::is_control, " ");
            }
        }
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        } else {
            self.left_out += 1;
        }
    }

    pub(crate) fn sort(&mut self) {
        self.findings.sort_by_key(|finding| finding.line);
    }
}
