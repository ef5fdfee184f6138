//! Experiments from the command line and from files.

#[path = "../kit/mod.rs"]
mod kit;

mod ab;
mod lab_run;
mod seeds;
