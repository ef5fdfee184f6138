//! A connected socket for the runtime, over TCP or SMC.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use plumb_engine::{Endpoint, SocketOptions, finish_connect, start_connect};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// A connected socket.
#[derive(Debug)]
pub enum Socket {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over SMC, or over TCP where such a socket fell back to it.
    Smc(SmcStream),
}

/// A socket of SMC.
///
/// The runtime's own streams take a write that the kernel cut short for one that found the buffer full,
/// and wait to be told that there is room. A socket of SMC tells only whoever was refused: it would be
/// waited for without end. This one writes until it is refused.
#[derive(Debug)]
pub struct SmcStream(TcpStream);

impl Socket {
    /// Connects to `endpoint`, an address of TCP or SMC; what is sent goes out at once.
    ///
    /// # Errors
    /// What the kernel says.
    pub async fn connect(endpoint: &Endpoint) -> io::Result<Self> {
        let socket = start_connect(endpoint, &SocketOptions::default())?;
        // the runtime waits for either in the same way
        let stream = TcpStream::from_std(socket.into())?;
        stream.writable().await?;
        finish_connect(&stream)?;
        Ok(match endpoint {
            Endpoint::Smc(_) => Self::Smc(SmcStream(stream)),
            Endpoint::Tcp(_) | Endpoint::Udp(_) | Endpoint::Unix(_) | Endpoint::Own => {
                Self::Tcp(stream)
            }
        })
    }
}

impl SmcStream {
    /// A stream that is one of SMC.
    #[must_use]
    pub fn of(stream: TcpStream) -> Self {
        Self(stream)
    }

    fn poll_send(
        &self,
        context: &mut Context<'_>,
        send: impl Fn(&TcpStream) -> rustix::io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(context))?;
            match self.0.try_io(Interest::WRITABLE, || Ok(send(&self.0)?)) {
                Err(refused) if refused.kind() == io::ErrorKind::WouldBlock => {}
                sent => return Poll::Ready(sent),
            }
        }
    }
}

impl AsFd for SmcStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Smc(stream) => stream.as_fd(),
        }
    }
}

impl AsyncRead for SmcStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(context))?;
            let room = into.initialize_unfilled();
            let read = || Ok(rustix::io::read(&self.0, &mut *room)?);
            match self.0.try_io(Interest::READABLE, read) {
                Err(nothing) if nothing.kind() == io::ErrorKind::WouldBlock => {}
                read => {
                    into.advance(read?);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncWrite for SmcStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(context, |socket| rustix::io::write(socket, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(context, |socket| rustix::io::writev(socket, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, into),
            Self::Smc(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Smc(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Self::Smc(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Smc(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Far more than two buffers hold, both ways, over sockets that refuse when they are full.
    #[test]
    fn what_is_longer_than_a_buffer_goes_through() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let one = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let two = listener.accept().await.unwrap().0;
            let (mut one, mut two) = (SmcStream::of(one), SmcStream::of(two));
            let sent: Vec<u8> = (0..8_000_000_u32).map(|at| (at % 251) as u8).collect();
            let expected = sent.clone();
            let writing = async {
                one.write_all(&sent).await.unwrap();
                one.shutdown().await.unwrap();
                let mut back = Vec::new();
                one.read_to_end(&mut back).await.unwrap();
                back
            };
            let echoing = async {
                let mut read = Vec::new();
                two.read_to_end(&mut read).await.unwrap();
                two.write_all(&read).await.unwrap();
                drop(two);
            };
            let (back, ()) = tokio::join!(writing, echoing);
            assert!(back == expected, "{} bytes came back", back.len());
        });
    }
}
