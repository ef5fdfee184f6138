//! Figures that cannot be true beside others, as JSON documents have them.

use std::path::Path;

use serde::Serialize;

use crate::finding::{self, Report};

/// What checking a table or a recording gave.
#[derive(Debug, Serialize)]
pub struct Check {
    comparisons: u64,
    findings: Vec<Finding>,
    left_out: u64,
}

#[derive(Debug, Serialize)]
struct Finding {
    line: u64,
    row: String,
    column: String,
    printed: String,
    expected: String,
    formula: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    likely: Option<String>,
}

/// A file that could not be read.
#[derive(Debug, Serialize)]
pub struct Unread {
    path: String,
    error: String,
}

impl Check {
    /// The form of `report`.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        Self {
            comparisons: report.checks(),
            findings: report.findings().iter().map(Finding::of).collect(),
            left_out: report.left_out(),
        }
    }
}

impl Finding {
    fn of(finding: &finding::Finding) -> Self {
        Self {
            line: finding.line,
            row: finding.row.clone(),
            column: finding.column.clone(),
            printed: finding.printed.clone(),
            expected: finding.expected.clone(),
            formula: finding.formula.clone(),
            likely: finding.likely.clone(),
        }
    }
}

impl Unread {
    /// The file at `path`, which `error` kept from being read.
    #[must_use]
    pub fn of(path: &Path, error: &dyn std::error::Error) -> Self {
        Self { path: path.display().to_string(), error: error.to_string() }
    }

    /// Why which file was not read.
    #[must_use]
    pub fn words(&self) -> String {
        // an error of opening names the file itself
        if self.error.contains(&self.path) {
            return self.error.clone();
        }
        format!("{}: {}", self.path, self.error)
    }
}
