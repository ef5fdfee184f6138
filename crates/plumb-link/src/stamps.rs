//! Time stamps of the kernel for single messages of a TCP connection: when the packet of what was sent
//! reached the driver, and when the packet of what was read came in.
//!
//! Packets that come in are stamped on every connection that asked for it: a client reads the stamp with
//! everything that it reads, a server where a message is marked or expected. Packets that go out are stamped
//! only where a message is marked, by a control message of its send; all others are sent as without stamps.
//! The stamp of a send comes back through the socket's queue of errors, with the place of the last byte in
//! the stream. All stamps are of the wall clock, and so are the two readings around them.
//!
//! Where the network interface stamps packets by a clock of its own, the time from the packet of the
//! request to that of the answer is taken by that clock; everything else is of the kernel's.
//!
//! # Source
//! `Documentation/networking/timestamping.rst` of Linux.

mod connection;
mod control;
mod in_force;
mod interface;
mod kernel;

pub use connection::Stamps;
pub use in_force::StampsInForce;
