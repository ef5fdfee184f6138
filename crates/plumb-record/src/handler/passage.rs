//! Connections whose bytes only pass through, and those that are opened on the way.

use std::future::Future;
use std::io::Cursor;
use std::pin::Pin;
use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use plumb_serve::accept::stopped;
use plumb_wire::http::Scheme;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::ConnectionHandler;
use crate::acceptor;
use crate::present::Present;
use crate::upstream::Origin;

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
            return acceptor::converse(Arc::new(handler.inside(origin)), stream).await;
        }
        match timeout(patience, TlsAcceptor::from(config).accept(stream)).await {
            Ok(Ok(stream)) => acceptor::converse(Arc::new(handler.inside(origin)), stream).await,
            Ok(Err(error)) => handler.state.ledger.tell(format!(
                "a client does not let {} be opened ({error}): does it trust the authority?",
                origin.host
            )),
            Err(_) => handler.state.ledger.tell(format!(
                "a client did not end its handshake with {} within --timeout",
                origin.host
            )),
        }
    })
}
