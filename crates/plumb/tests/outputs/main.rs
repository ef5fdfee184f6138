//! What goes in as words and comes out as files and text.

#[path = "../kit/mod.rs"]
mod kit;

mod bad_input;
mod baselines;
mod check;
mod exports;
mod golden;
mod host;
mod interop;
mod manual;
mod options_file;
mod plans;
mod python;
mod report;
mod show;
mod signals;
mod size;
mod telemetry;
mod ui;
mod verdicts;
