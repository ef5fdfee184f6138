//! The comparison record: what came of variants measured against each other, written down, versioned.
//!
//! Every ratio is candidate over baseline, every percentage relative to the baseline. A change is
//! shown as an improvement everywhere: plus is better, minus is worse. What could not be computed
//! is absent.

mod block_figures;
mod change;
mod lower_bound;
mod order_effect;

use std::collections::BTreeMap;

use plumb_measure::statistics::{Drift, Interval};
use plumb_measure::{AcceptedLoad, Distribution, Program, RecordError, read_versioned, written};
use serde::{Deserialize, Serialize};

pub use block_figures::BlockFigures;
pub use change::{CONVENTION, signed};
pub use lower_bound::LowerBound;
pub use order_effect::OrderEffect;

/// Name and version of the form; a reader refuses another name or a higher number.
pub const COMPARISON_SCHEMA: &str = "plumb.comparison/1";

/// Two or more variants, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Always [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// The program that compared.
    pub plumb: Program,
    /// When, RFC 3339 in UTC.
    pub compared: String,
    /// How the blocks were taken.
    pub design: Design,
    /// The variants; the first is the baseline.
    pub variants: Vec<Variant>,
    /// Facts and options in which the variants differ: the change itself, and what else changed.
    pub differences: Vec<Difference>,
    /// The circumstances that the variants share: machine, placement, clock, transport, the tool's
    /// floor; by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub shared: BTreeMap<String, String>,
    /// Foreign load beyond the usual limit, under which all of it stands; absent where no limit was raised.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accepted_load: Option<AcceptedLoad>,
    /// What the reader must know before the figures, in sentences.
    pub warnings: Vec<String>,
    /// One contrast a candidate and a point of the plan.
    pub contrasts: Vec<Contrast>,
}

impl Comparison {
    /// The record as indented JSON with a line end.
    #[must_use]
    pub fn to_json(&self) -> String {
        written(self)
    }

    /// The widest half of an interval of a primary figure, as a share of the baseline; `None`
    /// when one has no interval. A candidate without a pair has no figure and counts for nothing.
    #[must_use]
    pub fn widest_half(&self) -> Option<f64> {
        let primaries = self.contrasts.iter().filter_map(|contrast| contrast.endpoints.first());
        let halves = primaries.map(|primary| {
            let interval = primary.interval?;
            Some((interval.high - interval.low) / 2.0)
        });
        halves.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`RecordError::Json`] names line and column; [`RecordError::Schema`] names the version.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        read_versioned(text, COMPARISON_SCHEMA)
    }
}

/// How the blocks were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Whether a change of the machine over time falls on all variants alike.
    pub kind: DesignKind,
    /// Seed of the order within the rounds; absent for runs that were not interleaved.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// Rounds begun.
    pub rounds: u64,
    /// Rounds in which every variant has a valid block: the pairs.
    pub complete_rounds: u64,
    /// Primary figures that are tested together: p values are adjusted for so many. Absent for
    /// runs that were not interleaved.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tests: Option<u64>,
    /// The fewest complete rounds with which a difference can be shown in each of them; absent for
    /// runs that were not interleaved.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rounds_needed: Option<u64>,
    /// Why the experiment ended before its plan; absent when it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cut_short: Option<String>,
    /// Effects within this share of the baseline count as none, from 0 to 1; absent when no
    /// margin was given beforehand.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub margin: Option<f64>,
}

impl Design {
    /// That of runs taken one after another, which were planned as no experiment.
    #[must_use]
    pub fn separate() -> Self {
        Self {
            kind: DesignKind::Separate,
            seed: None,
            rounds: 0,
            complete_rounds: 0,
            tests: None,
            rounds_needed: None,
            cut_short: None,
            margin: None,
        }
    }
}

/// Whether a change of the machine over time falls on all variants alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DesignKind {
    /// Every round holds each variant once, in random order.
    Interleaved,
    /// Runs taken one after another: whatever changed between them is part of the effect.
    Separate,
}

