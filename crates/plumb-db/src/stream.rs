//! The socket under the driver: what it carries is counted, and when an answer came is noted, before the
//! driver has read it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Endpoint, SocketOptions, finish_connect, proven, start_connect};
use plumb_measure::{Clock as _, Transport, Transports};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

/// Bytes over all connections of a load, and what these really used.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    transports: Mutex<Transports>,
}

impl Traffic {
    /// A connection over `transport` stands, its handshake done.
    pub(crate) fn stands(&self, transport: &Transport) {
        self.proofs().add(transport, 1);
    }

    /// What all connections used so far.
    pub(crate) fn transports(&self) -> Transports {
        self.proofs().clone()
    }

    fn proofs(&self) -> MutexGuard<'_, Transports> {
        self.transports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When bytes came over a connection, nanoseconds on the monotonic clock. What the driver does with them
/// is no time of the server or the way.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    first_ns: AtomicU64,
    last_ns: AtomicU64,
}

impl Arrivals {
    /// Something is asked: the next bytes are the first.
    pub(crate) fn expect(&self) {
        self.first_ns.store(0, Ordering::Relaxed);
    }

    fn came(&self, now_ns: u64) {
        if self.first_ns.load(Ordering::Relaxed) == 0 {
            self.first_ns.store(now_ns, Ordering::Relaxed);
        }
        self.last_ns.store(now_ns, Ordering::Relaxed);
    }

    /// When the first bytes came since something was [expected](Self::expect); 0 while none have.
    pub(crate) fn first_ns(&self) -> u64 {
        self.first_ns.load(Ordering::Relaxed)
    }

    /// When the last bytes came so far.
    pub(crate) fn last_ns(&self) -> u64 {
        self.last_ns.load(Ordering::Relaxed)
    }
}

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(plumb_serve::Socket),
    Unix(UnixStream),
}

impl Socket {
    /// Connects to `endpoint`; what is sent goes out at once.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) async fn connect(endpoint: &Endpoint) -> io::Result<Self> {
        match endpoint {
            Endpoint::Tcp(_) | Endpoint::Smc(_) => {
                plumb_serve::Socket::connect(endpoint).await.map(Self::Tcp)
            }
            Endpoint::Unix(_) | Endpoint::Udp(_) | Endpoint::Own => {
                let socket = start_connect(endpoint, &SocketOptions::default())?;
                let socket = UnixStream::from_std(socket.into())?;
                socket.writable().await?;
                finish_connect(&socket)?;
                Ok(Self::Unix(socket))
            }
        }
    }
}

/// A connected socket whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: Socket,
    endpoint: Endpoint,
    traffic: Arc<Traffic>,
    arrivals: Arc<Arrivals>,
}

impl Wire {
    /// Connects to `endpoint`.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) async fn connect(endpoint: &Endpoint, traffic: Arc<Traffic>) -> io::Result<Self> {
        let socket = Socket::connect(endpoint).await?;
        Ok(Self { socket, endpoint: endpoint.clone(), traffic, arrivals: Arc::default() })
    }

    /// One end of a pair of sockets.
    pub(crate) fn of_pair(socket: UnixStream) -> Self {
        let (traffic, arrivals) = (Arc::default(), Arc::default());
        Self { socket: Socket::Unix(socket), endpoint: Endpoint::Own, traffic, arrivals }
    }

    /// When bytes come over it.
    pub(crate) fn arrivals(&self) -> Arc<Arrivals> {
        Arc::clone(&self.arrivals)
    }

    /// What the socket really is; what goes over it may be encrypted later.
    ///
    /// # Errors
    /// When the other side is gone already.
    pub(crate) fn transport(&self) -> io::Result<Transport> {
        match &self.socket {
            Socket::Tcp(socket) => proven(socket, &self.endpoint, None),
            Socket::Unix(socket) => proven(socket, &self.endpoint, None),
        }
    }

    fn sent(&self, done: io::Result<usize>) -> io::Result<usize> {
        if let Ok(bytes) = done {
            self.traffic.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        done
    }
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
        if bytes > 0 {
            self.arrivals.came(MonotonicClock.now_ns());
            self.traffic.received.fetch_add(bytes as u64, Ordering::Relaxed);
        }
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
