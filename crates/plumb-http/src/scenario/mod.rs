//! Scenarios: what users do, how many there are, and when.

pub mod file;
mod think;
