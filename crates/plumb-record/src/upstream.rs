//! Connections to servers.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Endpoint, SocketOptions, finish_connect, start_connect, tls};
use plumb_measure::{Clock as _, Span};
use plumb_wire::http::Scheme;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::exchange::ConnectTimes;

pub(crate) use self::conversation::{HTTP1, HTTP2, Upstream, speaks_http2};

mod conversation;

/// Bytes of a head of an answer that are read at most.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;
/// Header lines of a head that are read at most.
pub(crate) const HEAD_LINES_MAX: usize = 256;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) scheme: Scheme,
    /// Name or number, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Origin {
    /// As it stands in a URL and in a `Host` line: without the port of its scheme.
    pub(crate) fn authority(&self) -> String {
        let host = bracketed(&self.host);
        if self.port == self.scheme.port() { host } else { format!("{host}:{}", self.port) }
    }

    /// How its URLs begin.
    pub(crate) fn start(&self) -> String {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        format!("{scheme}://{}", self.authority())
    }

    /// With its port.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", bracketed(&self.host), self.port)
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.into() }
}

/// Why there is no connection to a server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreachable {
    /// The name has no address.
    #[error("cannot find host `{host}`: {cause}")]
    Name { host: String, cause: io::Error },
    /// Nobody takes the connection.
    #[error("cannot connect to {place}: {cause}")]
    Connect { place: String, cause: io::Error },
    /// It took too long.
    #[error("no connection to {place} within {patience} (--connect-timeout)")]
    Late { place: String, patience: Span },
    /// That would be this proxy.
    #[error("{place} is this proxy itself")]
    Itself { place: String },
    /// The host is no name for a certificate.
    #[error("`{host}` is no name that a certificate can be for")]
    NoName { host: String },
    /// The server proves nothing, or somebody else.
    #[error("no TLS with {place}: {}", why_no_tls(cause))]
    Tls { place: String, cause: io::Error },
    /// The connection broke before it served.
    #[error("{place} does not serve HTTP: {cause}")]
    Http { place: String, cause: hyper::Error },
}

/// What is wrong with a server that does not speak TLS with us, and what to do where it says.
fn why_no_tls(cause: &io::Error) -> String {
    tls::wrong_certificate(cause).map_or_else(|| cause.to_string(), |words| format!("it {words}"))
}

/// How servers are reached.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// Asks for HTTP/1.1.
    pub(crate) tls: Arc<ClientConfig>,
    /// Asks for HTTP/2, and takes HTTP/1.1.
    pub(crate) tls_for_both: Arc<ClientConfig>,
    pub(crate) patience: Span,
    /// Where this proxy listens.
    pub(crate) own: Vec<SocketAddr>,
}

impl Reach {
    /// A connection of HTTP to `origin`, and how long each step to it took. With `http2` a server that
    /// speaks HTTP/2 over TLS is spoken to in it.
    ///
    /// # Errors
    /// [`Unreachable`], in words.
    pub(crate) async fn open(
        &self,
        origin: &Origin,
        http2: bool,
    ) -> Result<(Upstream, ConnectTimes), Unreachable> {
        let late = || Unreachable::Late { place: origin.place(), patience: self.patience };
        let patience = Duration::from_nanos(self.patience.ns());
        timeout(patience, self.connect(origin, http2)).await.map_err(|_| late())?
    }

    async fn connect(
        &self,
        origin: &Origin,
        http2: bool,
    ) -> Result<(Upstream, ConnectTimes), Unreachable> {
        let (stream, mut way) = self.dial(origin).await?;
        let port = stream.local_addr().map_or(0, |local| local.port());
        if origin.scheme == Scheme::Http {
            let upstream = Upstream::begin(origin, port, Box::new(stream), false).await?;
            return Ok((upstream, way));
        }
        let began = MonotonicClock.now_ns();
        let name = ServerName::try_from(origin.host.clone())
            .map_err(|_| Unreachable::NoName { host: origin.host.clone() })?;
        let config = if http2 { &self.tls_for_both } else { &self.tls };
        let connector = TlsConnector::from(Arc::clone(config));
        let stream = connector
            .connect(name, stream)
            .await
            .map_err(|cause| Unreachable::Tls { place: origin.place(), cause })?;
        way.tls_ns = Some(MonotonicClock.now_ns() - began);
        let http2 = speaks_http2(stream.get_ref().1.alpn_protocol());
        Ok((Upstream::begin(origin, port, Box::new(stream), http2).await?, way))
    }

    /// A connection to `origin` on which nothing was said yet.
    ///
    /// # Errors
    /// [`Unreachable`], in words.
    pub(crate) async fn through(&self, origin: &Origin) -> Result<TcpStream, Unreachable> {
        let patience = Duration::from_nanos(self.patience.ns());
        let late = || Unreachable::Late { place: origin.place(), patience: self.patience };
        let (stream, _) = timeout(patience, self.dial(origin)).await.map_err(|_| late())??;
        Ok(stream)
    }

    async fn dial(&self, origin: &Origin) -> Result<(TcpStream, ConnectTimes), Unreachable> {
        let began = MonotonicClock.now_ns();
        let number = origin.host.parse::<IpAddr>().ok();
        let candidates = match number {
            Some(ip) => vec![SocketAddr::new(ip, origin.port)],
            None => tokio::net::lookup_host((origin.host.as_str(), origin.port))
                .await
                .map_err(|cause| Unreachable::Name { host: origin.host.clone(), cause })?
                .collect(),
        };
        let found = MonotonicClock.now_ns();
        let failed = |cause| Unreachable::Connect { place: origin.place(), cause };
        let mut failure = failed(io::ErrorKind::AddrNotAvailable.into());
        for candidate in candidates {
            match connected(candidate).await {
                Ok(stream) if self.leads_back(&stream) => {
                    return Err(Unreachable::Itself { place: origin.place() });
                }
                Ok(stream) => {
                    let way = ConnectTimes {
                        dns_ns: number.is_none().then_some(found - began),
                        connect_ns: MonotonicClock.now_ns() - found,
                        tls_ns: None,
                    };
                    return Ok((stream, way));
                }
                Err(cause) => failure = failed(cause),
            }
        }
        Err(failure)
    }

    /// True when the other end of `stream` is this proxy.
    fn leads_back(&self, stream: &TcpStream) -> bool {
        let (Ok(peer), Ok(local)) = (stream.peer_addr(), stream.local_addr()) else {
            return false;
        };
        let here = peer.ip() == local.ip();
        let is_peer = |own: &SocketAddr| own.ip() == peer.ip() || own.ip().is_unspecified() && here;
        self.own.iter().any(|own| own.port() == peer.port() && is_peer(own))
    }
}

async fn connected(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = start_connect(&Endpoint::Tcp(address), &SocketOptions::default())?;
    let stream = TcpStream::from_std(socket.into())?;
    stream.writable().await?;
    finish_connect(&stream)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_written_as_its_urls_write_it() {
        let origin = |scheme, host: &str, port| Origin { scheme, host: host.into(), port };
        let plain = origin(Scheme::Http, "erp", 80);
        assert_eq!((plain.start(), plain.place()), ("http://erp".into(), "erp:80".into()));
        assert_eq!(origin(Scheme::Https, "::1", 443).start(), "https://[::1]");
        assert_eq!(origin(Scheme::Https, "::1", 80).authority(), "[::1]:80");
    }
}
