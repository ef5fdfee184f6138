//! Figures that cannot be true are found, and others are not.

mod fuzz;
mod generated;
mod recordings;
mod tables;
