//! Taking connections, and letting them go.

use std::convert::Infallible;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use plumb_engine::Cidr;
use plumb_measure::{ByteSize, Span};
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;

use crate::Counters;
use crate::accept::{Caller, FULL, Taker, stopped};
use crate::heard::{Heard, Listening};

/// A client that is told of its mistake has this long, and this many bytes, to stop sending: a
/// socket that is closed with bytes unread takes the answer with it.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 1 << 20;
/// What is served behind the acceptor.
pub trait HttpService: Send + Sync + 'static {
    /// The answer to one request.
    fn answer(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;

    /// Who may come in, how many, and how long they may take.
    fn limits(&self) -> &ConnectionLimits;

    /// What was seen at the acceptor.
    fn counters(&self) -> &Counters;

    /// Writes `event` to the log.
    fn tell(&self, event: String);
}

/// Who may come in, how many, and how long they may take.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// Who may connect; empty: everybody who can reach an address.
    pub allow: Vec<Cidr>,
    /// Connections at once; one more is answered with 503 and closed.
    pub connections: usize,
    /// Bytes of a request line with its headers.
    pub header_size: ByteSize,
    /// A connection without a complete request head for this long is closed.
    pub keep_alive: Span,
    /// A handshake must be complete, and an answer be taken, within this.
    pub stall: Span,
}

/// Where connections come in.
pub(crate) struct Acceptor<S> {
    pub(crate) site: Arc<S>,
    pub(crate) tls: Option<TlsAcceptor>,
    /// True once the server is to stop.
    pub(crate) stop: watch::Receiver<bool>,
    /// Held by every connection, so that the server knows when the last one is gone.
    pub(crate) present: mpsc::Sender<()>,
}

// derived, it would ask a site to be cloned
impl<S> Clone for Acceptor<S> {
    fn clone(&self) -> Self {
        Self {
            site: Arc::clone(&self.site),
            tls: self.tls.clone(),
            stop: self.stop.clone(),
            present: self.present.clone(),
        }
    }
}

impl<S: HttpService> Taker for Acceptor<S> {
    fn take(&self, caller: Caller) {
        match caller {
            Caller::Tcp(stream, from) => self.take_tcp(stream, from.ip()),
            Caller::Unix(stream) => {
                if self.enter(&stream) {
                    tokio::spawn(Present { acceptor: self.clone() }.converse(stream));
                }
            }
        }
    }

    fn tell(&self, event: String) {
        self.site.tell(event);
    }
}

impl<S: HttpService> Acceptor<S> {
    fn take_tcp(&self, stream: TcpStream, from: IpAddr) {
        let limits = self.site.limits();
        if !limits.allow.is_empty() && !limits.allow.iter().any(|block| block.contains(from)) {
            self.site.counters().not_allowed();
            return;
        }
        if !self.enter(&stream) {
            return;
        }
        let present = Present { acceptor: self.clone() };
        let stall_ms = u32::try_from(limits.stall.ns() / 1_000_000).unwrap_or(u32::MAX);
        // who takes no bytes for that long is gone; a kernel without this waits longer
        let _ = sockopt::set_tcp_user_timeout(&stream, stall_ms);
        let _ = stream.set_nodelay(true);
        tokio::spawn(present.converse(stream));
    }

    /// Counts a connection in, or turns it away.
    fn enter(&self, stream: &impl AsFd) -> bool {
        let (counters, limit) = (self.site.counters(), self.site.limits().connections);
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
struct Present<S: HttpService> {
    acceptor: Acceptor<S>,
}

impl<S: HttpService> Drop for Present<S> {
    fn drop(&mut self) {
        self.acceptor.site.counters().connections.leave();
    }
}

impl<P: HttpService> Present<P> {
    async fn converse<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Some(tls) = &self.acceptor.tls else { return self.speak(stream).await };
        let patience = Duration::from_nanos(self.acceptor.site.limits().stall.ns());
        match tokio::time::timeout(patience, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.speak(stream).await,
            Ok(Err(_)) => self.acceptor.site.counters().malformed(),
            Err(_) => self.acceptor.site.counters().slow(),
        }
    }

    async fn speak<S>(&self, mut stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let heard = Heard::default();
        let ended = self.serve(Listening { stream: &mut stream, heard: &heard }, &heard).await;
        let Err(error) = ended else { return };
        let counters = self.acceptor.site.counters();
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
        let site = &self.acceptor.site;
        let limits = site.limits();
        let head = usize::try_from(limits.header_size.bytes()).unwrap_or(usize::MAX);
        let service = service_fn(|request| async {
            let answer = site.answer(request).await;
            heard.answered();
            Ok::<_, Infallible>(answer)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_nanos(limits.keep_alive.ns()))
            .max_buf_size(head)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let mut stop = self.acceptor.stop.clone();
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
