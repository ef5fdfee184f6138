//! The rounds of an experiment, and what of them is written down.

mod first;

use std::collections::BTreeMap;

use plumb_comparison::Better;
use plumb_measure::Program;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::order::Turn;

/// Name and version of the form of `order.json`.
pub const ORDER_SCHEMA: &str = "plumb.order/2";

/// What was run in which order: `order.json` of an experiment, rewritten after every block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderRecord {
    /// Always [`ORDER_SCHEMA`].
    pub schema: String,
    /// The program that measured.
    pub plumb: Program,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Seed of the order of the blocks.
    pub seed: u64,
    /// When it is over; absent where that was not written down.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub extent: Option<Extent>,
    /// Effects within this share of the baseline count as none; absent without a margin.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub margin: Option<f64>,
    /// What is measured of each variant, at least one.
    pub cells: Vec<CellRecord>,
    /// The variants; the first is the baseline.
    pub variants: Vec<VariantRecord>,
    /// What was asked for, as `experiment.toml` had it when it began; absent where that was not
    /// written down.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked: Option<String>,
    /// What shell commands find around them; absent without any, or where that was not written down.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub surroundings: Option<Surroundings>,
    /// The files that commands name, as they were when it began.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub inputs: Vec<InputRecord>,
    /// The blocks, in order of time.
    pub blocks: Vec<BlockRecord>,
    /// Why the experiment ended before its plan; absent when it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_short: Option<String>,
}

/// A probe at one combination of the levels of all factors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRecord {
    /// The factors with their levels, and under `probe` the name of the probe where there are
    /// several; empty when there is only one cell.
    pub labels: BTreeMap<String, String>,
    /// The key of the figure that decides, such as `p95`; absent: the first that its runs have.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub figure: Option<String>,
    /// Which way a figure that a command prints is good; absent: low.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub better: Option<Better>,
}

impl CellRecord {
    /// Its labels as one line, for example `size 1KiB, users 10`; empty without any.
    #[must_use]
    pub fn name(&self) -> String {
        let words: Vec<String> = self.labels.iter().map(|(k, v)| format!("{k} {v}")).collect();
        words.join(", ")
    }
}

/// One of the things compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// Its name.
    pub name: String,
    /// What is run, as one line.
    pub command: String,
    /// True for a candidate whose commands and settings are those of the baseline.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub same_as_baseline: bool,
    /// The shell command that switches the system to it; absent without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<String>,
    /// The shell command behind each of its blocks; absent without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
}

/// What shell commands find around them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The folder in which they are run.
    pub folder: String,
    /// The variables of the environment that they name: the SHA-256 digest of each value with the
    /// seed before it, `unset` for one that is not there.
    pub variables: BTreeMap<String, String>,
}

/// A file that a command names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputRecord {
    /// Where it lies, as the command has it.
    pub path: String,
    /// `sha256` and the digest of its content; or `modified` and when it was written last, in
    /// seconds since 1970, of a file that is large or that only its owner may read.
    pub state: String,
}

/// One block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// The round, from one.
    pub round: u64,
    /// Number of the cell, from zero.
    #[serde(default)]
    pub cell: usize,
    /// Number of the variant, from zero.
    pub variant: usize,
    /// Its run folder, relative to the experiment.
    pub folder: String,
    /// The SHA-256 digest of its record, hexadecimal; absent when it came to nothing, or where that
    /// was not written down.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub record: Option<String>,
    /// How long it took with all that belongs to it, nanoseconds; 0 where that was not written
    /// down.
    #[serde(default)]
    pub took_ns: u64,
    /// Why it came to nothing; absent when it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed: Option<String>,
    /// How it came to nothing; absent when it did not, and where nobody knows whose doing it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<Failure>,
}

impl BlockRecord {
    /// Which block of its round it is.
    #[must_use]
    pub fn turn(&self) -> Turn {
        Turn { cell: self.cell, variant: self.variant }
    }
}

