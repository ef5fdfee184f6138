//! The verbs of the layer.

mod check;
mod try_out;

pub use check::{Check, CheckOptions};
pub use try_out::{TryOptions, TryOut};
