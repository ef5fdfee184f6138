//! Taking connections until the server stops.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::time::Duration;

use plumb_engine::{Endpoint, Listener};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::socket::{SmcStream, Socket};

/// Without descriptors, how long until the next try.
const BREATH: Duration = Duration::from_millis(100);
/// What a connection too many is told.
pub const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
    Content-Length: 0\r\nConnection: close\r\n\r\n";

/// A connection that was accepted.
#[derive(Debug)]
pub enum Caller {
    /// Over TCP or SMC, from this address.
    Tcp(Socket, SocketAddr),
    /// Over a socket file.
    Unix(UnixStream),
}

/// Whoever takes connections. It must not wait.
pub trait Taker: Clone + Send + Sync + 'static {
    /// Serves `caller` from now on, or turns it away.
    fn take(&self, caller: Caller);

    /// Writes `event` to the log.
    fn tell(&self, event: String);
}

/// Hands the connections of all `listeners` to `taker` until `stop` is true.
///
/// # Errors
/// When the kernel does not let it wait for connections; then none is taken any more.
pub async fn take_all(
    listeners: Vec<Listener>,
    stop: &watch::Receiver<bool>,
    taker: &impl Taker,
) -> io::Result<()> {
    let mut acceptor = JoinSet::new();
    for listener in listeners {
        acceptor.spawn(take_from(listener, stop.clone(), taker.clone()));
    }
    while let Some(ended) = acceptor.join_next().await {
        ended.unwrap_or(Ok(()))?;
    }
    Ok(())
}

async fn take_from(
    listener: Listener,
    mut stop: watch::Receiver<bool>,
    taker: impl Taker,
) -> io::Result<()> {
    let socket = listener.as_fd().try_clone_to_owned()?;
    let listening = match listener.endpoint() {
        Endpoint::Unix(_) => Listening::Unix(UnixListener::from_std(socket.into())?),
        // connections of SMC are taken as those of TCP are
        Endpoint::Smc(_) => Listening::Smc(TcpListener::from_std(socket.into())?),
        // nobody listens for connections over the last two
        Endpoint::Tcp(_) | Endpoint::Udp(_) | Endpoint::Own => {
            Listening::Tcp(TcpListener::from_std(socket.into())?)
        }
    };
    loop {
        let taken = tokio::select! {
            () = stopped(&mut stop) => return Ok(()),
            taken = listening.accept() => taken,
        };
        match taken {
            Ok(caller) => taker.take(caller),
            Err(error) => {
                taker.tell(format!("cannot take connections for the moment: {error}"));
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// Waits until `stop` is true.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // whoever would say so is gone: that is the same
    let _ = stop.wait_for(|stop| *stop).await;
}

enum Listening {
    Tcp(TcpListener),
    Smc(TcpListener),
    Unix(UnixListener),
}

impl Listening {
    async fn accept(&self) -> io::Result<Caller> {
        Ok(match self {
            Self::Tcp(listening) => {
                let (stream, from) = listening.accept().await?;
                Caller::Tcp(Socket::Tcp(stream), from)
            }
            Self::Smc(listening) => {
                let (stream, from) = listening.accept().await?;
                Caller::Tcp(Socket::Smc(SmcStream::of(stream)), from)
            }
            Self::Unix(listening) => Caller::Unix(listening.accept().await?.0),
        })
    }
}
