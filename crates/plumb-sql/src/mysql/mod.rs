//! The protocol of MariaDB and MySQL: messages of a client written, those of a server read where they lie.
//! No I/O.
//!
//! A driver that keeps its socket to itself could not be told when bytes came, could not send a statement
//! between two readings of the server's clock at once, and reports no session state; so the few messages
//! that a measurement needs are read and written here.
//!
//! # Source
//! MariaDB's documentation, "Client/Server Protocol"; MySQL Internals, "MySQL Client/Server Protocol":
//! packets, connection phase, command phase, binary protocol.

mod answer;
pub mod can;
mod command;
pub mod digest;
pub mod proof;

pub use answer::{Done, Greeting, Prepared, Refusal, Reply, columns, ends_rows, texts};
pub use command::{LogOn, Value, execute, ping, prepare, query, quit};

/// Bytes of the length and the number before each packet.
pub const HEAD: usize = 4;
/// A packet of this length is continued by the next.
pub const LONGEST: usize = 0xff_ffff;
/// Length and number of the packet that begins with `head`.
pub fn head(head: [u8; HEAD]) -> (usize, u8) {
    let [a, b, c, number] = head;
    (usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16, number)
}

/// Appends one packet with what `write` writes. A payload has fewer bytes than [`LONGEST`]: statements are
/// limited to far less.
pub fn packet(out: &mut Vec<u8>, number: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; HEAD]);
    write(out);
    let length = out.len() - at - HEAD;
    debug_assert!(length < LONGEST);
    out[at..at + 3].copy_from_slice(&length.to_le_bytes()[..3]);
    out[at + 3] = number;
}

#[cfg(test)]
mod tests;
