//! What carries a session with `PostgreSQL`: a connection that the driver makes, or one over SMC,
//! which the driver knows nothing of.

use std::io;
use std::task::{Context, Poll};

use plumb_engine::{Endpoint, proven};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::lookup_host;
use tokio_postgres::config::Host;
use tokio_postgres::{AsyncMessage, Client, Connection};

use super::PostgresServer;
use super::target::PORT;
use super::transport::SessionTransport;
use crate::socket::Socket;

/// Why nobody can log on.
#[derive(Debug)]
pub(super) enum NotConnected {
    /// What the driver says.
    Driver(tokio_postgres::Error),
    /// There is no connection over SMC.
    Smc(String),
}

impl From<tokio_postgres::Error> for NotConnected {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Driver(error)
    }
}

/// A connection of any kind, which moves while it is asked for messages.
pub(super) trait Messages: Send {
    /// The next message that is nobody's answer; `None` when the connection has ended.
    fn poll_message(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<AsyncMessage, tokio_postgres::Error>>>;
}

impl<S, T> Messages for Connection<S, T>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    T: AsyncRead + AsyncWrite + Unpin + Send,
{
    fn poll_message(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<AsyncMessage, tokio_postgres::Error>>> {
        Self::poll_message(self, context)
    }
}

/// Connects to `server` and logs on.
///
/// # Errors
/// [`NotConnected`] when that does not work, and when a connection over SMC fell back to TCP.
pub(super) async fn connected(
    server: &PostgresServer,
) -> Result<(Client, Box<dyn Messages>), NotConnected> {
    if server.transport == SessionTransport::Driver {
        let (client, connection) = server.config.connect(server.tls.clone()).await?;
        return Ok((client, Box::new(connection)));
    }
    let (socket, host) = over_smc(&server.config).await.map_err(NotConnected::Smc)?;
    let handshake = server.tls.handshake(host);
    let handshake = handshake.map_err(|error| NotConnected::Smc(error.to_string()))?;
    let (client, connection) = server.config.connect_raw(socket, handshake).await?;
    Ok((client, Box::new(connection)))
}

/// A socket of SMC to the first host that takes one, and its name.
async fn over_smc(config: &tokio_postgres::Config) -> Result<(Socket, &str), String> {
    let (hosts, ports) = (config.get_hosts(), config.get_ports());
    let mut failed = "the URL names no host".to_owned();
    for (at, host) in hosts.iter().enumerate() {
        let Host::Tcp(name) = host else { continue };
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(PORT);
        match to_host(name, port).await {
            Ok(socket) => return Ok((socket, name)),
            Err(error) => failed = format!("smc:{name}:{port}: {error}"),
        }
    }
    Err(failed)
}

async fn to_host(name: &str, port: u16) -> io::Result<Socket> {
    let mut failed = io::Error::other("the name has no address");
    for address in lookup_host((name, port)).await? {
        match to_address(&Endpoint::Smc(address)).await {
            Ok(socket) => return Ok(socket),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

async fn to_address(endpoint: &Endpoint) -> io::Result<Socket> {
    let socket = Socket::connect(endpoint).await?;
    match proven(&socket, endpoint, None)?.smc {
        None => Ok(socket),
        // whoever asked for SMC is not to be served over TCP without a word
        Some(lack) => {
            Err(io::Error::other(format!("a connection is not proven to use SMC: {lack}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_smc_nobody_logs_on_over_tcp_instead() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(port);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let refused = runtime.block_on(over_smc(&config)).unwrap_err();
        assert!(refused.starts_with(&format!("smc:127.0.0.1:{port}: ")), "{refused}");
    }
}
