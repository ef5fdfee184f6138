//! A stream that knows whether its peer has begun to say something new.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

use crate::Socket;
use crate::stamping::Stamping;
use crate::taken::Taken;

/// What was heard of a peer.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    bytes: AtomicU64,
    answered: AtomicU64,
}

impl Heard {
    /// All that was heard so far has been answered.
    pub(crate) fn answered(&self) {
        self.answered.store(self.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// True when something came that has not been answered.
    pub(crate) fn more(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.answered.load(Ordering::Relaxed)
    }
}

/// The bytes of a connection, plain or encrypted. HTTP is spoken over any of them by the same code,
/// which is large: it is compiled once for a server.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {
    /// The connection of TCP whose bytes these are, as they are; `None` of any other.
    fn tcp(&self) -> Option<&TcpStream> {
        None
    }
}

impl Stream for Socket {
    fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(stream) => Some(stream),
            Self::Smc(_) => None,
        }
    }
}

impl Stream for UnixStream {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for TlsStream<S> {}

/// A stream whose bytes are counted as they come, and taken in time as they go.
pub(crate) struct Listening<'a> {
    pub(crate) stream: &'a mut dyn Stream,
    pub(crate) heard: &'a Heard,
    pub(crate) stamping: &'a Stamping,
    pub(crate) taken: Taken,
}

impl Listening<'_> {
    /// The stream and its stamps, where its client asked for some.
    fn stamped(&self) -> Option<(&Stamping, &TcpStream)> {
        let stream = if self.stamping.is_on() { self.stream.tcp()? } else { return None };
        self.stamping.stands(stream).then_some((self.stamping, stream))
    }
}

impl AsyncRead for Listening<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = match self.stamped() {
            Some((stamping, stream)) => stamping.poll_read(stream, context, buffer),
            None => Pin::new(&mut *self.stream).poll_read(context, buffer),
        };
        let came = buffer.filled().len() - before;
        if came > 0 {
            self.heard.bytes.fetch_add(came as u64, Ordering::Relaxed);
        }
        polled
    }
}

impl AsyncWrite for Listening<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = match self.stamped() {
            Some((stamping, stream)) => {
                stamping.poll_write(stream, context, &[IoSlice::new(bytes)])
            }
            None => Pin::new(&mut *self.stream).poll_write(context, bytes),
        };
        self.taken.written(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut *self.stream).poll_flush(context);
        self.taken.flushed(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = match self.stamped() {
            Some((stamping, stream)) => stamping.poll_write(stream, context, parts),
            None => Pin::new(&mut *self.stream).poll_write_vectored(context, parts),
        };
        self.taken.written(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_answered_is_nothing_new() {
        let heard = Heard::default();
        assert!(!heard.more());
        heard.bytes.store(5, Ordering::Relaxed);
        assert!(heard.more());
        heard.answered();
        assert!(!heard.more());
    }
}
