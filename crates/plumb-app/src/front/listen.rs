//! Taking connections, and letting them go.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use plumb_engine::{Endpoint, Listener};
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;

use super::Front;
use super::heard::{Heard, Listening};

/// Without descriptors, how long until the next try.
const BREATH: Duration = Duration::from_millis(100);
/// A client that is told of its mistake has this long, and this many bytes, to stop sending: a
/// socket that is closed with bytes unread takes the answer with it.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 1 << 20;
/// What a connection too many is told.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
    Content-Length: 0\r\nConnection: close\r\n\r\n";

/// Where connections come in.
#[derive(Clone)]
pub(crate) struct Doors {
    pub(crate) front: Arc<Front>,
    pub(crate) tls: Option<TlsAcceptor>,
    /// True once the server is to stop.
    pub(crate) stop: watch::Receiver<bool>,
    /// Held by every connection, so that the server knows when the last one is gone.
    #[expect(dead_code, reason = "its end is what is waited for")]
    pub(crate) present: mpsc::Sender<()>,
}

/// Takes connections from `listener` until the server stops.
///
/// # Errors
/// When the kernel does not let it wait for connections.
pub(crate) async fn run(listener: Listener, mut doors: Doors) -> io::Result<()> {
    let socket = listener.as_fd().try_clone_to_owned()?;
    let door = match listener.endpoint() {
        Endpoint::Unix(_) => Door::Unix(UnixListener::from_std(socket.into())?),
        Endpoint::Tcp(_) | Endpoint::Own => Door::Tcp(TcpListener::from_std(socket.into())?),
    };
    loop {
        let taken = tokio::select! {
            () = stopped(&mut doors.stop) => return Ok(()),
            taken = door.accept() => taken,
        };
        match taken {
            Ok(Caller::Tcp(stream, from)) => doors.take_tcp(stream, from.ip()),
            Ok(Caller::Unix(stream)) => {
                if doors.enter(&stream) {
                    tokio::spawn(Present { doors: doors.clone() }.converse(stream));
                }
            }
            Err(error) => {
                let instance = doors.front.instance();
                instance.tell(format!("cannot take connections for the moment: {error}"));
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

enum Door {
    Tcp(TcpListener),
    Unix(UnixListener),
}

enum Caller {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Door {
    async fn accept(&self) -> io::Result<Caller> {
        Ok(match self {
            Self::Tcp(door) => {
                let (stream, from) = door.accept().await?;
                Caller::Tcp(stream, from)
            }
            Self::Unix(door) => Caller::Unix(door.accept().await?.0),
        })
    }
}

/// Waits until the server stops.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // whoever would say so is gone: that is the same
    let _ = stop.wait_for(|stop| *stop).await;
}

impl Doors {
    fn take_tcp(&self, stream: TcpStream, from: IpAddr) {
        let instance = self.front.instance();
        let config = &instance.config;
        if !config.allow.is_empty() && !config.allow.iter().any(|block| block.contains(from)) {
            instance.counters.not_allowed();
            return;
        }
        if !self.enter(&stream) {
            return;
        }
        let present = Present { doors: self.clone() };
        let stall_ms = u32::try_from(config.front.stall.ns() / 1_000_000).unwrap_or(u32::MAX);
        // who takes no bytes for that long is gone; a kernel without this waits longer
        let _ = sockopt::set_tcp_user_timeout(&stream, stall_ms);
        let _ = stream.set_nodelay(true);
        tokio::spawn(present.converse(stream));
    }

    /// Counts a connection in, or turns it away.
    fn enter(&self, stream: &impl AsFd) -> bool {
        let instance = self.front.instance();
        let (counters, limit) = (&instance.counters, instance.config.front.connections);
        counters.accepted();
        let entered = counters.connections.enter(limit as u64);
        if !entered {
            counters.refused();
            // a full socket buffer is no reason to wait for somebody who is turned away
            let _ = rustix::io::write(stream, FULL);
        }
        entered
    }
}

/// A connection that is counted until it is dropped.
struct Present {
    doors: Doors,
}

impl Drop for Present {
    fn drop(&mut self) {
        self.doors.front.instance().counters.connections.leave();
    }
}

impl Present {
    async fn converse<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Some(tls) = &self.doors.tls else { return self.speak(stream).await };
        let patience = Duration::from_nanos(self.doors.front.instance().config.front.stall.ns());
        match tokio::time::timeout(patience, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.speak(stream).await,
            Ok(Err(_)) => self.doors.front.instance().counters.malformed(),
            Err(_) => self.doors.front.instance().counters.slow(),
        }
    }

    async fn speak<S>(&self, mut stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let heard = Heard::default();
        let ended = self.serve(Listening { stream: &mut stream, heard: &heard }, &heard).await;
        let Err(error) = ended else { return };
        let counters = &self.doors.front.instance().counters;
        if error.is_timeout() && !heard.more() {
            counters.idle();
            return;
        }
        if error.is_parse_too_large() {
            counters.oversized();
        } else if error.is_timeout() {
            counters.slow();
        } else if error.is_parse() {
            counters.malformed();
        }
        farewell(stream).await;
    }

    async fn serve<S>(&self, stream: Listening<'_, S>, heard: &Heard) -> Result<(), hyper::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let front = &self.doors.front;
        let limits = &front.instance().config.front;
        let head = usize::try_from(limits.header_size.bytes()).unwrap_or(usize::MAX);
        let service = service_fn(|request| async {
            let answer = front.serve(request).await;
            heard.answered();
            answer
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_nanos(limits.keep_alive.ns()))
            .max_buf_size(head)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let mut stop = self.doors.stop.clone();
        tokio::select! {
            ended = connection.as_mut() => ended,
            () = stopped(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    }
}

/// Tells a client of its mistake that the server is done, and for a time takes what still comes
/// and throws it away.
async fn farewell(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    // whoever is gone hears nothing
    let _ = stream.shutdown().await;
    let (mut stream, mut nowhere) = (stream.take(LINGER_BYTES), tokio::io::sink());
    let _ = tokio::time::timeout(LINGER, tokio::io::copy(&mut stream, &mut nowhere)).await;
}
