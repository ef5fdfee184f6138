//! A site that is served: threads, listeners, and the way they end.

use std::sync::Arc;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Listener, Stop};
use plumb_measure::{Clock as _, Span};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;

use crate::ServeError;
use crate::accept::take_all;
use crate::acceptor::Acceptor;
use crate::service::{HttpService, Site};

/// What is left when nothing is left of the farewell has this long to end.
const LAST_MOMENT: Duration = Duration::from_millis(500);
/// The period of a timer that is there for the sake of others, at least.
const SHORTEST: Duration = Duration::from_millis(100);

/// A site with everything that serving it needs.
pub struct HttpServer {
    site: Arc<dyn Site>,
    tls: Option<TlsAcceptor>,
    runtime: Runtime,
    farewell: Duration,
}

impl std::fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpServer").field("farewell", &self.farewell).finish_non_exhaustive()
    }
}

impl HttpServer {
    /// A server of `site` on `threads` threads. Connections that are under way when it is told to
    /// stop have `farewell` to finish.
    ///
    /// # Errors
    /// [`ServeError::System`] when the threads cannot be started.
    pub fn new(
        site: impl HttpService,
        tls: Option<TlsAcceptor>,
        threads: usize,
        farewell: Span,
    ) -> Result<Self, ServeError> {
        let mut builder = match threads {
            1 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        if threads > 1 {
            builder.worker_threads(threads);
        }
        let started = builder.enable_all().build();
        let runtime = started.map_err(|cause| ServeError::System {
            what: "start the threads of the front",
            cause,
        })?;
        let farewell = Duration::from_nanos(farewell.ns());
        Ok(Self { site: Arc::new(site), tls, runtime, farewell })
    }

    /// Serves connections from `listeners` until `stop` is asked, and asks it when no more can be
    /// taken. What is left of the farewell once the last connection has gone; nothing, when some
    /// had to be cut. Work that blocks a thread of its own has that time, too: what takes longer is
    /// left behind, and ends with the program.
    ///
    /// # Errors
    /// [`ServeError::System`] when the kernel does not let it wait for connections.
    pub fn run(self, listeners: Vec<Listener>, stop: &Stop) -> Result<Span, ServeError> {
        let (tell_stop, stopped) = watch::channel(false);
        let (present, mut everybody) = mpsc::channel(1);
        let (site, farewell) = (Arc::clone(&self.site), self.farewell);
        let acceptor = Acceptor::new(self.site, self.tls, stopped, present);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                // a kernel that refuses to wait ends the server, as if asked
                let _ = stop.wait_until(u64::MAX);
                let _ = tell_stop.send(true);
            });
            let (served, left) = self.runtime.block_on(async {
                tokio::spawn(first_timer(site.limits().keep_alive));
                site.begin();
                let served = take_all(listeners, &acceptor.stop, &acceptor).await;
                drop(acceptor);
                if served.is_err() {
                    stop.ask();
                }
                let began_ns = MonotonicClock.now_ns();
                let left = move || {
                    let gone_ns = MonotonicClock.now_ns() - began_ns;
                    farewell.saturating_sub(Duration::from_nanos(gone_ns))
                };
                // nobody ever sends: it ends when the last connection is gone
                if tokio::time::timeout(farewell, everybody.recv()).await.is_err() {
                    site.tell("connections under way were cut after front.farewell".into());
                }
                (served, left)
            });
            stop.ask();
            // with it go the last connections, which hold the site
            self.runtime.shutdown_timeout(left().max(LAST_MOMENT));
            let left = Span::from_ns(u64::try_from(left().as_nanos()).unwrap_or(u64::MAX));
            let what = "wait for connections";
            served.map(|()| left).map_err(|cause| ServeError::System { what, cause })
        })
    }
}

/// A timer that is due before those of all connections, as long as the runtime lives.
///
/// A connection has a timer while its next request is waited for. One that is due before all others
/// makes the runtime write to its own event descriptor, so that it waits no longer than that: where
/// every connection waits for an answer, there are no others, and each request costs that write, and a
/// wait that ends for nothing.
async fn first_timer(keep_alive: Span) {
    let period = Duration::from_nanos(keep_alive.ns() / 2).max(SHORTEST);
    loop {
        tokio::time::sleep(period).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use hyper::body::Incoming;
    use hyper::{Request, Response};
    use plumb_engine::Endpoint;

    use super::*;
    use crate::service::ConnectionLimits;
    use crate::settings::kib;
    use crate::{Body, Counters, Peer};

    /// Answers once somebody else has an end, which a thread of its own waits for.
    struct Waits {
        limits: ConnectionLimits,
        counters: Counters,
        begun: Sender<()>,
        end: Arc<Mutex<Receiver<()>>>,
    }

    impl HttpService for Waits {
        async fn answer(&self, _: Request<Incoming>, _: Peer) -> Response<Body> {
            let (begun, end) = (self.begun.clone(), Arc::clone(&self.end));
            let work = move || {
                begun.send(()).unwrap();
                end.lock().unwrap().recv().is_ok()
            };
            let done = tokio::task::spawn_blocking(work).await;
            Response::new(Body::whole(format!("{done:?}").into()))
        }

        fn is_urgent(&self, _: &Request<Incoming>) -> bool {
            false
        }

        fn limits(&self) -> &ConnectionLimits {
            &self.limits
        }

        fn counters(&self) -> &Counters {
            &self.counters
        }

        fn tell(&self, _: String) {}
    }

    #[test]
    fn work_that_waits_for_somebody_else_does_not_hold_up_the_end() {
        for threads in [1, 2] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("socket");
            let listener = Listener::bind(&Endpoint::Unix(path.clone())).unwrap();
            let (begun, begins) = channel();
            let (ends, end) = channel();
            let minute = Span::from_ms(60_000);
            let site = Waits {
                limits: ConnectionLimits {
                    allow: Vec::new(),
                    connections: 1,
                    header_size: kib(16),
                    keep_alive: minute,
                    stall: minute,
                },
                counters: Counters::default(),
                begun,
                end: Arc::new(Mutex::new(end)),
            };
            let server = HttpServer::new(site, None, threads, Span::from_ms(10)).unwrap();
            let stop = Arc::new(Stop::new().unwrap());
            let stopped = Arc::clone(&stop);
            let (tell, told) = channel();
            std::thread::spawn(move || tell.send(server.run(vec![listener], &stopped)));
            let mut client = UnixStream::connect(path).unwrap();
            client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            begins.recv().unwrap();
            stop.ask();
            let ended = told.recv_timeout(Duration::from_secs(60)).expect("it is not waited for");
            assert_eq!(ended.unwrap(), Span::from_ns(0), "{threads}");
            drop(ends);
        }
    }
}
