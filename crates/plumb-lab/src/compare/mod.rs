//! From blocks, or from separate runs, to a comparison.

mod cell;
mod differences;
mod interleaved;
mod points;
mod separate;
mod warnings;

pub use interleaved::{Experiment, FailedBlock, PAIRS_MIN, VariantBlocks, interleaved};
pub use separate::{SeparateRun, separate};
