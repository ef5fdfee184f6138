//! From blocks, or from separate runs, to a comparison.

mod cell;
mod differences;
mod interleaved;
mod origin;
mod points;
mod quotient;
mod separate;
mod variant_blocks;
mod warnings;
mod whole_run;

pub use interleaved::interleaved;
pub use separate::{SeparateRun, separate};
pub use variant_blocks::{Experiment, FailedBlock, VariantBlocks};
