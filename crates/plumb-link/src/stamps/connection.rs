//! What is stamped on one connection, and what is known of it.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;

use plumb_measure::{MessageStamps, Residence};
use rustix::buffer::spare_capacity;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::{control, kernel};
use plumb_socket::clock::wall_ns;

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
    /// The interface stamps, too.
    by_interface: bool,
    /// When that packet left, and when the last packet of what was read last came in, by its clock.
    interface: (Option<u64>, Option<u64>),
    /// What is read next may have to be told of.
    expected: bool,
    /// Of everything that is read the stamp is kept.
    all: bool,
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
    pub fn ask(socket: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self { by_interface: kernel::ask(socket)?, ..Self::default() })
    }

    /// From here on what is sent is stamped, until the stamps are [taken](Self::take).
    pub fn mark(&mut self) {
        self.marked = true;
        (self.called, self.sent, self.interface.0) = (0, None, None);
        self.came = (self.received, self.woken);
    }

    /// Whether the stamp of what is read next is asked for; that of an answer to a marked message
    /// always is.
    pub fn expect(&mut self, expected: bool) {
        self.expected = expected;
    }

    /// From here on the stamp of everything that is read is kept.
    pub fn watch_all(&mut self) {
        self.all = true;
    }

    /// Nanoseconds since the last packet of what was read last came in; `None` where that is not known,
    /// or the clock was set meanwhile.
    pub fn since_received_ns(&self) -> Option<u64> {
        wall_ns().checked_sub(self.received?)
    }

    /// True from a [mark](Self::mark) until what is known of the message was taken.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.marked
    }

    /// True when some of the marked message was sent.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.marked && self.called > 0
    }

    /// Nothing is marked any more.
    pub fn unmark(&mut self) {
        self.marked = false;
    }

    /// Reads into the front of `into`, and keeps the stamp of what came. For connections that are
    /// served outside of the loops.
    ///
    /// # Errors
    /// As recv(2).
    pub fn read(&mut self, socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
        let (bytes, told) = kernel::read(socket, into)?;
        if bytes > 0 {
            self.woken = wall_ns();
            (self.received, self.interface.1) = (told.stamp, told.by_interface);
        }
        Ok(bytes)
    }

    /// Appends to `into` at most what its spare capacity takes, and says how many bytes.
    pub(crate) fn recv(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<usize> {
        if self.all && !self.marked {
            let (bytes, told) = kernel::recv(socket, into)?;
            self.received = told.stamp;
            return Ok(bytes);
        }
        if !(self.marked || self.expected) {
            self.received = None;
            let (_, bytes) = recv(socket, spare_capacity(into), RecvFlags::empty())?;
            return Ok(bytes);
        }
        let (bytes, told) = kernel::recv(socket, into)?;
        self.woken = wall_ns();
        (self.received, self.interface.1) = (told.stamp, told.by_interface);
        Ok(bytes)
    }

    /// Sends some of `bytes`, and says how many; it does not wait.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        if self.marked {
            return self.send_all(socket, &[IoSlice::new(bytes)]);
        }
        let taken = send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        self.hand_over(taken);
        Ok(taken)
    }

    /// Sends some of `pieces`, one behind the other, and says how many bytes.
    ///
    /// # Errors
    /// As sendmsg(2); it does not wait.
    pub fn send_all(
        &mut self,
        socket: BorrowedFd<'_>,
        pieces: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        if self.marked {
            if self.called == 0 {
                self.called = wall_ns();
            }
            (self.sent, self.interface.0) = (None, None); // the last packet is still to come
        }
        let mark = self.marked.then(|| control::mark(self.by_interface));
        let taken = kernel::send(socket, pieces, mark)?;
        self.hand_over(taken);
        Ok(taken)
    }

    fn hand_over(&mut self, bytes: usize) {
        #[expect(clippy::cast_possible_truncation, reason = "counted modulo 2^32")]
        let count = bytes as u32;
        self.handed_over = self.handed_over.wrapping_add(count);
    }

    /// Looks whether the stamp of the marked message has come back.
    fn look(&mut self, socket: BorrowedFd<'_>) {
        let last_byte = self.handed_over.wrapping_sub(1);
        for _ in 0..QUEUE_READS {
            let Some(entry) = kernel::read_queue(socket) else { return };
            // a packet that is sent again is stamped again: the first time counts
            if entry.last_byte == Some(last_byte) {
                self.sent = self.sent.or(entry.stamp);
                self.interface.0 = self.interface.0.or(entry.by_interface);
                let all = self.interface.0.is_some() || !self.by_interface;
                if self.sent.is_some() && all {
                    return;
                }
            }
        }
    }

    /// What is known of the marked message now that its answer was read; nothing is marked any more.
    /// The queue of errors is read only now, so that it takes no time of the message.
    pub fn take(&mut self, socket: BorrowedFd<'_>) -> MessageStamps {
        self.look(socket);
        self.marked = false;
        let Self { called, sent, received, woken, interface, .. } = *self;
        let by_interface_ns = match interface {
            (Some(left), Some(came)) => came.checked_sub(left),
            _ => None,
        };
        MessageStamps { called, sent, received, woken, by_interface_ns }
    }

    /// How long we had the message that was read before the marked one was sent, once that is known;
    /// nothing is marked any more then.
    pub fn take_residence(&mut self, socket: BorrowedFd<'_>) -> Option<Residence> {
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
