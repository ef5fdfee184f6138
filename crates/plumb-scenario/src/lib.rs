//! Scenarios of virtual users as they are written down: the file with its places, what its values
//! mean (templates, conditions, extractors, checks, think times, data), and the model of HAR.
//!
//! Nothing here asks anybody: a scenario is played by the HTTP layer, which keeps here whom servers
//! refused, made by the importers, and what is recorded is written as HAR.

pub mod answer;
pub mod check;
pub mod condition;
pub mod cookies;
pub mod csv;
pub mod data;
pub mod draw;
pub mod embedded;
mod error;
mod expected;
pub mod extract;
pub mod file;
pub mod generator;
pub mod har;
pub mod html_text;
pub mod masked;
mod pattern;
mod pattern_list;
pub mod placeholder;
mod reach;
mod redirects;
pub mod refused;
pub mod resources;
mod source;
pub mod template;
pub mod think;
pub mod variables;

pub use error::ScenarioError;
pub use expected::{Expected, NoStatus};
pub use pattern_list::Patterns;
pub use reach::{OutOfReach, Reach};
pub use source::{ScenarioSource, place_of};
pub use template::{CallError, NoCall};
