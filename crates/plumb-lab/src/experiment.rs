//! The rounds of an experiment, and what of them is written down.

use plumb_measure::{Better, Program};
use serde::{Deserialize, Serialize};

use crate::LabError;

/// Name and version of the form of `order.json`.
pub const ORDER_SCHEMA: &str = "plumb.order/1";

/// What was run in which order: `order.json` of an experiment, rewritten after every block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderRecord {
    /// Always [`ORDER_SCHEMA`].
    pub schema: String,
    /// The program that measured.
    pub plumb: Program,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Seed of the order within the rounds.
    pub seed: u64,
    /// Effects within this share of the baseline count as none; absent without a margin.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub margin: Option<f64>,
    /// Which way a figure that commands print is good.
    pub figure: Better,
    /// The variants; the first is the baseline.
    pub variants: Vec<VariantRecord>,
    /// The blocks, in order of time.
    pub blocks: Vec<BlockRecord>,
    /// Why the experiment ended before its plan; absent when it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_short: Option<String>,
}

/// One of the things compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// Its name.
    pub name: String,
    /// What is run, as one line.
    pub command: String,
    /// The shell command that switches the system to it; absent without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<String>,
}

/// One block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// The round, from one.
    pub round: u64,
    /// Number of the variant, from zero.
    pub variant: usize,
    /// Its run folder, relative to the experiment.
    pub folder: String,
    /// Why it came to nothing; absent when it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed: Option<String>,
}

impl OrderRecord {
    /// The record as indented JSON with a line end.
    #[must_use]
    pub fn to_json(&self) -> String {
        match serde_json::to_string_pretty(self) {
            Ok(text) => text + "\n",
            Err(error) => unreachable!("an order is made of plain values: {error}"),
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`LabError::Order`] names line and column; [`LabError::Schema`] names the version.
    pub fn from_json(text: &str) -> Result<Self, LabError> {
        let record: Self = serde_json::from_str(text)?;
        if record.schema != ORDER_SCHEMA {
            return Err(LabError::Schema { found: record.schema, reads: ORDER_SCHEMA });
        }
        Ok(record)
    }

    /// Rounds begun.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.blocks.iter().map(|block| block.round).max().unwrap_or(0)
    }
}

/// When an experiment is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// After so many complete rounds, or twice as many in all.
    Pairs(u64),
    /// When another round would end later than this, nanoseconds after the start.
    Time(u64),
    /// When the interval of every primary figure reaches no further than this share to either
    /// side, from 0 to 1.
    Precision(f64),
}

/// Rounds for each pair that was asked for, when blocks fail.
const ROUNDS_A_PAIR_MAX: u64 = 2;
/// Rounds before a precision is looked at: a look at too few would end on a lucky one.
pub const PRECISION_ROUNDS_MIN: u64 = 10;
/// Rounds after which a precision that was not reached is given up.
pub const PRECISION_ROUNDS_MAX: u64 = 200;

/// What is known when a round has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Rounds that have ended.
    pub rounds: u64,
    /// Of these, rounds in which no block failed.
    pub complete: u64,
    /// Since the start, nanoseconds.
    pub elapsed_ns: u64,
    /// The widest half of an interval of a primary figure, as a share; `None` without one yet.
    pub half_width: Option<f64>,
}

impl Extent {
    /// True when no further round is to be begun.
    #[must_use]
    pub fn reached(self, progress: Progress) -> bool {
        match self {
            Self::Pairs(pairs) => {
                progress.complete >= pairs || progress.rounds >= ROUNDS_A_PAIR_MAX * pairs
            }
            Self::Time(ns) => {
                let round = progress.elapsed_ns / progress.rounds.max(1);
                progress.elapsed_ns + round > ns
            }
            Self::Precision(share) => {
                progress.rounds >= PRECISION_ROUNDS_MAX
                    || progress.rounds >= PRECISION_ROUNDS_MIN
                        && progress.half_width.is_some_and(|half| half <= share)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rounds: u64, elapsed_ns: u64, half_width: Option<f64>) -> Progress {
        Progress { rounds, complete: rounds, elapsed_ns, half_width }
    }

    #[test]
    fn pairs_are_counted_and_time_is_not_overrun() {
        assert!(!Extent::Pairs(10).reached(after(9, 0, None)));
        assert!(Extent::Pairs(10).reached(after(10, 0, None)));
        let failing = Progress { complete: 3, ..after(19, 0, None) };
        assert!(!Extent::Pairs(10).reached(failing));
        assert!(Extent::Pairs(10).reached(Progress { rounds: 20, ..failing }));
        assert!(!Extent::Time(100).reached(after(9, 90, None)));
        assert!(Extent::Time(100).reached(after(9, 91, None)));
    }

    #[test]
    fn a_precision_is_looked_at_after_ten_rounds_and_given_up_after_two_hundred() {
        let extent = Extent::Precision(0.01);
        assert!(!extent.reached(after(9, 0, Some(0.001))));
        assert!(extent.reached(after(10, 0, Some(0.001))));
        assert!(!extent.reached(after(50, 0, Some(0.02))));
        assert!(!extent.reached(after(50, 0, None)));
        assert!(extent.reached(after(200, 0, None)));
    }
}
