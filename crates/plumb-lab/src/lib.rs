//! Experiments: variants in interleaved pairs, and what follows from them.
//!
//! An [`Order`] says which variant takes its turn and in which cell, a [`Course`] which turns are
//! still wanted, an [`Extent`] when to stop; every turn leaves a run folder, which becomes a
//! [`Block`]. [`interleaved`] compares the blocks, [`separate`] runs
//! that were not taken in turns, [`calibrate()`] tells what a machine can show at all. Who runs
//! the variants is not this crate's business.

mod block;
mod calibrate;
mod compare;
mod contrast;
mod course;
mod driver;
mod error;
mod experiment;
mod figures;
mod order;
mod sentence;
mod tick;

pub use block::{Block, OrderFacts, Point, Response, Settling};
pub use calibrate::{Calibration, PAIRS, Smallest, binomial_interval, calibrate};
pub use compare::{
    Experiment, FailedBlock, PAIRS_MIN, SeparateRun, VariantBlocks, interleaved, separate,
};
pub use contrast::{Detail, LEVEL, Pair, Question, contrast, pairs_needed, verdict};
pub use course::{Course, FAILURES_MAX, Fate};
pub use error::LabError;
pub use experiment::{
    BlockRecord, CellRecord, Extent, Failure, InputRecord, ORDER_SCHEMA, OrderRecord,
    PRECISION_ROUNDS_MAX, PRECISION_ROUNDS_MIN, Progress, ROUNDS_A_PAIR_MAX, VariantRecord,
};
pub use figures::deciding;
pub use order::{Order, Turn};
pub use sentence::sentence;

/// Name, in a run record, of the figure that a command of the user printed.
pub const FIGURE: &str = "printed figure";

/// What becomes of blocks and runs that are not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// They are left out, or refused.
    Refuse,
    /// They count, and the comparison says so.
    Accept,
}
