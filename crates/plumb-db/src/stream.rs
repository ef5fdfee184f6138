//! The socket under the driver: what it carries is counted, and when an answer came is noted, before the
//! driver has read it.

use std::io::{self, IoSlice};
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Endpoint, proven};
use plumb_measure::{Clock as _, Transport, Transports};
use plumb_serve::ClientSocket;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::alone::Alone;
use crate::rest::Rest;
use plumb_serve::{Arrivals, StampedCalls};

/// Bytes over all connections of a load, and what these really used.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    transports: Mutex<Transports>,
    /// One call in so many of each connection is taken apart by time stamps of the kernel.
    stamps: Option<NonZeroU32>,
    /// The thread that a connection has to itself.
    alone: Option<Arc<Rest>>,
}

impl Traffic {
    /// That of a load which has one call in so many of each connection stamped.
    pub(crate) fn stamped(stamps: Option<NonZeroU32>) -> Self {
        Self { stamps, ..Self::default() }
    }

    /// That of a load with one connection, which has its thread to itself, unless it is to be stamped.
    pub(crate) fn alone(self, rest: &Arc<Rest>) -> Self {
        let alone = self.stamps.is_none().then(|| Arc::clone(rest));
        Self { alone, ..self }
    }

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

/// A connected socket whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: ClientSocket,
    endpoint: Endpoint,
    traffic: Arc<Traffic>,
    arrivals: Arc<Arrivals>,
    alone: Option<Alone>,
}

impl Wire {
    /// Connects to `endpoint`.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) async fn connect(endpoint: &Endpoint, traffic: Arc<Traffic>) -> io::Result<Self> {
        let socket = ClientSocket::connect(endpoint).await?;
        let arrivals = Arc::new(Arrivals::of(&socket, traffic.stamps)?);
        let alone = match &traffic.alone {
            Some(rest) => Alone::of(&socket, rest)?,
            None => None,
        };
        Ok(Self { socket, endpoint: endpoint.clone(), traffic, arrivals, alone })
    }

    /// One end of a pair of sockets.
    pub(crate) fn of_pair(socket: UnixStream) -> Self {
        let (traffic, arrivals) = (Arc::default(), Arc::default());
        let (socket, endpoint) = (ClientSocket::Unix(socket), Endpoint::Own);
        Self { socket, endpoint, traffic, arrivals, alone: None }
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
            ClientSocket::Tcp(socket) => proven(socket, &self.endpoint, None),
            ClientSocket::Unix(socket) => proven(socket, &self.endpoint, None),
        }
    }

    /// What `call` does with the stamps, where packets are stamped.
    fn poll_stamped<T>(
        &self,
        call: impl FnOnce(&mut StampedCalls, &TcpStream) -> Poll<T>,
    ) -> Option<Poll<T>> {
        match &self.socket {
            ClientSocket::Tcp(plumb_serve::Socket::Tcp(stream)) => {
                Some(call(&mut *self.arrivals.stamped()?, stream))
            }
            ClientSocket::Tcp(plumb_serve::Socket::Smc(_)) | ClientSocket::Unix(_) => None,
        }
    }

    /// As `poll_read`, of a connection that shares its thread with others.
    fn poll_shared(
        &mut self,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.poll_stamped(|it, stream| it.poll_read(stream, context, into)) {
            Some(done) => done,
            None => match &mut self.socket {
                ClientSocket::Tcp(socket) => Pin::new(socket).poll_read(context, into),
                ClientSocket::Unix(socket) => Pin::new(socket).poll_read(context, into),
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

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        let done = match &mut this.alone {
            Some(alone) => alone.poll_read(&this.socket, &this.arrivals, context, into),
            None => this.poll_shared(context, into),
        };
        let bytes = into.filled().len() - before;
        if bytes > 0 {
            this.arrivals.came(MonotonicClock.now_ns());
            this.traffic.received.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        done
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if let Some(alone) = &mut this.alone {
            // one piece after the other: nobody hands over several
            let first = slices.iter().find(|it| !it.is_empty()).map_or(&[][..], |it| it);
            let done = ready!(alone.poll_write(&this.socket, &this.arrivals, context, first));
            return Poll::Ready(this.sent(done));
        }
        let stamped = this.poll_stamped(|it, stream| it.poll_write(stream, context, slices));
        let done = ready!(match stamped {
            Some(done) => done,
            None => match &mut this.socket {
                ClientSocket::Tcp(socket) => Pin::new(socket).poll_write_vectored(context, slices),
                ClientSocket::Unix(socket) => Pin::new(socket).poll_write_vectored(context, slices),
            },
        });
        Poll::Ready(this.sent(done))
    }

    fn is_write_vectored(&self) -> bool {
        self.alone.is_none()
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            ClientSocket::Tcp(socket) => Pin::new(socket).poll_shutdown(context),
            ClientSocket::Unix(socket) => Pin::new(socket).poll_shutdown(context),
        }
    }
}

/// Waits for bytes behind those that have come so far, and says when that was seen.
#[cfg(test)]
pub(crate) async fn more(arrivals: &Arrivals) -> u64 {
    let before_ns = arrivals.last_ns();
    while arrivals.last_ns() == before_ns {
        tokio::task::yield_now().await;
    }
    plumb_measure::Clock::now_ns(&plumb_engine::clock::MonotonicClock)
}
