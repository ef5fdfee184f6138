//! Taking connections, and letting them go.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use plumb_engine::Cidr;
use plumb_serve::accept::{Caller, FULL, Taker, stopped};
use plumb_serve::{BoxedStream, Socket};
use rustix::net::sockopt;
use tokio::sync::{Semaphore, mpsc, watch};

use super::handler::{ConnectionHandler, ProxyState};
use super::present::Present;
use super::upstream::{HEAD_BYTES_MAX, HEAD_LINES_MAX};

/// Requests that a client of HTTP/2 may have under way on a connection.
const STREAMS_MAX: u32 = 100;

/// Where connections come in.
#[derive(Clone, Debug)]
pub(crate) struct Acceptor {
    pub(crate) state: Arc<ProxyState>,
    /// Who may connect; everybody when it is empty.
    pub(crate) allow: Arc<[Cidr]>,
    pub(crate) places: Arc<Semaphore>,
    /// True once the proxy is to stop.
    pub(crate) stop: watch::Receiver<bool>,
    /// Held by every connection, so that the proxy knows when the last one is gone.
    pub(crate) present: mpsc::Sender<()>,
}

impl Taker for Acceptor {
    fn take(&self, caller: Caller) {
        // a proxy listens on no socket file
        if let Caller::Tcp(stream, from) = caller {
            self.take_tcp(stream, from.ip());
        }
    }

    fn tell(&self, event: String) {
        self.state.ledger.tell(event);
    }
}

impl Acceptor {
    fn take_tcp(&self, stream: Socket, from: IpAddr) {
        if !self.allow.is_empty() && !self.allow.iter().any(|block| block.contains(from)) {
            self.state.ledger.tell(format!("{from} may not connect"));
            return;
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.state.ledger.tell("a client was turned away: as many are served as may");
            // a full socket buffer is no reason to wait for somebody who is turned away
            let _ = rustix::io::write(&stream, FULL);
            return;
        };
        // a peer that vanished gives its place back after a while
        let _ = sockopt::set_socket_keepalive(&stream, true);
        let _ = sockopt::set_tcp_nodelay(&stream, true);
        let present = Arc::new(Present::new(place, self.present.clone()));
        let handler = ConnectionHandler::new(Arc::clone(&self.state), present, self.stop.clone());
        tokio::spawn(converse(Arc::new(handler), Box::new(stream)));
    }
}

/// Serves one connection to its end.
pub(crate) async fn converse(handler: Arc<ConnectionHandler>, stream: BoxedStream) {
    let (ledger, mut stop) = (handler.state.ledger.clone(), handler.stop.clone());
    let patience = handler.state.patience();
    let service = service_fn(move |request| Arc::clone(&handler).serve(request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEAD_LINES_MAX)
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended
        && error.is_parse()
    {
        ledger.tell(format!("a client sent what is no request of HTTP/1.1: {error}"));
    }
}

/// Serves a connection of HTTP/2 to its end. One on which nothing is asked for as long as anything may
/// stand still is closed behind what is under way.
pub(crate) async fn converse_in_http2(handler: Arc<ConnectionHandler>, stream: BoxedStream) {
    let (mut stop, patience) = (handler.stop.clone(), handler.state.patience());
    let asked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&asked);
    let service = service_fn(move |request| {
        counted.fetch_add(1, Ordering::Relaxed);
        Arc::clone(&handler).serve(request)
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX))
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut so_far = 0;
    loop {
        tokio::select! {
            // whichever side breaks it off: what was under way is recorded as broken off
            _ = connection.as_mut() => return,
            () = stopped(&mut stop) => break,
            () = tokio::time::sleep(patience) => {
                let now = asked.load(Ordering::Relaxed);
                if now == so_far {
                    break;
                }
                so_far = now;
            }
        }
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
