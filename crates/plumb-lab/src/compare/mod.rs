//! From blocks, or from separate runs, to a comparison.

mod differences;
mod interleaved;
mod points;
mod separate;

pub use interleaved::{Experiment, PAIRS_MIN, VariantBlocks, interleaved};
pub use separate::{SeparateRun, separate};
