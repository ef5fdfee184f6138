//! One link or another: connections of one load differ, and a loop of its own for each link would be
//! compiled for each protocol.

use std::io;
use std::os::fd::BorrowedFd;

use plumb_engine::tls::Tls;
use plumb_engine::{Link, Plain, Received, Stamps};

use crate::tunnel::Tunnel;

/// The link of a connection.
#[derive(Debug)]
pub(crate) enum AnyLink {
    Plain(Plain),
    Tls(Box<Tls>),
    /// TLS through a proxy.
    Tunnel(Box<Tunnel<Tls>>),
}

/// Does the same with whichever link it is.
macro_rules! each {
    ($this:expr, $link:ident => $does:expr) => {
        match $this {
            AnyLink::Plain($link) => $does,
            AnyLink::Tls($link) => $does,
            AnyLink::Tunnel($link) => $does,
        }
    };
}

impl Link for AnyLink {
    fn encrypted(&self) -> bool {
        !matches!(self, Self::Plain(_))
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

    fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        each!(self, link => link.flush(socket))
    }
}
