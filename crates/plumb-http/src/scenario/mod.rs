//! Scenarios: what users do, how many there are, and when.

pub mod answer;
mod book;
pub mod check;
mod coding;
mod compile;
pub mod condition;
pub mod cookies;
pub mod csv;
pub mod data;
pub mod draw;
pub mod extract;
pub mod file;
mod letter;
mod load;
mod masked;
mod options;
mod pattern;
mod pattern_list;
mod player;
mod program;
mod script;
pub mod template;
mod think;
mod threshold;
mod timeline;
pub mod variables;
mod walk;

pub use book::Book;
pub use load::{DryRun, ScenarioLoad};
pub use options::ScenarioOptions;
