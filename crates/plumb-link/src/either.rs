//! One link or another. A loop over connections is compiled for each type of link: loads whose
//! connections may be of several kinds have one loop for all of them.

use std::io;
use std::os::fd::BorrowedFd;

use crate::link::{Link, Plain, Received};
use crate::stamps::Stamps;
use crate::tls::{Tls, TlsConnector};

/// A link of one kind or of another. The first is the smaller one, which most connections have.
#[derive(Debug)]
pub enum Either<A, B> {
    /// The one.
    One(A),
    /// The other, in memory of its own.
    Other(Box<B>),
}

/// Does the same with whichever link it is.
macro_rules! each {
    ($this:expr, $link:ident => $does:expr) => {
        match $this {
            Either::One($link) => $does,
            Either::Other($link) => $does,
        }
    };
}

impl<A: Link, B: Link> Either<A, B> {
    /// The other link.
    pub fn other(link: B) -> Self {
        Self::Other(Box::new(link))
    }
}

impl Either<Plain, Tls> {
    /// Of TLS where there is what makes such links.
    pub fn of(tls: Option<&TlsConnector>) -> Self {
        tls.map_or_else(|| Self::One(Plain::default()), |tls| Self::other(tls.link()))
    }
}

impl<A: Link, B: Link> Link for Either<A, B> {
    const BLOCKS: bool = A::BLOCKS && B::BLOCKS;

    fn encrypted(&self) -> bool {
        each!(self, link => link.encrypted())
    }

    fn handshake(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        each!(self, link => link.handshake(socket))
    }

    fn proof(&self) -> Option<String> {
        each!(self, link => link.proof())
    }

    fn resumed(&self) -> bool {
        each!(self, link => link.resumed())
    }

    #[inline]
    fn holds_back(&self) -> bool {
        each!(self, link => link.holds_back())
    }

    fn stamp(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        each!(self, link => link.stamp(socket))
    }

    #[inline]
    fn stamps(&mut self) -> Option<&mut Stamps> {
        each!(self, link => link.stamps())
    }

    fn finish(&mut self, socket: BorrowedFd<'_>) {
        each!(self, link => link.finish(socket));
    }

    #[inline]
    fn recv(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<Received> {
        each!(self, link => link.recv(socket, into))
    }

    #[inline]
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        each!(self, link => link.send(socket, bytes))
    }

    #[inline]
    fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        each!(self, link => link.flush(socket))
    }
}
