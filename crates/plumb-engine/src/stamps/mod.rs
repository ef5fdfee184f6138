//! Time stamps of the kernel for single messages of a TCP connection: when the packet of what was sent
//! reached the driver, and when the packet of what was read came in.
//!
//! Packets that come in are stamped on every connection that asked for it, and their stamps are read only
//! where a message is marked or expected; packets that go out are stamped only where a message is marked,
//! by a control message of its send. All others are sent and read as without stamps. The stamp of a send comes back through the socket's queue of errors, with the place of the
//! last byte in the stream. All stamps are of the wall clock, and so are the two readings around
//! them.
//!
//! # Source
//! `Documentation/networking/timestamping.rst` of Linux.

mod client;
mod control;
mod kernel;

use std::io;
use std::os::fd::BorrowedFd;

use plumb_measure::{MessageStamps, Residence};
use rustix::buffer::spare_capacity;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::clock::wall_ns;
use crate::link::Received;

pub use client::ClientStamps;

/// Entries of the queue of errors that are read at once.
const QUEUE_READS: usize = 16;

/// The stamps of one connection, which is of TCP and not encrypted: bytes that went through a library
/// cannot be found in packets.
#[derive(Debug, Default)]
pub struct Stamps {
    /// Bytes handed to the kernel since it was asked for stamps, modulo 2^32, as the kernel counts.
    handed_over: u32,
    /// What is sent belongs to a message whose packets are stamped.
    marked: bool,
    /// Just before the marked message was sent; 0 until then.
    called: u64,
    /// When the last packet of the marked message reached the driver.
    sent: Option<u64>,
    /// What is read next may have to be told of.
    expected: bool,
    /// When the last packet of what was read last came in; `None` where nobody asked.
    received: Option<u64>,
    /// Just after the last read whose stamp was asked for.
    woken: u64,
    /// The same two when the message was marked.
    came: (Option<u64>, u64),
}

impl Stamps {
    /// Asks the kernel to stamp what comes in on `socket`, and whatever is marked. Before anything
    /// was sent: the kernel counts bytes from here on.
    ///
    /// # Errors
    /// `Unsupported` for a connection that is none of TCP over IP, and what the kernel says.
    pub(crate) fn ask(socket: BorrowedFd<'_>) -> io::Result<Self> {
        kernel::ask(socket)?;
        Ok(Self::default())
    }

    /// From here on what is sent is stamped, until the stamps are [taken](Self::take).
    pub(crate) fn mark(&mut self) {
        self.marked = true;
        (self.called, self.sent) = (0, None);
        self.came = (self.received, self.woken);
    }

    /// Whether the stamp of what is read next is asked for; that of an answer to a marked message
    /// always is.
    pub(crate) fn expect(&mut self, expected: bool) {
        self.expected = expected;
    }

    pub(crate) fn is_marked(&self) -> bool {
        self.marked
    }

    /// As [`Link::recv`](crate::Link::recv) of plain bytes.
    pub(crate) fn recv(
        &mut self,
        socket: BorrowedFd<'_>,
        into: &mut Vec<u8>,
    ) -> io::Result<Received> {
        let room = into.capacity() - into.len();
        if !(self.marked || self.expected) {
            self.received = None;
            let (_, bytes) = recv(socket, spare_capacity(into), RecvFlags::empty())?;
            return Ok(Received { bytes, drained: bytes < room });
        }
        let (bytes, stamp) = kernel::recv(socket, into)?;
        self.woken = wall_ns();
        self.received = stamp;
        Ok(Received { bytes, drained: bytes < room })
    }

    /// As [`Link::send`](crate::Link::send) of plain bytes.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        let taken = if self.marked {
            if self.called == 0 {
                self.called = wall_ns();
            }
            self.sent = None; // the last packet is still to come
            kernel::send_marked(socket, bytes)?
        } else {
            send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?
        };
        #[expect(clippy::cast_possible_truncation, reason = "counted modulo 2^32")]
        let count = taken as u32;
        self.handed_over = self.handed_over.wrapping_add(count);
        Ok(taken)
    }

    /// Looks whether the stamp of the marked message has come back.
    fn look(&mut self, socket: BorrowedFd<'_>) {
        let last_byte = self.handed_over.wrapping_sub(1);
        for _ in 0..QUEUE_READS {
            let Some(entry) = kernel::read_queue(socket) else { return };
            // a packet that is sent again is stamped again: the first time counts
            if entry.last_byte == Some(last_byte) {
                self.sent = entry.stamp;
                return;
            }
        }
    }

    /// What is known of the marked message now that its answer was read; nothing is marked any more.
    /// The queue of errors is read only now, so that it takes no time of the message.
    pub(crate) fn take(&mut self, socket: BorrowedFd<'_>) -> MessageStamps {
        self.look(socket);
        self.marked = false;
        let Self { called, sent, received, woken, .. } = *self;
        MessageStamps { called, sent, received, woken }
    }

    /// How long we had the message that was read before the marked one was sent, once that is known;
    /// nothing is marked any more then.
    pub(crate) fn take_residence(&mut self, socket: BorrowedFd<'_>) -> Option<Residence> {
        self.look(socket);
        let (sent, (received, woken)) = (self.sent?, self.came);
        self.marked = false;
        Some(Residence {
            waking_ns: woken.checked_sub(received?)?,
            work_ns: self.called.checked_sub(woken)?,
            sending_ns: sent.checked_sub(self.called)?,
        })
    }
}

#[cfg(test)]
mod tests;