/// One of the things compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// `baseline`, `candidate`, `candidate 2`, or as the user called it.
    pub name: String,
    /// What was run, as one line.
    pub command: String,
    /// True for a candidate with the commands and settings of the baseline: comparing the two is
    /// an A/A comparison.
    #[serde(skip_serializing_if = "is_false", default)]
    pub same_as_baseline: bool,
    /// Blocks that count.
    pub blocks: u64,
    /// Blocks that do not, and why.
    pub left_out: Vec<LeftOut>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// A block that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The round, from one.
    pub round: u64,
    /// Why, in one sentence.
    pub reason: String,
}

/// Something in which the variants differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What, for example `option transport` or `host kernel`.
    pub name: String,
    /// Its value in each variant, in their order; `-` where it has none.
    pub values: Vec<String>,
}

/// One candidate against the baseline, at one point of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the candidate.
    pub candidate: String,
    /// The point: `size`, `connections`, ...; empty when there is only one and it differs.
    pub labels: BTreeMap<String, String>,
    /// True when both have the same commands and settings: an A/A comparison, which shows the noise
    /// of the machine.
    #[serde(skip_serializing_if = "is_false", default)]
    pub same_treatment: bool,
    /// The answer in one sentence.
    pub sentence: String,
    /// The figures compared, the primary one first.
    pub endpoints: Vec<Endpoint>,
    /// Whether the statistics may be used, and how much more would be needed.
    pub checks: Checks,
    /// The tails of both, over all blocks together: nothing is deleted from the samples.
    pub tails: Vec<Tail>,
}

impl Contrast {
    /// The labels as one line, for example `connections 1, size 500B`; empty without labels.
    #[must_use]
    pub fn name(&self) -> String {
        let words: Vec<String> = self.labels.iter().map(|(k, v)| format!("{k} {v}")).collect();
        words.join(", ")
    }
}

/// Which way a figure is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Times, processor time.
    Lower,
    /// Rates.
    Higher,
}

impl Better {
    /// `ratio`, later over earlier or candidate over baseline, as an improvement in percent: positive
    /// is better.
    #[must_use]
    pub fn improvement(self, ratio: f64) -> f64 {
        match self {
            Self::Lower => 100.0 * (1.0 - ratio),
            Self::Higher => 100.0 * (ratio - 1.0),
        }
    }
}

/// What a figure is compared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The question: its verdict is the answer.
    Primary,
    /// Tested beside it, with a p adjusted for all tests: in records of earlier versions only.
    Tested,
    /// Shown with its interval; not tested.
    Described,
    /// Without rank theory: its interval is a bootstrap's, approximate.
    Approximate,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureUnit {
    /// Nanoseconds.
    Ns,
    /// Operations a second.
    PerSecond,
    /// kB/s of 1,024 bytes, both directions.
    KbPerSecond,
    /// Bytes of memory.
    Bytes,
    /// As the command printed it.
    Plain,
}

/// One figure of both variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// For machines: `p50`, `mean`, `av2`, `tr2`, `p95`, `p99`, `throughput`, `client-cpu`,
    /// `server-cpu`, `total-time`, `figure`, and of commands `wall`, `user`, `system`, `memory`.
    pub key: String,
    /// For people, for example `median response time`.
    pub name: String,
    /// Its unit.
    pub unit: FigureUnit,
    /// Which way it is good.
    pub better: Better,
    /// What it is compared for.
    pub role: Role,
    /// Median over the baseline's blocks; of an approximate figure, that of all of them together; of
    /// separate runs that of the whole run.
    pub baseline: f64,
    /// The same over the candidate's blocks.
    pub candidate: f64,
    /// The figure of every complete round, in order of time; of separate runs, of every interval,
    /// and then the two have nothing to do with each other.
    pub blocks: Vec<BlockFigures>,
    /// Candidate over baseline, of separate runs their quotient; absent when there is nothing to divide, or no finite ratio.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratio: Option<f64>,
    /// Interval of the ratio with its true level, which an approximate figure and one of separate runs have
    /// only about; absent with too few blocks or intervals of time, or without an end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval: Option<Interval>,
    /// Of separate runs, the intervals of time from which `interval` was sought, of the run with fewer;
    /// absent where a run has none written down.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub intervals_of_time: Option<u64>,
    /// Of separate runs, which of `baseline` and `candidate` is a lower bound; absent where neither is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lower_bound: Option<LowerBound>,
    /// Two-sided exact p; absent when it was not tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p: Option<f64>,
    /// The p after Holm, over the primary endpoints of all contrasts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p_adjusted: Option<f64>,
    /// What follows; absent when it was not tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<Verdict>,
}

