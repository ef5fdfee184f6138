//! From blocks, or from separate runs, to a comparison.

mod cell;
mod differences;
mod interleaved;
mod origin;
mod points;
mod separate;
mod warnings;

pub use interleaved::{Experiment, FailedBlock, VariantBlocks, interleaved};
pub use separate::{SeparateRun, separate};
