//! A request with its whole body.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::COOKIE;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use plumb_measure::{ByteSize, Span};

use crate::Peer;

/// A request that has come in whole.
#[derive(Debug)]
pub struct Request {
    /// Method, target and headers.
    pub head: Parts,
    /// What it brings.
    pub body: Bytes,
    /// Who asks.
    pub peer: Peer,
}

/// Why a request did not come in whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is larger than it may be.
    #[error("a body has at most {0} bytes here")]
    TooLarge(usize),
    /// It ended early, or its chunks are none.
    #[error("the body is cut or badly framed")]
    Malformed,
    /// It took too long.
    #[error("the body did not arrive in time")]
    Late,
}

impl Request {
    /// Reads the body of `request`, of at most `size` bytes, within `patience`.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(
        request: hyper::Request<Incoming>,
        peer: Peer,
        size: ByteSize,
        patience: Span,
    ) -> Result<Self, ReadError> {
        let (head, body) = request.into_parts();
        if body.is_end_stream() {
            return Ok(Self { head, body: Bytes::new(), peer });
        }
        let most = usize::try_from(size.bytes()).unwrap_or(usize::MAX);
        let read = Limited::new(body, most).collect();
        // behind a pointer: whoever brings no body needs no room for it
        match Box::pin(tokio::time::timeout(Duration::from_nanos(patience.ns()), read)).await {
            Ok(Ok(body)) => Ok(Self { head, body: body.to_bytes(), peer }),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ReadError::TooLarge(most)),
            Ok(Err(_)) => Err(ReadError::Malformed),
            Err(_) => Err(ReadError::Late),
        }
    }

    /// The path of the target, as it was sent.
    #[must_use]
    pub fn path(&self) -> &str {
        self.head.uri.path()
    }

    /// What stands behind the question mark; empty without one.
    #[must_use]
    pub fn query(&self) -> &str {
        self.head.uri.query().unwrap_or("")
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.head.method
    }

    /// All headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The text of the first header `name`; absent, or no text, is empty.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The value of the cookie `name`.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<&str> {
        cookie(self.headers(), name)
    }
}

/// The value of the cookie `name` in `headers`.
#[must_use]
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split(';')).find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}