/// How a block came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// For a moment: its command said that it could not measure now.
    Disturbed,
    /// Its measurement failed.
    Measurement,
    /// The system could not be switched to its variant.
    Switch,
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

    /// Reads a record, of this version or an earlier one.
    ///
    /// # Errors
    /// [`LabError::Order`] names line and column; [`LabError::Schema`] names the version.
    pub fn from_json(text: &str) -> Result<Self, LabError> {
        #[derive(Deserialize)]
        struct Version {
            schema: String,
        }
        match serde_json::from_str::<Version>(text)?.schema {
            first if first == first::ORDER_SCHEMA => first::read(text),
            this if this == ORDER_SCHEMA => Ok(serde_json::from_str(text)?),
            found => Err(LabError::Schema { found, reads: ORDER_SCHEMA }),
        }
    }

    /// Rounds begun.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.blocks.iter().map(|block| block.round).max().unwrap_or(0)
    }

    /// How long all blocks took, nanoseconds.
    #[must_use]
    pub fn took_ns(&self) -> u64 {
        self.blocks.iter().map(|block| block.took_ns).sum()
    }
}

/// When an experiment is over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
pub const ROUNDS_A_PAIR_MAX: u64 = 2;
/// Rounds before a precision is looked at: a look at too few would end on a lucky one.
pub const PRECISION_ROUNDS_MIN: u64 = 10;
/// Rounds after which a precision that was not reached is given up.
pub const PRECISION_ROUNDS_MAX: u64 = 200;

/// What is known when a round has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Rounds that have ended.
    pub rounds: u64,
    /// The fewest pairs of any candidate.
    pub complete: u64,
    /// Since the start, nanoseconds.
    pub elapsed_ns: u64,
    /// The widest half of an interval of a primary figure, as a share; `None` without one yet.
    pub half_width: Option<f64>,
    /// The fewest pairs with which a difference can be shown in every primary figure.
    pub needed: u64,
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
                        && progress.complete >= progress.needed
                        && progress.half_width.is_some_and(|half| half <= share)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> OrderRecord {
        OrderRecord {
            schema: ORDER_SCHEMA.into(),
            plumb: Program { version: "0.0.0".into() },
            started: "2026-11-21T08:30:48Z".into(),
            seed: 1,
            extent: Some(Extent::Precision(0.01)),
            margin: None,
            cells: vec![CellRecord {
                labels: BTreeMap::from([("size".into(), "1B".into())]),
                figure: Some("p95".into()),
                better: None,
            }],
            variants: Vec::new(),
            asked: None,
            surroundings: None,
            inputs: vec![InputRecord { path: "s.toml".into(), state: "sha256 0a".into() }],
            blocks: vec![BlockRecord {
                round: 3,
                cell: 0,
                variant: 1,
                folder: "blocks/001-on".into(),
                record: None,
                took_ns: 5,
                failed: Some("no luck".into()),
                failure: Some(Failure::Switch),
            }],
            cut_short: None,
        }
    }

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let order = order();
        assert_eq!(OrderRecord::from_json(&order.to_json()).unwrap(), order);
        assert_eq!((order.rounds(), order.took_ns()), (3, 5));
    }

    #[test]
    fn an_order_of_a_later_version_is_refused_by_its_name() {
        let later = order().to_json().replace("order/2", "order/3");
        let refused = OrderRecord::from_json(&later).unwrap_err().to_string();
        assert!(refused.contains("plumb.order/3") && refused.contains("plumb.order/2"));
    }

    fn after(rounds: u64, elapsed_ns: u64, half_width: Option<f64>) -> Progress {
        Progress { rounds, complete: rounds, elapsed_ns, half_width, needed: 6 }
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
        let many = Progress { needed: 11, ..after(10, 0, Some(0.001)) };
        assert!(!extent.reached(many), "a difference in each of many figures needs more");
        assert!(!extent.reached(after(50, 0, Some(0.02))));
        assert!(!extent.reached(after(50, 0, None)));
        assert!(extent.reached(after(200, 0, None)));
    }
}
