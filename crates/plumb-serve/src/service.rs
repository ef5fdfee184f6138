//! What is served behind the acceptor.

use std::pin::Pin;

use hyper::body::Incoming;
use hyper::{Request, Response};
use plumb_engine::Cidr;
use plumb_measure::{ByteSize, Span};

use crate::{Body, Counters, Peer};

/// What is served behind the acceptor.
pub trait HttpService: Send + Sync + 'static {
    /// The runtime has begun, and no connection was taken yet: what is to go on beside them starts here.
    fn begin(&self) {}

    /// The answer to one request, which says once and in the form of a host whom it is for.
    fn answer(
        &self,
        request: Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response<Body>> + Send;

    /// True for a request that is answered on a connection beyond the limit, too: one by which a
    /// server is looked after.
    fn is_urgent(&self, request: &Request<Incoming>) -> bool;

    /// Who may come in, how many, and how long they may take.
    fn limits(&self) -> &ConnectionLimits;

    /// What was seen at the acceptor.
    fn counters(&self) -> &Counters;

    /// Writes `event` to the log.
    fn tell(&self, event: String);

    /// The connection of this number was counted in and has ended.
    fn left(&self, _connection: u64) {}
}

/// Who may come in, how many, and how long they may take.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// Who may connect; empty: everybody who can reach an address.
    pub allow: Vec<Cidr>,
    /// Connections at once; one more is answered with 503 and closed, unless its request is urgent.
    pub connections: usize,
    /// Bytes of a request line with its headers.
    pub header_size: ByteSize,
    /// A connection without a complete request head for this long is closed.
    pub keep_alive: Span,
    /// A handshake must be complete, and each mebibyte of an answer or the rest of it be taken, within
    /// this.
    pub stall: Span,
}

/// An answer that is being made.
pub(crate) type Answering<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

/// Every [`HttpService`], whatever its type: hyper and what takes connections are compiled once, and not once for
/// each of them.
pub(crate) trait Site: Send + Sync {
    /// See [`HttpService::begin`].
    fn begin(&self);

    /// See [`HttpService::answer`].
    fn answer(&self, request: Request<Incoming>, peer: Peer) -> Answering<'_>;

    /// See [`HttpService::is_urgent`].
    fn is_urgent(&self, request: &Request<Incoming>) -> bool;

    /// See [`HttpService::limits`].
    fn limits(&self) -> &ConnectionLimits;

    /// See [`HttpService::counters`].
    fn counters(&self) -> &Counters;

    /// See [`HttpService::tell`].
    fn tell(&self, event: String);

    /// See [`HttpService::left`].
    fn left(&self, connection: u64);
}

impl<S: HttpService> Site for S {
    fn begin(&self) {
        HttpService::begin(self);
    }

    fn answer(&self, request: Request<Incoming>, peer: Peer) -> Answering<'_> {
        Box::pin(HttpService::answer(self, request, peer))
    }

    fn is_urgent(&self, request: &Request<Incoming>) -> bool {
        HttpService::is_urgent(self, request)
    }

    fn limits(&self) -> &ConnectionLimits {
        HttpService::limits(self)
    }

    fn counters(&self) -> &Counters {
        HttpService::counters(self)
    }

    fn tell(&self, event: String) {
        HttpService::tell(self, event);
    }

    fn left(&self, connection: u64) {
        HttpService::left(self, connection);
    }
}
