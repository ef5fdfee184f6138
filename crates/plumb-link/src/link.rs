//! The bytes of one connection: plain here; TLS (`tls/link.rs`) has the same shape.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::buffer::spare_capacity;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::stamps::Stamps;

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes appended; zero means that the other side will send nothing more.
    pub bytes: usize,
    /// There is nothing more to read now, as far as this link can tell.
    pub drained: bool,
}

/// How the bytes of a connection cross its socket. Everything that would have to wait answers
/// [`io::ErrorKind::WouldBlock`].
pub trait Link {
    /// True when [`handshake`](Self::handshake) has anything to do, so that its time is recorded.
    const ENCRYPTED: bool = false;
    /// True when [`recv`](Self::recv) waits on a socket that blocks.
    const BLOCKS: bool = false;

    /// Goes on with the handshake; `Ok` when it is complete.
    ///
    /// # Errors
    /// `WouldBlock` while the other side must speak first; any other error ends the connection.
    fn handshake(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let _ = socket;
        Ok(())
    }

    /// [`ENCRYPTED`](Self::ENCRYPTED) of this link, where links of one load differ.
    fn encrypted(&self) -> bool {
        Self::ENCRYPTED
    }

    /// What a complete handshake agreed on, for example `TLSv1.3 TLS13_AES_128_GCM_SHA256`.
    fn proof(&self) -> Option<String> {
        None
    }

    /// True when the handshake took up the session of an earlier connection.
    fn resumed(&self) -> bool {
        false
    }

    /// True while [`flush`](Self::flush) has something to hand on.
    fn holds_back(&self) -> bool {
        false
    }

    /// Has the kernel stamp what comes in, and what is marked. Before anything was sent.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where bytes cannot be found in packets; what the kernel says.
    fn stamp(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let _ = socket;
        let why = "the kernel cannot tell which of its packets a message of TLS is in";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    /// The stamps, where they were [asked for](Self::stamp).
    fn stamps(&mut self) -> Option<&mut Stamps> {
        None
    }

    /// Says farewell: nothing more will be sent.
    fn finish(&mut self, socket: BorrowedFd<'_>) {
        let _ = socket;
    }

    /// Appends to `into` at most what its spare capacity takes.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing; any other error ends the connection.
    fn recv(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<Received>;

    /// Takes some of `bytes`, and says how many.
    ///
    /// # Errors
    /// `WouldBlock` when none can be taken; any other error ends the connection.
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize>;

    /// Hands on what the link itself still holds back of bytes it took.
    ///
    /// # Errors
    /// `WouldBlock` when something is still held back; any other error ends the connection.
    fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let _ = socket;
        Ok(())
    }
}

/// Bytes as they are.
#[derive(Debug, Default)]
pub struct Plain {
    /// Of a connection whose packets are stamped.
    stamps: Option<Box<Stamps>>,
}

impl Link for Plain {
    const BLOCKS: bool = true;

    fn stamp(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.stamps = Some(Box::new(Stamps::ask(socket)?));
        Ok(())
    }

    #[inline]
    fn stamps(&mut self) -> Option<&mut Stamps> {
        self.stamps.as_deref_mut()
    }

    #[inline]
    fn recv(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<Received> {
        let room = into.capacity() - into.len();
        let bytes = match &mut self.stamps {
            Some(stamps) => stamps.recv(socket, into)?,
            None => recv(socket, spare_capacity(into), RecvFlags::empty())?.1,
        };
        Ok(Received { bytes, drained: bytes < room })
    }

    #[inline]
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        if let Some(stamps) = &mut self.stamps {
            return stamps.send(socket, bytes);
        }
        Ok(send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
    }
}
