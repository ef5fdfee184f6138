//! One connection's socket and its two small buffers.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use plumb_link::{Link, Stamps};
use plumb_socket::Readiness;

/// Bytes one read asks for. Larger buffers cost less on long bodies and more on everything else.
pub const READ_BYTES: usize = 64 << 10;
/// A kept start longer than this is not copied.
const TRADE_BYTES: usize = 2 << 10;
/// Reads of one connection in one turn; then the others have theirs. Without a limit one greedy
/// neighbour triples the tail of everybody else.
pub const READS_A_TURN: usize = 16;

/// A socket, its link, and what is held of either direction.
#[derive(Debug)]
pub(crate) struct Channel<L> {
    socket: OwnedFd,
    link: L,
    /// Made when bytes must wait for the first time. Most messages come and go whole, and what a
    /// connection touches for each of them should stay small: with hundreds of connections it has
    /// left the cache by the next one.
    held: Option<Box<Held>>,
    hangup: bool,
    finished: bool,
}

/// Bytes that wait.
#[derive(Debug, Default)]
struct Held {
    /// To be sent, from `sent` on.
    out: Vec<u8>,
    sent: usize,
    /// So many bytes at the end of `out` are not sent before they are released.
    withheld: usize,
    /// The start of a message that is not complete.
    rest: Vec<u8>,
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
        Self { socket, link, held: None, hangup: false, finished: false }
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
        self.link.encrypted()
    }

    pub(crate) fn link(&self) -> &L {
        &self.link
    }

    /// Has the kernel stamp packets; see [`Link::stamp`].
    pub(crate) fn stamp(&mut self) -> io::Result<()> {
        self.link.stamp(self.socket.as_fd())
    }

    /// The same, with the stamps of everything that is read.
    pub(crate) fn stamp_all(&mut self) -> io::Result<()> {
        self.stamp()?;
        self.link.stamps().into_iter().for_each(Stamps::watch_all);
        Ok(())
    }

    /// The stamps and the socket they are of, where they were asked for.
    #[inline]
    pub(crate) fn stamps(&mut self) -> Option<(&mut Stamps, BorrowedFd<'_>)> {
        let socket = self.socket.as_fd();
        self.link.stamps().map(|stamps| (stamps, socket))
    }

    /// Takes what epoll said of the end of the connection.
    pub(crate) fn heard(&mut self, ready: Readiness) {
        if ready.hangup && !(ready.only_error && self.link.stamps().is_some()) {
            self.set_hangup();
        }
    }

    pub(crate) fn handshake(&mut self) -> io::Result<()> {
        retry(|| self.link.handshake(self.socket.as_fd()))
    }

    /// Reads once: into `shared` (emptied first) when no earlier bytes are kept, else behind them.
    #[inline]
    pub(crate) fn fill(&mut self, shared: &mut Vec<u8>) -> io::Result<Filled> {
        let into = match &mut self.held {
            Some(held) if !held.rest.is_empty() => {
                held.rest.reserve(READ_BYTES);
                &mut held.rest
            }
            _ => {
                shared.clear();
                shared
            }
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

    /// The bytes not yet consumed.
    #[inline]
    pub(crate) fn bytes<'a>(&'a self, shared: &'a [u8]) -> &'a [u8] {
        match &self.held {
            Some(held) if !held.rest.is_empty() => &held.rest,
            _ => shared,
        }
    }

    /// Keeps what is behind the first `consumed` bytes for the next read. The start of a long
    /// message is kept by trading buffers instead of copying.
    #[inline]
    pub(crate) fn keep_from(&mut self, consumed: usize, shared: &mut Vec<u8>) {
        if consumed < shared.len() || self.kept() > 0 {
            self.keep_rest(consumed, shared);
        }
    }

    fn keep_rest(&mut self, consumed: usize, shared: &mut Vec<u8>) {
        if self.kept() > 0 {
            let rest = &mut self.held().rest;
            rest.drain(..consumed);
            if rest.is_empty() && rest.capacity() >= READ_BYTES {
                *rest = Vec::new();
            }
        } else if consumed == 0 && shared.len() > TRADE_BYTES {
            std::mem::swap(&mut self.held().rest, shared);
            shared.reserve(READ_BYTES);
        } else {
            self.held().rest.extend_from_slice(&shared[consumed..]);
        }
    }

    /// The socket and the bytes not yet consumed, for whoever goes on with them.
    pub(crate) fn into_parts(self) -> (OwnedFd, Vec<u8>) {
        (self.socket, self.held.map_or_else(Vec::new, |held| held.rest))
    }

    /// Bytes kept of a message that is not complete.
    #[inline]
    pub(crate) fn kept(&self) -> usize {
        self.held.as_ref().map_or(0, |held| held.rest.len())
    }

    /// Bytes of memory that are taken for what waits in either direction.
    pub(crate) fn taken(&self) -> usize {
        self.held.as_ref().map_or(0, |held| held.out.capacity() + held.rest.capacity())
    }

    /// Bytes that wait to be sent.
    #[inline]
    pub(crate) fn unsent(&self) -> usize {
        self.held.as_ref().map_or(0, |held| held.out.len() - held.sent)
    }

    /// True while something waits to be sent, here or in the link.
    pub(crate) fn sending(&self) -> bool {
        self.unsent() > 0 || self.link.holds_back()
    }

    /// True while no bytes have ever waited, here or in the link.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.held.is_none() && !self.link.holds_back()
    }

    fn held(&mut self) -> &mut Held {
        self.held.get_or_insert_default()
    }

    /// Hands over as much of what waits as the kernel takes, and says how much. The rest goes when
    /// the socket is writable again.
    pub(crate) fn flush(&mut self) -> io::Result<u64> {
        let mut taken = 0;
        if let Some(held) = &mut self.held
            && held.sent < held.end()
        {
            let before = held.sent;
            while held.sent < held.end() {
                let free = &held.out[held.sent..held.end()];
                match retry(|| self.link.send(self.socket.as_fd(), free)) {
                    Ok(count) => held.sent += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
            taken = (held.sent - before) as u64;
            held.forget_sent();
        }
        match retry(|| self.link.flush(self.socket.as_fd())) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Sends a part of the bytes not yet consumed; see [`send`](Self::send).
    #[inline]
    pub(crate) fn echo(&mut self, part: Range<usize>, shared: &[u8]) -> io::Result<u64> {
        if self.kept() == 0 {
            return self.send(&shared[part]);
        }
        let kept = std::mem::take(&mut self.held().rest);
        let sent = self.send(&kept[part]);
        self.held().rest = kept;
        sent
    }

    /// Sends `bytes` behind what waits already, uncopied as far as the kernel takes them at once,
    /// and says how much it took.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<u64> {
        if self.unsent() > 0 {
            self.hold(bytes);
            return self.flush();
        }
        match retry(|| self.link.send(self.socket.as_fd(), bytes)) {
            Ok(taken) if taken == bytes.len() => Ok(taken as u64),
            Ok(taken) => self.send_rest(taken, bytes),
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.send_rest(0, bytes),
            Err(error) => Err(error),
        }
    }

    /// The kernel took the first `taken` of `bytes`.
    #[cold]
    fn send_rest(&mut self, taken: usize, bytes: &[u8]) -> io::Result<u64> {
        self.hold(&bytes[taken..]);
        Ok(taken as u64 + self.flush()?)
    }

    /// The last `bytes` of what waits are not sent before they are [released](Self::release).
    pub(crate) fn withhold(&mut self, bytes: usize) {
        let held = self.held();
        held.withheld = (held.withheld + bytes).min(held.out.len() - held.sent);
    }

    /// The first `bytes` of what is withheld may be sent.
    pub(crate) fn release(&mut self, bytes: usize) {
        if let Some(held) = &mut self.held {
            held.withheld = held.withheld.saturating_sub(bytes);
        }
    }

    /// Lets `bytes` wait behind what waits already; [`flush`](Self::flush) sends them.
    #[inline]
    pub(crate) fn hold(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.held().out.extend_from_slice(bytes);
        }
    }

    /// Lets a part of the bytes not yet consumed wait to be sent.
    pub(crate) fn hold_part(&mut self, part: Range<usize>, shared: &[u8]) {
        if self.kept() == 0 {
            return self.hold(&shared[part]);
        }
        let held = self.held();
        held.out.extend_from_slice(&held.rest[part]);
    }

    /// Forgets what is kept of a message that nobody waits for any more.
    pub(crate) fn forget_kept(&mut self) {
        if let Some(held) = &mut self.held {
            held.rest = Vec::new();
        }
    }

    /// Tells the other side that nothing more will be sent. Once: each time would be an event.
    pub(crate) fn finish_sending(&mut self) {
        if !std::mem::replace(&mut self.finished, true) {
            self.link.finish(self.socket.as_fd());
            // a connection that is gone already needs no farewell
            let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
        }
    }
}

impl Held {
    /// The end of what may be sent.
    fn end(&self) -> usize {
        self.out.len() - self.withheld
    }

    /// Once all is sent, makes room for the next. Where something is always withheld that never is.
    fn forget_sent(&mut self) {
        if self.withheld > 0 && self.sent >= READ_BYTES {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
            if self.out.capacity() > 4 * READ_BYTES {
                self.out = Vec::new();
            }
        }
    }
}

/// Repeats a call that a signal interrupted.
#[inline]
fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
