//! Experiments: variants in interleaved pairs, and what follows from them.
//!
//! An [`Order`] says which variant takes its turn and in which cell, a [`Schedule`] which turns are
//! still wanted, an [`Extent`] when to stop; every turn leaves a run folder, which becomes a
//! [`Block`]. [`interleaved`] compares the blocks, [`separate`] runs
//! that were not taken in turns, [`calibrate()`] tells what a machine can show at all, a [`LadderRecord`] what one landscape does
//! under more and more load. Who runs
//! the variants is not this crate's business.

mod block;
mod calibrate;
mod compare;
mod contrast;
mod driver;
mod error;
mod experiment;
mod figures;
#[cfg(test)]
mod fixture;
mod ladder;
mod order;
mod schedule;
mod sentence;
mod tick;

pub use block::{Block, BlockFault, OrderFacts, Point, Response, Settling, foreign_load};
pub use calibrate::{Calibration, PAIRS, Smallest, binomial_interval, calibrate};
pub use compare::{Experiment, FailedBlock, SeparateRun, VariantBlocks, interleaved, separate};
pub use contrast::{
    Detail, FailedRounds, Judged, LEVEL, Pair, Question, Remedy, Tests, Withdrawn, contrast,
    effects, judge, pairs_needed,
};
pub use error::LabError;
pub use experiment::{
    BlockRecord, CellRecord, Extent, Failure, InputRecord, ORDER_SCHEMA, OrderRecord,
    PRECISION_ROUNDS_MAX, PRECISION_ROUNDS_MIN, Progress, ROUNDS_A_PAIR_MAX, Surroundings,
    VariantRecord,
};
pub use figures::{COST_KEYS, deciding, is_of_command};
pub use ladder::{Figures, LadderRecord, Step, StepRun, step_run};
pub use order::{Order, Turn};
pub use schedule::{BlockStatus, CROWDED_MAX, FAILURES_MAX, Schedule};
pub use sentence::{Around, sentence};

/// Name, in a run record, of the figure that a command of the user printed.
pub const FIGURE: &str = "printed figure";
/// The names of what a command took: seconds from its start to its end, seconds of processor time in
/// its own code and in the kernel, and the most memory that one of its processes had, bytes.
pub const COST: [&str; 4] = ["wall time", "user time", "system time", "peak memory"];

/// What becomes of blocks and runs whose figures may not be used as they are: none counts unless
/// somebody wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Of those that are not valid.
    pub invalid: Admission,
    /// Of those of which something could not be checked.
    pub unchecked: Admission,
}

/// Whether something counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    /// It is left out, or refused.
    #[default]
    Refuse,
    /// It counts, and the comparison says so.
    Accept,
}
