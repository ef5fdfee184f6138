//! Taking connections, and letting them go.

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::error::Error as _;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;

use crate::accept::{Caller, FULL, Taker, stopped};
use crate::heard::{Heard, Listening, Stream};
use crate::host;
use crate::reserve::{Entered, Reserve};
use crate::service::{ConnectionLimits, Site};
use crate::socket::Socket;
use crate::stamping::Stamping;
use crate::taken::Taken;
use crate::{Body, Peer};

/// A client that is told of its mistake has this long, and this many bytes, to stop sending: a
/// socket that is closed with bytes unread takes the answer with it.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 1 << 20;
/// Connections beyond the limit at once, for requests that are [urgent](HttpService::is_urgent).
const RESERVE: usize = 8;
/// One of those without a request for this long is closed.
const RESERVE_PATIENCE: Duration = Duration::from_secs(5);

/// What is answered to whoever begins with the preface of HTTP/2, which hyper leaves without an answer.
///
/// # Source
/// RFC 9110, section 15.6.6.
const ONLY_HTTP1: &[u8] = b"HTTP/1.1 505 HTTP Version Not Supported\r\nContent-Length: 0\r\n\
    Connection: close\r\n\r\n";

/// Connections so far, at all addresses of this process.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// Where connections come in.
#[derive(Clone)]
pub(crate) struct Acceptor {
    pub(crate) site: Arc<dyn Site>,
    pub(crate) tls: Option<TlsAcceptor>,
    /// True once the server is to stop.
    pub(crate) stop: watch::Receiver<bool>,
    /// Held by every connection, so that the server knows when the last one is gone.
    _present: mpsc::Sender<()>,
    reserve: Arc<Reserve>,
    /// Of a connection in the reserve.
    reserve_patience: Duration,
}

impl Taker for Acceptor {
    fn take(&self, caller: Caller) {
        match caller {
            Caller::Tcp(stream, from) => self.take_tcp(stream, from.ip()),
            Caller::Unix(stream) => self.admit(stream, None),
        }
    }

    fn tell(&self, event: String) {
        self.site.tell(event);
    }
}

impl Acceptor {
    pub(crate) fn new(
        site: Arc<dyn Site>,
        tls: Option<TlsAcceptor>,
        stop: watch::Receiver<bool>,
        present: mpsc::Sender<()>,
    ) -> Self {
        let reserve = Arc::new(Reserve::new(RESERVE));
        let reserve_patience = RESERVE_PATIENCE;
        Self { site, tls, stop, _present: present, reserve, reserve_patience }
    }

    fn take_tcp(&self, stream: Socket, from: IpAddr) {
        let limits = self.site.limits();
        if !limits.allow.is_empty() && !limits.allow.iter().any(|block| block.contains(from)) {
            self.site.counters().not_allowed();
            return;
        }
        let stall_ms = u32::try_from(limits.stall.ns() / 1_000_000).unwrap_or(u32::MAX);
        // who acknowledges nothing for that long is gone; a kernel without this waits longer
        let _ = sockopt::set_tcp_user_timeout(&stream, stall_ms);
        let _ = sockopt::set_tcp_nodelay(&stream, true);
        self.admit(stream, Some(from));
    }

    /// Counts a connection in, gives it a place in the reserve, or turns it away.
    fn admit<T>(&self, stream: T, address: Option<IpAddr>)
    where
        T: Stream + AsFd + 'static,
    {
        let (counters, limit) = (self.site.counters(), self.site.limits().connections);
        counters.accepted();
        let connection = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        let peer = Peer { address, tls: self.tls.is_some(), connection };
        if counters.connections.enter(limit as u64) {
            tokio::spawn(Present { acceptor: self.clone(), peer }.converse(stream));
        } else if let Some(entered) = self.reserve.enter() {
            tokio::spawn(beyond_the_limit(self.clone(), peer, entered, stream));
        } else {
            counters.refused();
            // a full socket buffer is no reason to wait for somebody who is turned away
            let _ = rustix::io::write(stream, FULL);
        }
    }
}

/// Hears a connection beyond the limit until another one needs its place: one request, which is
/// answered when it is urgent.
async fn beyond_the_limit<T>(acceptor: Acceptor, peer: Peer, entered: Entered, mut stream: T)
where
    T: Stream + 'static,
{
    let Entered { number, begun, mut told } = entered;
    let reserve = Arc::clone(&acceptor.reserve);
    let _place = reserve.hold(number);
    let heard = async {
        match &acceptor.tls {
            None => acceptor.hear_once(peer, &mut stream, &begun).await,
            Some(tls) => match tls.accept(&mut stream).await {
                Ok(mut stream) => acceptor.hear_once(peer, &mut stream, &begun).await,
                Err(_) => acceptor.site.counters().malformed(),
            },
        }
    };
    let needed = async {
        let late = tokio::time::timeout(acceptor.reserve_patience, &mut told).await.is_err();
        if late && begun.load(Ordering::Relaxed) {
            let _ = told.await; // whoever tells may be gone
        }
    };
    tokio::select! {
        // what has come is heard before anybody is sent away
        biased;
        () = heard => farewell(&mut stream).await,
        // a request that was begun may be done, so that nobody is told that it was refused; and
        // nothing may follow an answer that is on its way
        () = needed => if !begun.load(Ordering::Relaxed) {
            acceptor.site.counters().refused();
            if acceptor.tls.is_none() {
                // whoever is gone hears nothing
                let _ = stream.write_all(FULL).await;
            }
        }
    }
}

