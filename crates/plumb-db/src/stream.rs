//! The socket under the driver: what it carries is counted.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use plumb_engine::Endpoint;
use plumb_measure::Transport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// Bytes over all connections of a load.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
}

/// A connected socket.
#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connected socket whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: Socket,
    traffic: Arc<Traffic>,
}

impl Wire {
    /// Connects to `endpoint`.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) async fn connect(endpoint: &Endpoint, traffic: Arc<Traffic>) -> io::Result<Self> {
        let socket = match endpoint {
            Endpoint::Tcp(address) => Socket::Tcp(dial(*address).await?),
            Endpoint::Unix(path) => Socket::Unix(UnixStream::connect(path).await?),
            Endpoint::Own => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self { socket, traffic })
    }

    /// One end of a pair of sockets.
    pub(crate) fn of_pair(socket: UnixStream) -> Self {
        Self { socket: Socket::Unix(socket), traffic: Arc::default() }
    }

    /// What the socket really is; what goes over it may be encrypted later.
    pub(crate) fn transport(&self) -> Transport {
        let show = |address: io::Result<SocketAddr>| {
            address.map_or_else(|_| "unknown".into(), |address| address.to_string())
        };
        match &self.socket {
            Socket::Tcp(socket) => Transport {
                kind: "tcp".into(),
                local: show(socket.local_addr()),
                peer: show(socket.peer_addr()),
                tls: None,
            },
            Socket::Unix(socket) => Transport {
                kind: "unix".into(),
                local: "unix".into(),
                peer: socket
                    .peer_addr()
                    .ok()
                    .and_then(|address| Some(format!("unix:{}", address.as_pathname()?.display())))
                    .unwrap_or_else(|| "unix".into()),
                tls: None,
            },
        }
    }

    fn sent(&self, done: io::Result<usize>) -> io::Result<usize> {
        if let Ok(bytes) = done {
            self.traffic.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        done
    }
}

/// A TCP connection that sends at once.
pub(crate) async fn dial(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let done = match &mut self.socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_read(context, into),
            Socket::Unix(socket) => Pin::new(socket).poll_read(context, into),
        };
        let bytes = into.filled().len() - before;
        self.traffic.received.fetch_add(bytes as u64, Ordering::Relaxed);
        done
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = ready!(match &mut self.socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_write(context, bytes),
            Socket::Unix(socket) => Pin::new(socket).poll_write(context, bytes),
        });
        Poll::Ready(self.sent(done))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = ready!(match &mut self.socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_write_vectored(context, slices),
            Socket::Unix(socket) => Pin::new(socket).poll_write_vectored(context, slices),
        });
        Poll::Ready(self.sent(done))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_shutdown(context),
            Socket::Unix(socket) => Pin::new(socket).poll_shutdown(context),
        }
    }
}
