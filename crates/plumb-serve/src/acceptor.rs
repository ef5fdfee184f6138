//! Taking connections, and letting them go.

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
use tokio::sync::{mpsc, oneshot, watch};
use tokio_rustls::TlsAcceptor;

use crate::accept::{Caller, FULL, Taker, stopped};
use crate::heard::{Heard, Listening, Stream};
use crate::host;
use crate::reserve::Reserve;
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
        Self { site, tls, stop, _present: present, reserve: Arc::new(Reserve::new(RESERVE)) }
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
        } else if let Some((place, told)) = self.reserve.enter() {
            tokio::spawn(beyond_the_limit(self.clone(), peer, place, told, stream));
        } else {
            counters.refused();
            // a full socket buffer is no reason to wait for somebody who is turned away
            let _ = rustix::io::write(stream, FULL);
        }
    }
}

/// Hears a connection beyond the limit until another one needs its place: one request, which is
/// answered when it is urgent.
async fn beyond_the_limit<T>(
    acceptor: Acceptor,
    peer: Peer,
    place: u64,
    told: oneshot::Receiver<()>,
    mut stream: T,
) where
    T: Stream + 'static,
{
    let reserve = Arc::clone(&acceptor.reserve);
    let _place = reserve.hold(place);
    let answered = AtomicBool::new(false);
    let heard = async {
        match &acceptor.tls {
            None => acceptor.hear_once(peer, &mut stream, &answered).await,
            Some(tls) => match tls.accept(&mut stream).await {
                Ok(mut stream) => acceptor.hear_once(peer, &mut stream, &answered).await,
                Err(_) => acceptor.site.counters().malformed(),
            },
        }
    };
    tokio::select! {
        () = heard => farewell(&mut stream).await,
        // of an answer that is on its way the rest is cut off: nothing may follow it
        _ = tokio::time::timeout(RESERVE_PATIENCE, told) => if !answered.load(Ordering::Relaxed) {
            acceptor.site.counters().refused();
            if acceptor.tls.is_none() {
                // whoever is gone hears nothing
                let _ = stream.write_all(FULL).await;
            }
        }
    }
}

impl Acceptor {
    /// Answers one request of `stream`, or refuses it; from then on it is `answered`.
    async fn hear_once(&self, peer: Peer, stream: &mut dyn Stream, answered: &AtomicBool) {
        let site = &self.site;
        let service = service_fn(|request| async {
            let answer = if site.is_urgent(&request) {
                self.checked(request, peer).await
            } else {
                site.counters().refused();
                no_room()
            };
            answered.store(true, Ordering::Relaxed);
            Ok::<_, Infallible>(answer)
        });
        let heard = http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(false)
            .header_read_timeout(RESERVE_PATIENCE)
            .max_buf_size(head_size(site.limits()))
            .serve_connection(TokioIo::new(stream), service)
            .await;
        if heard.is_err() {
            site.counters().refused();
        }
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
        match tokio::time::timeout(self.stall(), tls.accept(stream)).await {
            Ok(Ok(mut stream)) => self.speak(&mut stream).await,
            Ok(Err(_)) => self.acceptor.site.counters().malformed(),
            Err(_) => self.acceptor.site.counters().slow(),
        }
    }

    fn stall(&self) -> Duration {
        Duration::from_nanos(self.acceptor.site.limits().stall.ns())
    }

    async fn speak(&self, stream: &mut dyn Stream) {
        let (heard, stamping) = (Heard::default(), Stamping::new(stream.tcp().is_some()));
        let taken = Taken::new(self.stall());
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

#[cfg(test)]
mod tests {
    use plumb_measure::Span;
    use tokio::net::UnixStream;

    use super::*;
    use crate::Counters;
    use crate::service::HttpService;
    use crate::settings::kib;

    /// Answers urgent requests with more than any buffer holds.
    struct Large(ConnectionLimits, Counters);

    impl HttpService for Large {
        async fn answer(&self, _: Request<Incoming>, _: Peer) -> Response<Body> {
            Response::new(Body::whole(Bytes::from(vec![b'x'; 8 << 20])))
        }

        fn is_urgent(&self, _: &Request<Incoming>) -> bool {
            true
        }

        fn limits(&self) -> &ConnectionLimits {
            &self.0
        }

        fn counters(&self) -> &Counters {
            &self.1
        }

        fn tell(&self, _: String) {}
    }

    /// An acceptor that answers as [`Large`] does, and what tells when the last connection has ended.
    fn large(
        connections: usize,
        time: Span,
    ) -> (Arc<Large>, Acceptor, watch::Sender<bool>, mpsc::Receiver<()>) {
        let limits = ConnectionLimits {
            allow: Vec::new(),
            connections,
            header_size: kib(16),
            keep_alive: time,
            stall: time,
        };
        let site = Arc::new(Large(limits, Counters::default()));
        let (stop, stopped) = watch::channel(false);
        let (present, ended) = mpsc::channel(1);
        let served = Arc::<Large>::clone(&site) as Arc<dyn Site>;
        (site, Acceptor::new(served, None, stopped, present), stop, ended)
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(work)
    }

    #[test]
    fn whoever_does_not_take_an_answer_is_cut_off() {
        let (site, acceptor, _stop, mut ended) = large(1, Span::from_ms(20));
        let rest = run(async {
            let (mut client, stream) = UnixStream::pair().unwrap();
            acceptor.admit(stream, None);
            drop(acceptor);
            client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
            // nothing is read until the connection is gone
            let gone = tokio::time::timeout(Duration::from_secs(60), ended.recv()).await;
            assert_eq!(gone, Ok(None), "it is held for a client that takes nothing");
            let mut rest = Vec::new();
            client.read_to_end(&mut rest).await.unwrap();
            rest
        });
        assert!(rest.starts_with(b"HTTP/1.1 200 OK") && rest.len() < 8 << 20, "{}", rest.len());
        assert_eq!(site.1.figures(0).slow, 1);
    }

    #[test]
    fn whoever_takes_an_answer_is_asked_for_the_next() {
        let (site, acceptor, _stop, _ended) = large(1, Span::from_ms(60_000));
        run(async {
            let (mut client, stream) = UnixStream::pair().unwrap();
            acceptor.admit(stream, None);
            for _ in 0..2 {
                client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
                let mut answer = vec![0; 8 << 20];
                client.read_exact(&mut answer).await.unwrap();
                let head = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
                client.read_exact(&mut answer[..head]).await.unwrap();
            }
        });
        assert_eq!(site.1.figures(0).slow, 0);
    }

    #[test]
    fn nothing_follows_an_answer_that_is_cut_off() {
        let (site, acceptor, _stop, _ended) = large(0, Span::from_ms(10_000));
        let rest = run(async {
            let (mut client, stream) = UnixStream::pair().unwrap();
            acceptor.admit(stream, None);
            client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
            client.read_exact(&mut [0; 64]).await.unwrap();
            let _others: Vec<_> = (0..RESERVE).map(|_| acceptor.reserve.enter()).collect();
            let mut rest = Vec::new();
            client.read_to_end(&mut rest).await.unwrap();
            rest
        });
        assert!(rest.len() < 8 << 20 && !rest.ends_with(FULL), "{} bytes", rest.len());
        assert_eq!(site.1.figures(0).refused, 0);
    }
}
