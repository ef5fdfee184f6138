//! What another node has to answer.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Body as HttpBody;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, TE, TRANSFER_ENCODING, UPGRADE};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use plumb_measure::Span;
use tokio::net::UnixStream;

/// Has whoever listens at the socket file `door` answer `request`, with at most `most` bytes and
/// within `time`.
///
/// # Errors
/// When nobody listens there, or no whole answer comes.
pub async fn forward<B>(
    mut request: Request<B>,
    door: &Path,
    most: usize,
    time: Span,
) -> io::Result<Response<Bytes>>
where
    B: HttpBody + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // what the client says of its own connection
    for name in [CONNECTION, TE, UPGRADE] {
        request.headers_mut().remove(name);
    }
    let exchange = async {
        let stream = UnixStream::connect(door).await?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let answer = async move {
            let answer = sender.send_request(request).await.map_err(io::Error::other)?;
            let (mut head, body) = answer.into_parts();
            let body = Limited::new(body, most).collect().await.map_err(io::Error::other)?;
            head.headers.remove(CONNECTION);
            head.headers.remove(TRANSFER_ENCODING);
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        // the connection ends with its only exchange
        let (answer, _) = tokio::join!(answer, connection);
        answer
    };
    let limit = Duration::from_nanos(time.ns());
    tokio::time::timeout(limit, exchange).await.map_err(|_| io::ErrorKind::TimedOut)?
}