impl Endpoint {
    /// A figure with its key, its name, its unit and which way it is good, that was `baseline` and is
    /// `candidate`: described without blocks, a ratio, an interval or a test.
    #[must_use]
    pub fn described(
        (key, name, unit, better): (&str, &str, FigureUnit, Better),
        baseline: f64,
        candidate: f64,
    ) -> Self {
        Self {
            key: key.into(),
            name: name.into(),
            unit,
            better,
            role: Role::Described,
            baseline,
            candidate,
            blocks: Vec::new(),
            ratio: None,
            interval: None,
            intervals_of_time: None,
            lower_bound: None,
            p: None,
            p_adjusted: None,
            verdict: None,
        }
    }

    /// `ratio` as an improvement of the candidate in percent of the baseline: positive is better.
    #[must_use]
    pub fn improvement(&self, ratio: f64) -> f64 {
        self.better.improvement(ratio)
    }

    /// The interval as improvements in percent, the worse end first.
    #[must_use]
    pub fn improvement_interval(&self) -> Option<(f64, f64)> {
        let interval = self.interval?;
        let (a, b) = (self.improvement(interval.low), self.improvement(interval.high));
        Some((a.min(b), a.max(b)))
    }
}

/// What follows for a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// The interval lies within the margin given beforehand.
    Equivalent,
    /// Neither was shown, and a difference could have been. That is not equality.
    NoDifferenceShown,
    /// With so few pairs no difference, however large, can be shown in so many tests.
    Untestable,
    /// No pair, or a design that cannot answer.
    None,
}

impl Verdict {
    /// True when it answers the question; a gate that was to decide by it cannot otherwise.
    #[must_use]
    pub fn is_answer(self) -> bool {
        !matches!(self, Self::Untestable | Self::None)
    }

    /// In the words of the reports.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::NoDifferenceShown => "no difference shown",
            Self::Untestable => "cannot be tested",
            Self::None => "no verdict",
        }
    }
}

/// Whether the statistics may be used, of the primary figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checks {
    /// How the baseline moved over the experiment: the change is a share of it, not percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drift: Option<Drift>,
    /// The smallest effective sample size of a block, operations.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effective_samples: Option<f64>,
    /// The largest correlation of neighbouring batches in a block.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub autocorrelation: Option<f64>,
    /// Largest share of a block that was cut off as warm-up, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warm_up: Option<f64>,
    /// Standard deviation from block to block of the baseline, as a share of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub between_blocks: Option<f64>,
    /// Standard error within a block of the baseline, as a share of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub within_blocks: Option<f64>,
    /// Pairs that an interval of plus or minus 1 % would need, about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pairs_for_one_percent: Option<u64>,
    /// The effect, as a ratio, without the first pair; present when the first lies outside the
    /// range of all others, as it does when something was still cold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub without_first: Option<f64>,
    /// The later of the two in a round against the earlier, whoever it is; absent with too few
    /// rounds of either order.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub order: Option<OrderEffect>,
    /// What of this the reader must know, in sentences.
    pub remarks: Vec<String>,
}

/// The tail of one variant over all its blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// Name of the variant.
    pub variant: String,
    /// Operations.
    pub operations: u64,
    /// Longest response time, nanoseconds.
    pub max_ns: u64,
    /// Share of all response time, from 0 to 1, spent in operations that took more than ten times
    /// the median.
    pub beyond_ten_medians: f64,
    /// All response times; absent in records of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_ns: Option<Distribution>,
}
