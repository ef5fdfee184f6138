//! Figures that cannot be true beside others: of tables that somebody printed, and of recordings of
//! hosts.
//!
//! A [`Table`] is a CSV or JSON file whose header says what its columns mean. [`Table::check`]
//! works every figure out again from the others, with the rounding of every printed figure
//! included, so that a [`Finding`] is never a matter of rounding. The format of the header is in
//! `docs/check.md`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`open`], [`read_csv`], [`read_json`] | a file becomes a [`Table`] |
//! | [`Table::check`] | a [`Report`] of [`Finding`]s |
//! | [`Check`], [`Unread`] | how JSON documents have a report, and a file that could not be read |
//! | [`of_nmon`], [`of_file`] | the same for the summary of a host recording, and a file of them |

mod arithmetic;
mod cell;
mod csv;
mod document;
mod error;
mod figure;
mod file;
mod finding;
mod formula;
mod header;
mod interval;
mod json;
mod likely;
mod recording;
mod rules;
mod table;
mod unit;

pub use document::{Check, Unread};
pub use error::ReadError;
pub use file::{open, read_csv, read_json};
pub use finding::{Disagreement, Finding, Report};
pub use recording::{of_file, of_nmon};
pub use table::Table;
