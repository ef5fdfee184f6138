//! One connection to the other side, kept between messages.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use plumb_serve::BoxedStream;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;

use super::verdict::Verdict;
use super::{Keys, TargetPlan};
use crate::form::Form;

/// An answer is read up to here; what it says is of no use to us.
const ANSWER_BYTES_MAX: usize = 64 << 10;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const ORDER_KEY: HeaderName = HeaderName::from_static("x-order-key");

/// A connection that is open.
pub(super) type Connection = SendRequest<Full<Bytes>>;

/// What goes into every request of an agent.
#[derive(Debug)]
pub(super) struct Client {
    target: TargetPlan,
    form: Form,
    /// Before the number of a message: of this spool and this agent.
    key: String,
    order_key: Option<HeaderValue>,
    authorization: Option<HeaderValue>,
}

/// What became of an attempt, and the connection where it can be used again.
pub(super) type Attempted = (Verdict, Option<Connection>);

impl Client {
    pub(super) fn new(target: TargetPlan, form: Form, key: String, agent: &str) -> Self {
        let ordered = target.ordered && target.keys == Keys::Send;
        let order_key = ordered.then(|| HeaderValue::from_str(agent).ok()).flatten();
        let authorization = target.authorization.as_deref().and_then(|text| {
            let mut value = HeaderValue::from_str(text).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        Self { target, form, key, order_key, authorization }
    }

    /// Sends one message, over `kept` where the other side has not closed it.
    pub(super) async fn send(
        self: Arc<Self>,
        kept: Option<Connection>,
        first: u64,
        body: Bytes,
    ) -> Attempted {
        if let Some(mut kept) = kept
            && kept.ready().await.is_ok()
            && let Some(attempted) = self.exchange(kept, first, body.clone(), Kept::Before).await
        {
            return attempted;
        }
        let timeout = Duration::from_nanos(self.target.timeout.ns());
        let connection = match tokio::time::timeout(timeout, self.connect()).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return (self.away(&error), None),
            Err(_) => return (self.away("no connection in time"), None),
        };
        let attempted = self.exchange(connection, first, body, Kept::New).await;
        attempted.unwrap_or_else(|| (self.away("it closed the connection"), None))
    }

    /// `None` when a connection that was kept turns out to be closed: it is worth a new one.
    async fn exchange(
        &self,
        mut connection: Connection,
        first: u64,
        body: Bytes,
        kept: Kept,
    ) -> Option<Attempted> {
        let answer = async {
            let answer = connection.send_request(self.request(first, body)).await?;
            let status = answer.status().as_u16();
            let after = answer.headers().get(RETRY_AFTER);
            let after = after.and_then(|it| it.to_str().ok()).map(str::to_owned);
            let read = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
            Ok::<_, hyper::Error>((status, after, read.map(http_body_util::Collected::to_bytes)))
        };
        let timeout = Duration::from_nanos(self.target.timeout.ns());
        match tokio::time::timeout(timeout, answer).await {
            // a status says what became of the message, whatever became of the text behind it
            Ok(Ok((status, after, read))) => {
                let is_whole = read.is_ok();
                let text = read.unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                let verdict = Verdict::of(status, after.as_deref(), &text);
                Some((verdict, is_whole.then_some(connection)))
            }
            Ok(Err(error)) if kept == Kept::Before && closed(&error) => None,
            Ok(Err(error)) => Some((self.away(&error), None)),
            Err(_) => Some((self.away("no answer in time"), None)),
        }
    }

    fn request(&self, first: u64, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        // checked when the file was read
        *request.uri_mut() = self.target.path.parse().unwrap_or_default();
        let headers = request.headers_mut();
        if let Ok(host) = HeaderValue::from_str(&self.target.authority) {
            headers.insert(HOST, host);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.form.media_type()));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        if self.target.keys == Keys::Send
            && let Ok(key) = HeaderValue::from_str(&format!("{}-{first}", self.key))
        {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        if let Some(order_key) = &self.order_key {
            headers.insert(ORDER_KEY, order_key.clone());
        }
        request
    }

    async fn connect(&self) -> Result<Connection, Box<dyn std::error::Error + Send + Sync>> {
        let stream = TcpStream::connect(&self.target.address).await?;
        stream.set_nodelay(true)?;
        match &self.target.tls {
            None => Ok(begin(Box::new(stream)).await?),
            Some(tls) => {
                let host = ServerName::try_from(self.target.host.clone())?;
                Ok(begin(Box::new(tls.connect(host, stream).await?)).await?)
            }
        }
    }

    fn away(&self, why: impl std::fmt::Display) -> Verdict {
        Verdict::Away(format!("{}: {why}", self.target.address), None)
    }
}

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// From a message before.
    Before,
    New,
}

async fn begin(stream: BoxedStream) -> hyper::Result<Connection> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // its end is seen by whoever sends
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}

/// True when the other side had closed the connection before it could answer.
fn closed(error: &hyper::Error) -> bool {
    let lost = |error: &std::io::Error| {
        use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
        matches!(error.kind(), ConnectionReset | BrokenPipe)
    };
    error.is_canceled()
        || error.is_closed()
        || error.is_incomplete_message()
        || error.source().and_then(|it| it.downcast_ref()).is_some_and(lost)
}
