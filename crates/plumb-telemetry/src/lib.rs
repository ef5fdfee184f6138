//! The figures of a measurement while it runs, for whoever stores such figures.
//!
//! A [`Board`] adds up what has been measured; its [`families`](Board::families) are written as the
//! text that Prometheus asks for, as OTLP, or as remote write. A [`Sender`] hands them to a
//! [`Receiver`] on a thread of its own: whoever measures never waits for it, and what it could not
//! deliver is counted.
//!
//! | module | question |
//! |---|---|
//! | `board.rs` | what has been measured so far? |
//! | `family.rs` | what is a metric called, and what are its samples? |
//! | `otlp.rs`, `remote_write.rs` | how is it written? |
//! | `receiver.rs`, `credentials.rs` | who is told, and who tells? |
//! | `sender.rs` | when, and what becomes of what cannot be delivered? |

mod board;
mod credentials;
mod error;
mod family;
mod otlp;
mod receiver;
mod remote_write;
mod sender;

pub use board::Board;
pub use error::TelemetryError;
pub use family::{Family, MetricUnit, Sample, Value, exposition};
pub use receiver::{Receiver, ReceiverKind};
pub use sender::{Delivered, Sender};

/// Who tells the figures, for series that are told apart by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The run, as its folder is called.
    pub run: String,
    /// The name of the machine that drives the load.
    pub host: String,
    /// Version of plumb.
    pub version: String,
}
