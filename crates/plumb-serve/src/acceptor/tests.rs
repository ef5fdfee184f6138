//! Whom the acceptor keeps, whom it lets go, and what it tells them.

use plumb_measure::Span;
use tokio::net::UnixStream;
use tokio::sync::Notify;

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

fn limits(connections: usize, time: Span) -> ConnectionLimits {
    ConnectionLimits {
        allow: Vec::new(),
        connections,
        header_size: kib(16),
        keep_alive: time,
        stall: time,
    }
}

/// An acceptor that answers as [`Large`] does, and what tells when the last connection has ended.
fn large(
    connections: usize,
    time: Span,
) -> (Arc<Large>, Acceptor, watch::Sender<bool>, mpsc::Receiver<()>) {
    let site = Arc::new(Large(limits(connections, time), Counters::default()));
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
fn whoever_begins_with_http2_is_told_that_it_is_not_spoken() {
    let (site, acceptor, _stop, _ended) = large(1, Span::from_ms(10_000));
    let said = run(async {
        let (mut client, stream) = UnixStream::pair().unwrap();
        acceptor.admit(stream, None);
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        client.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
        client.shutdown().await.unwrap();
        let mut said = Vec::new();
        client.read_to_end(&mut said).await.unwrap();
        said
    });
    assert_eq!(said, ONLY_HTTP1);
    assert_eq!(site.1.figures(0).malformed, 1);
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
        crowded(&acceptor);
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        rest
    });
    assert!(rest.len() < 8 << 20 && !rest.ends_with(FULL), "{} bytes", rest.len());
    assert_eq!(site.1.figures(0).refused, 0);
}

/// Others need every place in the reserve, for requests that have begun.
fn crowded(acceptor: &Acceptor) {
    (0..RESERVE).for_each(|_| {
        let other = acceptor.reserve.enter().unwrap();
        other.begun.store(true, Ordering::Relaxed);
    });
}

/// Answers an urgent request when it is let.
struct Held {
    limits: ConnectionLimits,
    counters: Counters,
    /// It has begun.
    begun: Notify,
    /// It may be answered.
    let_go: Notify,
}

/// How long a connection in the reserve of [`Held`] may say nothing.
const SILENCE: Duration = Duration::from_millis(20);

impl HttpService for Held {
    async fn answer(&self, _: Request<Incoming>, _: Peer) -> Response<Body> {
        self.begun.notify_one();
        self.let_go.notified().await;
        Response::new(Body::whole(Bytes::from_static(b"done")))
    }

    fn is_urgent(&self, _: &Request<Incoming>) -> bool {
        true
    }

    fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn tell(&self, _: String) {}
}

/// What comes back of an urgent request beyond the limit, behind whose begin `meanwhile` happens, and the
/// connections that were counted as refused.
fn held(meanwhile: impl AsyncFnOnce(&Held, &Acceptor)) -> (String, u64) {
    let limits = limits(0, Span::from_ms(60_000));
    let (begun, let_go) = (Notify::new(), Notify::new());
    let site = Arc::new(Held { limits, counters: Counters::default(), begun, let_go });
    let (_stop, stopped) = watch::channel(false);
    let (present, _ended) = mpsc::channel(1);
    let served = Arc::<Held>::clone(&site) as Arc<dyn Site>;
    let mut acceptor = Acceptor::new(served, None, stopped, present);
    acceptor.reserve_patience = SILENCE;
    let rest = run(async {
        let (mut client, stream) = UnixStream::pair().unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        acceptor.admit(stream, None);
        site.begun.notified().await;
        meanwhile(&site, &acceptor).await;
        let mut rest = String::new();
        let _ = client.read_to_string(&mut rest).await; // it may be cut off
        rest
    });
    (rest, site.counters.figures(0).refused)
}

#[test]
fn an_answer_beyond_the_limit_may_take_longer_than_silence() {
    let (answer, refused) = held(async |site, acceptor| {
        // the timer of the connection began before this one
        tokio::time::sleep(2 * SILENCE).await;
        let _silent: Vec<_> = (0..2 * RESERVE).map(|_| acceptor.reserve.enter()).collect();
        tokio::time::sleep(SILENCE).await;
        site.let_go.notify_one();
    });
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("done"), "{answer}");
    assert_eq!(refused, 0);
}

#[test]
fn nobody_is_told_that_a_request_was_refused_which_may_be_done() {
    let (answer, refused) = held(async |_, acceptor| crowded(acceptor));
    assert_eq!((&*answer, refused), ("", 0));
}
