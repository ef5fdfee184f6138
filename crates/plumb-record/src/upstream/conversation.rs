//! A connection to a server on which requests are sent, in the version of HTTP that it speaks.

use std::future::Future;
use std::pin::Pin;

use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::header::HOST;
use hyper::{Request, Response, Uri, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use plumb_serve::BoxedStream;

use super::{HEAD_BYTES_MAX, HEAD_LINES_MAX, Origin, Unreachable};
use crate::hops;
use crate::tap::Outgoing;

/// How the versions of HTTP are called in a handshake of TLS.
///
/// # Source
/// RFC 7301, section 6; RFC 9113, section 3.2.
pub(crate) const HTTP1: &[u8] = b"http/1.1";
pub(crate) const HTTP2: &[u8] = b"h2";

/// True when a handshake of TLS came to HTTP/2.
pub(crate) fn speaks_http2(agreed: Option<&[u8]>) -> bool {
    agreed == Some(HTTP2)
}

/// A connection that serves requests: one after the other, or many at a time in HTTP/2.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) origin: Origin,
    /// Our port of it, which names it among those to one server.
    pub(crate) port: u16,
    requests: Requests,
}

#[derive(Debug)]
enum Requests {
    InTurn(http1::SendRequest<Outgoing>),
    AtOnce(http2::SendRequest<Outgoing>),
}

/// What becomes of a request: its answer, or why there is none, with the request where nothing of it
/// was sent.
pub(crate) type Sending = Pin<
    Box<dyn Future<Output = Result<Response<Incoming>, TrySendError<Request<Outgoing>>>> + Send>,
>;

impl Upstream {
    /// Begins to speak over `stream`, which leads to `origin`.
    ///
    /// # Errors
    /// [`Unreachable::Http`] when it breaks at once.
    pub(super) async fn begin(
        origin: &Origin,
        port: u16,
        stream: BoxedStream,
        http2: bool,
    ) -> Result<Self, Unreachable> {
        let stream = TokioIo::new(stream);
        let failed = |cause| Unreachable::Http { place: origin.place(), cause };
        // a connection ends with its sender; what breaks it is told to whoever waits for an answer
        let requests = if http2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder.max_header_list_size(u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX));
            let (sender, connection) = builder.handshake(stream).await.map_err(failed)?;
            tokio::spawn(connection);
            Requests::AtOnce(sender)
        } else {
            let mut builder = http1::Builder::new();
            builder.preserve_header_case(true);
            builder.max_buf_size(HEAD_BYTES_MAX).max_headers(HEAD_LINES_MAX);
            let (sender, connection) = builder.handshake(stream).await.map_err(failed)?;
            tokio::spawn(connection.with_upgrades());
            Requests::InTurn(sender)
        };
        Ok(Self { origin: origin.clone(), port, requests })
    }

    /// True when it speaks HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        matches!(self.requests, Requests::AtOnce(_))
    }

    /// The same connection for a further request at the same time, where it takes one.
    pub(crate) fn shared(&self) -> Option<Self> {
        let Requests::AtOnce(sender) = &self.requests else { return None };
        let requests = Requests::AtOnce(sender.clone());
        Some(Self { origin: self.origin.clone(), port: self.port, requests })
    }

    /// True once it takes a request, false when it never will again.
    pub(crate) async fn is_ready(&mut self) -> bool {
        match &mut self.requests {
            Requests::InTurn(sender) => sender.ready().await.is_ok(),
            Requests::AtOnce(sender) => sender.ready().await.is_ok(),
        }
    }

    /// Makes a request one that can be sent here: in HTTP/1.1 it names its path and the host as a
    /// header, in HTTP/2 its whole URL.
    ///
    /// # Source
    /// RFC 9112, section 3.2; RFC 9113, section 8.3.1.
    pub(crate) fn fit(&self, request: &mut Request<Outgoing>) {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        let start = if self.is_http2() { self.origin.start() } else { String::new() };
        let target: Uri = format!("{start}{target}").parse().unwrap_or_default();
        *request.uri_mut() = target;
        *request.version_mut() = if self.is_http2() { Version::HTTP_2 } else { Version::HTTP_11 };
        if self.is_http2() {
            hops::without(request.headers_mut(), |name| *name == HOST);
        } else {
            hops::of_http1(request.headers_mut());
        }
    }

    /// Sends a request that fits.
    pub(crate) fn send(&mut self, request: Request<Outgoing>) -> Sending {
        match &mut self.requests {
            Requests::InTurn(sender) => Box::pin(sender.try_send_request(request)),
            Requests::AtOnce(sender) => Box::pin(sender.try_send_request(request)),
        }
    }
}
