//! Logs of statements with their times, read record by record within bounds, and statements without their
//! values, under which many of them are counted.
//!
//! | module | question |
//! |---|---|
//! | `reader` | what stands in a file? |
//! | `records`, `message` | PostgreSQL's csvlog and jsonlog: which statement does a line tell of? |
//! | `plain` | and lines of plain text? |
//! | [`fingerprint`] | what is a statement without its values? |

pub mod fingerprint;
mod message;
mod plain;
mod reader;
mod records;

pub use reader::{Entry, LogFormat, LogReader, Logged, UnreadableLog};
