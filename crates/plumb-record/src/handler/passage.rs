//! Connections whose bytes only pass through, and those that are opened on the way.

use std::future::Future;
use std::io::{self, Cursor};
use std::pin::Pin;
use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use plumb_serve::accept::stopped;
use plumb_wire::http::Scheme;
use rustls::ServerConfig;
use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::ConnectionHandler;
use crate::acceptor;
use crate::present::Present;
use crate::upstream::{HTTP1, HTTP2, Origin};

/// How a handshake of TLS begins.
const TLS_HANDSHAKE: u8 = 0x16;

/// Leads a client to `server`.
pub(crate) fn pass(
    client: OnUpgrade,
    mut server: TcpStream,
    present: Arc<Present>,
    stop: watch::Receiver<bool>,
) {
    tokio::spawn(async move {
        if let Ok(client) = client.await {
            both_ways(&mut TokioIo::new(client), &mut server, stop).await;
        }
        drop(present);
    });
}

/// Joins two connections that have changed their protocol.
pub(crate) fn join(
    client: OnUpgrade,
    server: OnUpgrade,
    present: Arc<Present>,
    stop: watch::Receiver<bool>,
) {
    tokio::spawn(async move {
        if let (Ok(client), Ok(server)) = (client.await, server.await) {
            both_ways(&mut TokioIo::new(client), &mut TokioIo::new(server), stop).await;
        }
        drop(present);
    });
}

async fn both_ways<A, B>(client: &mut A, server: &mut B, mut stop: watch::Receiver<bool>)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    tokio::select! {
        // whichever side breaks it off: both are closed
        _ = copy_bidirectional(client, server) => {}
        () = stopped(&mut stop) => {}
    }
}

/// Serves a client that takes us for `origin`: over TLS if it begins a handshake, as browsers do
/// for `wss` and `https`, plainly if not, as they do for `ws`.
pub(crate) fn open(
    handler: Arc<ConnectionHandler>,
    client: OnUpgrade,
    mut origin: Origin,
    config: Arc<ServerConfig>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let patience = handler.state.patience();
        let Ok(client) = client.await else { return };
        let mut stream = TokioIo::new(client);
        let mut first = [0];
        if !matches!(timeout(patience, stream.read(&mut first)).await, Ok(Ok(1))) {
            return; // it said nothing
        }
        let (reading, writing) = tokio::io::split(stream);
        let stream = tokio::io::join(Cursor::new(first).chain(reading), writing);
        if first != [TLS_HANDSHAKE] {
            origin.scheme = Scheme::Http;
            return acceptor::converse(Arc::new(handler.inside(origin)), Box::new(stream)).await;
        }
        let server = origin.clone();
        match timeout(patience, greet(handler.inside(origin), stream, config)).await {
            Ok(Ok((handler, stream))) if handler.speaks_http2 => {
                acceptor::converse_in_http2(Arc::new(handler), Box::new(stream)).await;
            }
            Ok(Ok((handler, stream))) => {
                acceptor::converse(Arc::new(handler), Box::new(stream)).await
            }
            Ok(Err(error)) => handler.state.ledger.tell(format!(
                "a client does not let {} be opened ({error}): does it trust the authority?",
                server.host
            )),
            Err(_) => handler.state.ledger.tell(format!(
                "a client did not end its handshake with {} within --timeout",
                server.host
            )),
        }
    })
}

/// Shakes hands with a client as its server would: whoever offers HTTP/2 gets it where the server
/// speaks it. A client that speaks nothing else gets it in any case, translated.
async fn greet<S>(
    handler: ConnectionHandler,
    stream: S,
    config: Arc<ServerConfig>,
) -> io::Result<(ConnectionHandler, TlsStream<S>)>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
    let offered = hello.client_hello().alpn();
    let offered: Vec<Vec<u8>> =
        offered.map_or_else(Vec::new, |all| all.map(<[u8]>::to_vec).collect());
    let offers = |protocol: &[u8]| offered.iter().any(|one| one == protocol);
    let http2 = offers(HTTP2) && (handler.finds_http2().await || !offers(HTTP1));
    let mut config = ServerConfig::clone(&config);
    config.alpn_protocols = vec![if http2 { HTTP2.to_vec() } else { HTTP1.to_vec() }];
    let stream = hello.into_stream(Arc::new(config)).await?;
    Ok((if http2 { handler.in_http2() } else { handler }, stream))
}
