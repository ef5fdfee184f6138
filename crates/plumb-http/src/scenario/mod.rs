//! Scenarios as they are played: what a file says is compiled once, then users walk through it.

mod coding;
mod compile;
mod letter;
mod load;
mod options;
mod player;
mod program;
mod script;
mod threshold;
mod timeline;
mod walk;

pub use load::{DryRun, ScenarioLoad};
pub use options::ScenarioOptions;
