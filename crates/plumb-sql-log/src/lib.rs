//! Logs of statements with their times, read record by record within bounds, and statements without their
//! values, under which many of them are counted.
//!
//! | module | question |
//! |---|---|
//! | `reader` | what stands in a file? |
//! | `records`, `message` | PostgreSQL's csvlog and jsonlog: which statement does a line tell of? |
//! | `plain` | and lines of plain text? |
//! | [`fingerprint`] | what is a statement without its values? |
//! | [`beginning`] | does it only ask? |

pub mod beginning;
mod entry;
pub mod fingerprint;
mod lines;
mod message;
mod plain;
mod reader;
mod records;

pub use entry::{Entry, Logged};
pub use reader::{LogFormat, LogReader, UnreadableLog};
