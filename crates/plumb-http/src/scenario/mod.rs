//! Scenarios: what users do, how many there are, and when.

pub mod answer;
pub mod check;
pub mod condition;
pub mod cookies;
pub mod csv;
pub mod data;
pub mod draw;
pub mod extract;
pub mod file;
mod pattern;
pub mod template;
mod think;
pub mod variables;
