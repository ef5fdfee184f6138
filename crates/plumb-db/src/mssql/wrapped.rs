//! The socket of a session: while a handshake of TLS is under way, its records go in packets of the
//! protocol; behind it they go as they are.
//!
//! # Source
//! MS-TDS, 2.2.6.5 (`PRELOGIN`, TLS negotiation).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::stream::Wire;

use plumb_sql::tds::wire::{self, HEAD, Head, Kind, PACKET};

/// A socket whose bytes are in packets as long as a flag says so.
#[derive(Debug)]
pub(super) struct Wrapped {
    wire: Wire,
    /// Packets are put around bytes, and taken off them.
    wraps: Arc<AtomicBool>,
    /// The head of a packet that comes, as far as it came.
    head: Vec<u8>,
    /// What is left of that packet.
    left: usize,
    /// A packet that was not sent whole.
    unsent: Vec<u8>,
}

impl Wrapped {
    /// `wire`, with packets around its bytes until the flag is put down.
    pub(super) fn new(wire: Wire) -> (Self, Arc<AtomicBool>) {
        let wraps = Arc::new(AtomicBool::new(true));
        let (head, unsent) = (Vec::with_capacity(HEAD), Vec::new());
        (Self { wire, wraps: Arc::clone(&wraps), head, left: 0, unsent }, wraps)
    }

    fn wraps(&self) -> bool {
        self.wraps.load(Ordering::Relaxed)
    }

    /// Sends what was not sent.
    fn poll_unsent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let sent = ready!(Pin::new(&mut self.wire).poll_write(context, &self.unsent))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.unsent.drain(..sent);
        }
        Poll::Ready(Ok(()))
    }

    /// Reads the head of the next packet. False at the end of what comes.
    fn poll_head(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while self.head.len() < HEAD {
            let mut room = [0; HEAD];
            let mut into = ReadBuf::new(&mut room[self.head.len()..]);
            ready!(Pin::new(&mut self.wire).poll_read(context, &mut into))?;
            if into.filled().is_empty() {
                return Poll::Ready(Ok(false));
            }
            self.head.extend_from_slice(into.filled());
        }
        let head = self.head.as_slice().try_into().ok().and_then(Head::read);
        let of_handshake = [Kind::PreLogin as u8, Kind::Answer as u8];
        let Some(head) = head.filter(|head| of_handshake.contains(&head.kind)) else {
            let said = "what came in the handshake of TLS is no packet of SQL Server";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, said)));
        };
        self.left = head.length - HEAD;
        self.head.clear();
        Poll::Ready(Ok(true))
    }
}

impl AsyncRead for Wrapped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.wraps() {
            return Pin::new(&mut self.wire).poll_read(context, into);
        }
        while self.left == 0 {
            if !ready!(self.poll_head(context))? {
                return Poll::Ready(Ok(()));
            }
        }
        let mut room = [0; 1 << 10];
        let most = self.left.min(into.remaining()).min(room.len());
        let mut part = ReadBuf::new(&mut room[..most]);
        ready!(Pin::new(&mut self.wire).poll_read(context, &mut part))?;
        into.put_slice(part.filled());
        self.left -= part.filled().len();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wrapped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_unsent(context))?;
        if !self.wraps() {
            return Pin::new(&mut self.wire).poll_write(context, bytes);
        }
        let part = &bytes[..bytes.len().min(PACKET - HEAD)];
        let mut packet = Vec::with_capacity(PACKET);
        wire::message(&mut packet, Kind::PreLogin, part);
        self.unsent = packet;
        // what the socket does not take now goes out with the next bytes, or when all is to be out
        match self.poll_unsent(context) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(part.len())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(context))?;
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}
