//! Checkups, and experiments from the command line and from files.

#[path = "../kit/mod.rs"]
mod kit;

mod ab;
mod checkup;
mod compare;
mod lab_run;
mod seeds;
