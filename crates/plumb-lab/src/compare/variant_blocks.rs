//! What an interleaved experiment left: its variants with their blocks.

use crate::Faults;
use crate::block::Block;
use crate::contrast::Detail;
use crate::experiment::{CellRecord, Extent, Failure, OrderRecord, VariantRecord};

/// A variant of an interleaved experiment.
#[derive(Clone, Debug)]
pub struct VariantBlocks {
    /// Its name.
    pub name: String,
    /// What was run, as one line.
    pub command: String,
    /// Its commands and settings are those of the baseline.
    pub same_as_baseline: bool,
    /// Its blocks, in order of time.
    pub blocks: Vec<Block>,
    /// Blocks that came to nothing.
    pub failed: Vec<FailedBlock>,
}

/// A block that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedBlock {
    /// The round, from one.
    pub round: u64,
    /// Number of the cell, from zero.
    pub cell: usize,
    /// How; `None` where nobody knows whose doing it was.
    pub failure: Option<Failure>,
    /// Why, in one sentence.
    pub reason: String,
}

/// What is known of an interleaved experiment beside its blocks.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Seed of the order.
    pub seed: u64,
    /// Rounds begun.
    pub rounds: u64,
    /// When it was to be over; `None` where that was not written down.
    pub extent: Option<Extent>,
    /// What is measured of each variant.
    pub cells: Vec<CellRecord>,
    /// Why it ended before its plan.
    pub cut_short: Option<String>,
    /// Effects within this share count as none.
    pub margin: Option<f64>,
    /// What becomes of blocks with faults.
    pub faults: Faults,
    /// How much of it is worked out.
    pub detail: Detail,
}

impl Experiment {
    /// One whose blocks count as they are by default.
    #[cfg(test)]
    pub(super) fn fixture() -> Self {
        Self {
            seed: 1,
            rounds: 10,
            extent: None,
            cells: Vec::new(),
            cut_short: None,
            margin: None,
            faults: Faults::default(),
            detail: Detail::All,
        }
    }

    /// What `order` says of its experiment.
    #[must_use]
    pub fn of(order: &OrderRecord, faults: Faults) -> Self {
        Self {
            seed: order.seed,
            rounds: order.rounds(),
            extent: order.extent,
            cells: order.cells.clone(),
            cut_short: order.cut_short.clone(),
            margin: order.margin,
            faults,
            detail: Detail::All,
        }
    }

    /// The name of the cell `number`; empty when there is only one.
    pub(super) fn cell_name(&self, number: usize) -> String {
        self.cells.get(number).map(CellRecord::name).unwrap_or_default()
    }
}

impl VariantBlocks {
    /// The variants of `order`, without their blocks.
    #[must_use]
    pub fn of(order: &OrderRecord) -> Vec<Self> {
        let empty = |variant: &VariantRecord| Self {
            name: variant.name.clone(),
            command: variant.command.clone(),
            same_as_baseline: variant.same_as_baseline,
            blocks: Vec::new(),
            failed: Vec::new(),
        };
        order.variants.iter().map(empty).collect()
    }

    /// True when its block of the cell `number` in `round` is over, whatever came of it.
    pub(super) fn has_taken(&self, number: usize, round: u64) -> bool {
        let of = |block: &Block| block.turn.cell == number && block.round == round;
        self.blocks.iter().any(of)
            || self.failed.iter().any(|it| it.cell == number && it.round == round)
    }
}
