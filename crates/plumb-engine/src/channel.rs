//! One connection's socket and its two small buffers.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::link::Link;

/// Bytes one read asks for. Larger buffers cost less on long bodies and more on everything else.
pub(crate) const READ_BYTES: usize = 64 << 10;
/// A kept start longer than this is not copied.
const TRADE_BYTES: usize = 2 << 10;
/// Reads of one connection in one turn; then the others have theirs. Without a limit one greedy
/// neighbour triples the tail of everybody else.
pub(crate) const READS_A_TURN: usize = 16;

/// A socket, its link, what waits to be sent, and the start of a message that is not complete.
#[derive(Debug)]
pub(crate) struct Channel<L> {
    socket: OwnedFd,
    link: L,
    /// Bytes to send; append here, then [`flush`](Self::flush).
    pub(crate) out: Vec<u8>,
    sent: usize, // of `out`
    rest: Vec<u8>,
    hangup: bool,
    finished: bool,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// So many bytes; `last` when there are no more for now.
    Bytes { count: usize, last: bool },
    /// Nothing for now.
    Nothing,
    /// The other side will send nothing more.
    End,
}

impl<L: Link> Channel<L> {
    pub(crate) fn new(socket: OwnedFd, link: L) -> Self {
        Self {
            socket,
            link,
            out: Vec::new(),
            sent: 0,
            rest: Vec::new(),
            hangup: false,
            finished: false,
        }
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// From now on a short read no longer means that nothing is left: the last bytes and the end
    /// may have been announced together.
    pub(crate) fn set_hangup(&mut self) {
        self.hangup = true;
    }

    /// True once the other side has said that it will send nothing more.
    pub(crate) fn hung_up(&self) -> bool {
        self.hangup
    }

    pub(crate) fn encrypted(&self) -> bool {
        L::ENCRYPTED
    }

    pub(crate) fn handshake(&mut self) -> io::Result<()> {
        retry(|| self.link.handshake(self.socket.as_fd()))
    }

    /// Reads once: into `shared` (emptied first) when no earlier bytes are kept, else behind them.
    pub(crate) fn fill(&mut self, shared: &mut Vec<u8>) -> io::Result<Filled> {
        let into = if self.rest.is_empty() {
            shared.clear();
            shared
        } else {
            self.rest.reserve(READ_BYTES);
            &mut self.rest
        };
        match retry(|| self.link.recv(self.socket.as_fd(), into)) {
            Ok(received) if received.bytes == 0 => Ok(Filled::End),
            Ok(received) => {
                Ok(Filled::Bytes { count: received.bytes, last: received.drained && !self.hangup })
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Filled::Nothing),
            Err(error) => Err(error),
        }
    }

    /// The bytes not yet consumed, and the buffer for replies.
    pub(crate) fn bytes_and_out<'a>(&'a mut self, shared: &'a [u8]) -> (&'a [u8], &'a mut Vec<u8>) {
        let bytes = if self.rest.is_empty() { shared } else { &self.rest };
        (bytes, &mut self.out)
    }

    /// Keeps what is behind the first `consumed` bytes for the next read. The start of a long
    /// message is kept by trading buffers instead of copying.
    pub(crate) fn keep_from(&mut self, consumed: usize, shared: &mut Vec<u8>) {
        if self.rest.is_empty() {
            if consumed == 0 && shared.len() > TRADE_BYTES {
                std::mem::swap(&mut self.rest, shared);
                shared.reserve(READ_BYTES);
            } else {
                self.rest.extend_from_slice(&shared[consumed..]);
            }
        } else {
            self.rest.drain(..consumed);
            if self.rest.is_empty() && self.rest.capacity() >= READ_BYTES {
                self.rest = Vec::new();
            }
        }
    }

    /// Bytes kept of a message that is not complete.
    pub(crate) fn kept(&self) -> usize {
        self.rest.len()
    }

    /// True while something waits to be sent.
    pub(crate) fn sending(&self) -> bool {
        self.sent < self.out.len()
    }

    /// The one place that sends: hands over as much of `out` as the kernel takes, and says how
    /// much. The rest goes when the socket is writable again.
    pub(crate) fn flush(&mut self) -> io::Result<u64> {
        let before = self.sent;
        while self.sending() {
            match retry(|| self.link.send(self.socket.as_fd(), &self.out[self.sent..])) {
                Ok(taken) => self.sent += taken,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let taken = (self.sent - before) as u64;
        if !self.sending() {
            self.out.clear();
            self.sent = 0;
            if self.out.capacity() > 4 * READ_BYTES {
                self.out = Vec::new();
            }
        }
        match retry(|| self.link.flush(self.socket.as_fd())) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Sends a part of the bytes not yet consumed; see [`send`](Self::send).
    pub(crate) fn echo(&mut self, part: Range<usize>, shared: &[u8]) -> io::Result<u64> {
        if self.rest.is_empty() {
            return self.send(&shared[part]);
        }
        let kept = std::mem::take(&mut self.rest);
        let sent = self.send(&kept[part]);
        self.rest = kept;
        sent
    }

    /// Sends `bytes` behind what waits already, uncopied as far as the kernel takes them at once,
    /// and says how much it took.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<u64> {
        if self.sending() {
            self.out.extend_from_slice(bytes);
            return self.flush();
        }
        let taken = match retry(|| self.link.send(self.socket.as_fd(), bytes)) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        if taken == bytes.len() {
            return Ok(taken as u64);
        }
        self.out.extend_from_slice(&bytes[taken..]);
        Ok(taken as u64 + self.flush()?)
    }

    /// Copies a part of the bytes not yet consumed behind what waits to be sent.
    pub(crate) fn echo_later(&mut self, part: Range<usize>, shared: &[u8]) {
        let bytes = if self.rest.is_empty() { &shared[part] } else { &self.rest[part] };
        self.out.extend_from_slice(bytes);
    }

    /// Bytes that wait to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Forgets what is kept of a message that nobody waits for any more.
    pub(crate) fn forget_kept(&mut self) {
        self.rest = Vec::new();
    }

    /// Tells the other side that nothing more will be sent. Once: each time would be an event.
    pub(crate) fn finish_sending(&mut self) {
        if !std::mem::replace(&mut self.finished, true) {
            // a connection that is gone already needs no farewell
            let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
        }
    }
}

/// Repeats a call that a signal interrupted.
fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
