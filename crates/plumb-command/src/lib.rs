//! What every command of the program shares: what its end means, how it is asked to end, whoever does
//! not read on.

pub mod colour;
pub mod exit;
pub mod signals;
mod verb;

pub use exit::Exit;
pub use verb::{carry_out, plain};
