//! A connection of TCP on the runtime, read and written with time stamps of the kernel.

use std::io::{self, IoSlice};
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use plumb_engine::Stamps;
use tokio::io::{Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// A socket that takes nothing more is tried again after this long, as stamps that wait in it let it
/// look as if it took more.
const NEXT_TRY: Duration = Duration::from_millis(1);

/// The stamps of one connection. Each call is given the same stream.
#[derive(Debug)]
pub struct StampedSocket {
    /// What is marked, and what is known of it.
    pub stamps: Stamps,
    /// Until a full socket is tried again.
    pause: Option<Pin<Box<Sleep>>>,
}

impl StampedSocket {
    /// Asks the kernel to stamp the packets of `stream`, before anything more is sent.
    ///
    /// # Errors
    /// As [`Stamps::ask`].
    pub fn ask(stream: &TcpStream) -> io::Result<Self> {
        Ok(Self { stamps: Stamps::ask(stream.as_fd())?, pause: None })
    }

    /// As `poll_read` of the stream.
    ///
    /// # Errors
    /// Those of recv(2).
    pub fn poll_read(
        &mut self,
        stream: &TcpStream,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(stream.poll_read_ready(context))?;
            let room = into.initialize_unfilled();
            let read = || self.stamps.read(stream.as_fd(), &mut *room);
            match stream.try_io(Interest::READABLE, read) {
                Err(nothing) if nothing.kind() == io::ErrorKind::WouldBlock => {}
                read => {
                    into.advance(read?);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }

    /// As `poll_write_vectored` of the stream.
    ///
    /// # Errors
    /// Those of sendmsg(2).
    pub fn poll_write(
        &mut self,
        stream: &TcpStream,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            ready!(stream.poll_write_ready(context))?;
            let send = || self.stamps.send_all(stream.as_fd(), pieces);
            match stream.try_io(Interest::WRITABLE, send) {
                Err(full) if full.kind() == io::ErrorKind::WouldBlock => {
                    self.pause = Some(Box::pin(tokio::time::sleep(NEXT_TRY)));
                }
                sent => return Poll::Ready(sent),
            }
        }
    }
}