impl Acceptor {
    /// Answers one request of `stream`, or refuses it; from its head on it is `begun`.
    async fn hear_once(&self, peer: Peer, stream: &mut dyn Stream, begun: &AtomicBool) {
        let site = &self.site;
        let service = service_fn(|request| async {
            begun.store(true, Ordering::Relaxed);
            let answer = if site.is_urgent(&request) {
                self.checked(request, peer).await
            } else {
                site.counters().refused();
                no_room()
            };
            Ok::<_, Infallible>(answer)
        });
        let (heard, stamping) = (Heard::default(), Stamping::new(false));
        let taken = Taken::new(self.stall());
        let stream = Listening { stream, heard: &heard, stamping: &stamping, taken };
        let ended = http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(false)
            .header_read_timeout(self.reserve_patience)
            .max_buf_size(head_size(site.limits()))
            .serve_connection(TokioIo::new(stream), service)
            .await;
        match ended {
            Err(error) if is_not_taken(&error) => site.counters().slow(),
            Err(_) if !begun.load(Ordering::Relaxed) => site.counters().refused(),
            _ => {}
        }
    }

    fn stall(&self) -> Duration {
        Duration::from_nanos(self.site.limits().stall.ns())
    }

    /// The answer to a request, once it is known whom it is for.
    async fn checked(&self, request: Request<Incoming>, peer: Peer) -> Response<Body> {
        match host::check(request.version(), request.headers()) {
            Ok(()) => self.site.answer(request, peer).await,
            Err(wrong) => {
                self.site.counters().malformed();
                refusal(StatusCode::BAD_REQUEST, format!("{wrong}\n"))
            }
        }
    }
}

fn head_size(limits: &ConnectionLimits) -> usize {
    usize::try_from(limits.header_size.bytes()).unwrap_or(usize::MAX)
}

/// What a request is told for which there is no connection.
fn no_room() -> Response<Body> {
    let text = "as many connections are open as may (front.connections)\n";
    let mut answer = refusal(StatusCode::SERVICE_UNAVAILABLE, text.into());
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

fn refusal(status: StatusCode, text: String) -> Response<Body> {
    let mut answer = Response::new(Body::whole(Bytes::from(text)));
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, plain);
    answer
}

/// A connection that is counted until it is dropped.
struct Present {
    acceptor: Acceptor,
    peer: Peer,
}

impl Drop for Present {
    fn drop(&mut self) {
        self.acceptor.site.left(self.peer.connection);
        self.acceptor.site.counters().connections.leave();
    }
}

impl Present {
    async fn converse(self, mut stream: impl Stream + 'static) {
        let Some(tls) = &self.acceptor.tls else { return self.speak(&mut stream).await };
        match tokio::time::timeout(self.acceptor.stall(), tls.accept(stream)).await {
            Ok(Ok(mut stream)) => self.speak(&mut stream).await,
            Ok(Err(_)) => self.acceptor.site.counters().malformed(),
            Err(_) => self.acceptor.site.counters().slow(),
        }
    }

    async fn speak(&self, stream: &mut dyn Stream) {
        let (heard, stamping) = (Heard::default(), Stamping::new(stream.tcp().is_some()));
        let taken = Taken::new(self.acceptor.stall());
        let listening = Listening { stream, heard: &heard, stamping: &stamping, taken };
        let ended = self.serve(listening, &heard, &stamping).await;
        let Err(error) = ended else { return };
        let counters = self.acceptor.site.counters();
        if is_not_taken(&error) {
            // and would not take a farewell either
            counters.slow();
            return;
        }
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
        if error.is_parse_version_h2() {
            // whoever is gone hears nothing
            let _ = tokio::time::timeout(LINGER, stream.write_all(ONLY_HTTP1)).await;
        }
        farewell(stream).await;
    }

    async fn serve(
        &self,
        stream: Listening<'_>,
        heard: &Heard,
        stamping: &Stamping,
    ) -> Result<(), hyper::Error> {
        let limits = self.acceptor.site.limits();
        let service = service_fn(|mut request: Request<Incoming>| async {
            let asked = stamping.asked(request.headers_mut());
            let mut answer = self.acceptor.checked(request, self.peer).await;
            heard.answered();
            stamping.answer(asked, answer.headers_mut());
            Ok::<_, Infallible>(answer)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_nanos(limits.keep_alive.ns()))
            .max_buf_size(head_size(limits))
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let mut stop = self.acceptor.stop.clone();
        tokio::select! {
            biased; // a stop comes once, and nobody needs to draw lots for it with every request
            ended = connection.as_mut() => ended,
            () = stopped(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    }
}

/// True where a client has not taken its answer in time.
fn is_not_taken(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
}

/// Tells a client of its mistake that the server is done, and for a time takes what still comes
/// and throws it away.
async fn farewell(mut stream: &mut dyn Stream) {
    // whoever is gone hears nothing
    let _ = stream.shutdown().await;
    let (mut stream, mut nowhere) = ((&mut stream).take(LINGER_BYTES), tokio::io::sink());
    let _ = tokio::time::timeout(LINGER, tokio::io::copy(&mut stream, &mut nowhere)).await;
}
