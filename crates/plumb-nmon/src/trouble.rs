//! What was wrong with a file that could be read all the same.

use std::collections::HashMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};

use crate::cell;

/// Something wrong at a line; whatever could be read around it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Line of the file, from 1; of the uncompressed text.
    pub line: u64,
    /// What is wrong there.
    pub kind: TroubleKind,
}

/// The kinds of trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// The file ends within a line, a snapshot or its compressed data.
    Truncated(String),
    /// A line that is not of nmon's grammar.
    Garbage(String),
    /// A line longer than any that nmon writes; it was left out.
    LongLine,
    /// The section has a header but no figures.
    HeaderWithoutData(String),
    /// The section has figures but no header: its columns are numbered.
    DataWithoutHeader(String),
    /// Rows of the section have more or fewer cells than its header.
    Ragged {
        /// The section.
        section: String,
        /// Columns of the header.
        header: usize,
        /// Cells of the row.
        row: usize,
    },
    /// A cell that should hold a figure holds words, or a figure below zero.
    NotAFigure {
        /// The section.
        section: String,
        /// What the cell holds.
        cell: String,
    },
    /// The clock of the host was set, or changed to or from daylight saving time.
    ClockStep {
        /// Seconds by which it jumped, beyond the interval.
        seconds: i64,
        /// The jump is an hour, as a change of daylight saving time makes it.
        daylight_saving: bool,
    },
    /// The next snapshot came late; its figures stand for the whole gap.
    Gap {
        /// Seconds since the snapshot before.
        seconds: i64,
        /// Seconds that were expected.
        expected: i64,
    },
    /// Snapshots are missing from the file.
    SnapshotsMissing(u64),
    /// The same snapshot has two times.
    SnapshotTwice(u64),
    /// Figures of a snapshot that has no time.
    NoTime(u64),
    /// A time that cannot be read.
    BadTime(String),
    /// The interval announced is not the interval found.
    Interval {
        /// Seconds announced.
        announced: u32,
        /// Seconds between most snapshots.
        found: u32,
    },
    /// Fewer snapshots than announced.
    EndedEarly {
        /// Snapshots announced.
        announced: u64,
        /// Snapshots found.
        found: u64,
    },
    /// Another recording starts here: the file was put together from several.
    AnotherRecording(String),
    /// Lines of two hosts are mixed and cannot be told apart; their figures are wrong.
    HostsMixed(String, String),
    /// A device that appeared while it was recorded, and has no columns: its figures are in no sum.
    CameLater(String),
    /// nmon itself reported an error.
    Reported(String),
    /// More of something than is kept; the rest was left out.
    TooMany(&'static str),
}

impl fmt::Display for TroubleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated(what) => write!(f, "the file is cut off: {what}"),
            Self::Garbage(text) => write!(f, "not a line of nmon: {text:?}"),
            Self::LongLine => write!(f, "a line longer than 8 MiB was left out"),
            Self::HeaderWithoutData(section) => write!(f, "{section} has a header but no figures"),
            Self::DataWithoutHeader(section) => {
                write!(f, "{section} has no header; its columns are numbered")
            }
            Self::Ragged { section, header, row } => {
                write!(f, "{section} has {header} columns in its header and {row} in a row")?;
                match row < header {
                    true => write!(f, "; the rest counts as missing"),
                    false => write!(f, "; the rest is numbered"),
                }
            }
            Self::NotAFigure { section, cell } => {
                write!(f, "{section}: {cell:?} is not a figure and counts as missing")
            }
            Self::ClockStep { seconds, daylight_saving: true } => {
                write!(f, "the clock jumped by {seconds:+} s: daylight saving time?")
            }
            Self::ClockStep { seconds, .. } => write!(f, "the clock jumped by {seconds:+} s"),
            Self::Gap { seconds, expected } => {
                write!(f, "{seconds} s since the snapshot before instead of {expected} s")
            }
            Self::SnapshotsMissing(count) => write!(f, "{count} snapshots are missing before this"),
            Self::SnapshotTwice(id) => write!(f, "snapshot T{id:04} has two times"),
            Self::NoTime(id) => write!(f, "snapshot T{id:04} has figures but no time (ZZZZ)"),
            Self::BadTime(text) => {
                write!(f, "{text:?} is not a time like 02:57:55,21-NOV-2026")
            }
            Self::Interval { announced, found } => {
                write!(f, "an interval of {announced} s is announced, {found} s were found")
            }
            Self::EndedEarly { announced, found } => {
                write!(f, "{announced} snapshots are announced, {found} were found")
            }
            Self::AnotherRecording(host) => {
                write!(f, "another recording starts here, of host {host}; it is read on its own")
            }
            Self::HostsMixed(one, other) => write!(
                f,
                "lines of {one} and {other} are mixed and cannot be told apart: do not use these \
                 figures, read each host's own file"
            ),
            Self::CameLater(device) => write!(
                f,
                "{device} appeared while it was recorded and has no columns: its figures are in no sum"
            ),
            Self::Reported(text) => write!(f, "nmon reported: {text}"),
            Self::TooMany(what) => write!(f, "more {what} than are kept; the rest was left out"),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

/// Messages kept of one kind; a broken file has millions.
const KEPT_OF_A_KIND: u64 = 20;

/// The troubles of a file, in the order of their lines, at most twenty of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Troubles {
    list: Vec<Trouble>,
    counts: HashMap<Discriminant<TroubleKind>, u64>,
}

impl Troubles {
    /// The messages that were kept.
    #[must_use]
    pub fn list(&self) -> &[Trouble] {
        &self.list
    }

    /// Messages of kinds that came too often to be kept.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.counts.values().map(|count| count.saturating_sub(KEPT_OF_A_KIND)).sum()
    }

    /// True without any trouble.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn add(&mut self, line: u64, kind: TroubleKind) {
        let count = self.counts.entry(discriminant(&kind)).or_default();
        *count += 1;
        if *count <= KEPT_OF_A_KIND {
            self.list.push(Trouble { line, kind });
        }
    }

    pub(crate) fn sort(&mut self) {
        self.list.sort_by_key(|trouble| trouble.line);
    }
}

/// The start of a line, for a message.
pub(crate) fn excerpt(text: &[u8]) -> String {
    const SHOWN: usize = 60;
    let mut shown = cell::text(&text[..text.len().min(SHOWN)]);
    if text.len() > SHOWN {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_comes_too_often_is_counted_but_not_kept() {
        let mut troubles = Troubles::default();
        for line in 1..=50 {
            troubles.add(line, TroubleKind::Garbage("x".into()));
        }
        troubles.add(7, TroubleKind::LongLine);
        troubles.sort();
        assert_eq!((troubles.list().len(), troubles.left_out()), (21, 30));
        assert_eq!(troubles.list()[6].to_string(), "line 7: not a line of nmon: \"x\"");
    }
}
