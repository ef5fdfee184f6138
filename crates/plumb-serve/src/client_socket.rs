//! A connection to a server that a client asks on the runtime.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::task::{Context, Poll};

use plumb_engine::{Endpoint, SocketOptions, finish_connect, start_connect};
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::Socket;

/// A socket that a client has connected.
#[derive(Debug)]
pub enum ClientSocket {
    /// Over TCP or SMC.
    Tcp(Socket),
    /// Over a socket file.
    Unix(UnixStream),
}

impl ClientSocket {
    /// Connects to `endpoint`; what is sent goes out at once.
    ///
    /// # Errors
    /// What the kernel says.
    pub async fn connect(endpoint: &Endpoint) -> io::Result<Self> {
        match endpoint {
            Endpoint::Tcp(_) | Endpoint::Smc(_) => Socket::connect(endpoint).await.map(Self::Tcp),
            Endpoint::Unix(_) | Endpoint::Udp(_) | Endpoint::Own => {
                let socket = start_connect(endpoint, &SocketOptions::default())?;
                let socket = UnixStream::from_std(socket.into())?;
                socket.writable().await?;
                finish_connect(&socket)?;
                Ok(Self::Unix(socket))
            }
        }
    }

    /// Its descriptor, where a receive can wait.
    #[must_use]
    pub fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Tcp(Socket::Tcp(stream)) => Some(stream.as_fd()),
            Self::Tcp(Socket::Smc(_)) => None,
            Self::Unix(stream) => Some(stream.as_fd()),
        }
    }

    /// As `poll_read_ready` and `poll_write_ready` of a stream.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn poll_ready(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
    ) -> Poll<io::Result<()>> {
        match (self, interest.is_readable()) {
            (Self::Tcp(Socket::Tcp(stream)), true) => stream.poll_read_ready(context),
            (Self::Tcp(Socket::Tcp(stream)), false) => stream.poll_write_ready(context),
            (Self::Unix(stream), true) => stream.poll_read_ready(context),
            (Self::Unix(stream), false) => stream.poll_write_ready(context),
            (Self::Tcp(Socket::Smc(_)), _) => Poll::Ready(Ok(())),
        }
    }

    /// As `try_io` of a stream.
    ///
    /// # Errors
    /// What `call` says, and that it would have to wait.
    pub fn try_io<T>(
        &self,
        interest: Interest,
        call: impl FnOnce(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        match self {
            Self::Tcp(Socket::Tcp(stream)) => stream.try_io(interest, || call(stream.as_fd())),
            Self::Tcp(Socket::Smc(stream)) => call(stream.as_fd()),
            Self::Unix(stream) => stream.try_io(interest, || call(stream.as_fd())),
        }
    }
}
