//! A machine recorded over the network: its samples served, and asked for.
//!
//! A service of the engine answers bytes with bytes and never speaks unasked, so the client asks
//! for each sample. It has the pace that it wants, nothing piles up for a client that does not
//! read, and the moment of a sample is known to half the time of its round trip, whatever the
//! clocks of the two machines say.
//!
//! Each client has a monitor of its own: a sample covers the time since that client's last one.
//! The requests are the lines `hello` (first, once), `sample`, and `whole`, which says what
//! happened since the last `whole` up to the last sample. Each is answered with one line of JSON;
//! anything else with an error, and the connection is closed.

mod client;
mod gaps;
mod recorder;
mod serve;
mod server;
mod wire;

pub use client::FarHost;
pub use recorder::FarRecorder;
pub use serve::{FarServe, FarServeOptions};
pub use wire::{ERROR_SCHEMA, HELLO_SCHEMA, Hello};

/// The port of `plumb host serve`.
pub const PORT: u16 = 3299;
