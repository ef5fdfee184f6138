//! `plumb flow load`: clients that send messages to a runtime, and what became of them.
//!
//! [`messages`] makes the bytes, [`sender`] sends them and judges the answers, [`sink`] counts rows
//! and [`after`] compares them with what was accepted, [`fate`] asks the runtime itself; [`job`]
//! measures with them.

mod after;
mod attribution;
mod fate;
mod job;
mod log_on;
mod messages;
mod options;
mod runtime_use;
mod sender;
mod sink;

pub use job::MessageLoad;
pub use options::{MessageLoadOptions, ModeName, SinkOptions};
