//! The bytes of a connection to another server, plain or encrypted, and how long they may take.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use plumb_engine::Connection as Socket;
use plumb_engine::clock::MonotonicClock;
use plumb_engine::tls::TrustOptions;
use plumb_engine::{EngineError, TlsConnector};
use plumb_measure::{Clock as _, Span, show_ns};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

/// Encrypts connections to one server.
#[derive(Clone, Debug)]
pub struct Encryption {
    config: Arc<rustls::ClientConfig>,
    name: ServerName<'static>,
}

impl Encryption {
    /// Connections to `host`, a name or number without a port, with whom `trust` says.
    ///
    /// # Errors
    /// [`EngineError::Tls`] names the file, or the name, that does not serve.
    pub fn new(trust: &TrustOptions, host: &str) -> Result<Self, EngineError> {
        let config = TlsConnector::new(trust, host, &[])?.config();
        let name = trust.server_name.as_deref().unwrap_or(host).to_owned();
        let name = ServerName::try_from(name.clone())
            .map_err(|_| plumb_engine::tls::TlsError::ServerName { name })?;
        Ok(Self { config, name })
    }
}

/// A connection whose calls block, plain or encrypted.
#[derive(Debug)]
pub struct Stream(Bytes);

#[derive(Debug)]
enum Bytes {
    Plain(Timed),
    Encrypted(Box<StreamOwned<ClientConnection, Timed>>),
}

impl Stream {
    /// What is said over `socket`, encrypted where that is wanted. The handshake comes with the
    /// first bytes.
    pub(crate) fn new(socket: Socket, encryption: Option<&Encryption>) -> io::Result<Self> {
        let timed = Timed { socket, until: None };
        let Some(Encryption { config, name }) = encryption else {
            return Ok(Self(Bytes::Plain(timed)));
        };
        let session = ClientConnection::new(Arc::clone(config), name.clone());
        let session = session.map_err(io::Error::other)?;
        Ok(Self(Bytes::Encrypted(Box::new(StreamOwned::new(session, timed)))))
    }

    /// False when the other side has closed it, or has said something that nobody asked for.
    #[must_use]
    pub fn stands(&self) -> bool {
        let is_read = match &self.0 {
            Bytes::Plain(_) => true,
            // as long as it holds what nobody has read, it wants no more
            Bytes::Encrypted(session) => session.conn.wants_read(),
        };
        is_read && self.timed().socket.stands()
    }

    /// From now on each call may take so long.
    pub(crate) fn limit_calls(&mut self, limit: Span) -> io::Result<()> {
        self.timed_mut().until = None;
        self.timed().socket.limit_calls(limit)
    }

    /// From now on all calls together are over at `until`.
    pub(crate) fn limit_all(&mut self, until: Until) {
        self.timed_mut().until = Some(until);
    }

    fn timed(&self) -> &Timed {
        match &self.0 {
            Bytes::Plain(timed) => timed,
            Bytes::Encrypted(session) => &session.sock,
        }
    }

    fn timed_mut(&mut self) -> &mut Timed {
        match &mut self.0 {
            Bytes::Plain(timed) => timed,
            Bytes::Encrypted(session) => &mut session.sock,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Bytes::Plain(timed) => timed.read(bytes),
            Bytes::Encrypted(session) => session.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Bytes::Plain(timed) => timed.write(bytes),
            Bytes::Encrypted(session) => session.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Bytes::Plain(timed) => timed.flush(),
            Bytes::Encrypted(session) => session.flush(),
        }
    }
}

/// A moment at which everything has to be over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    at_ns: u64,
    limit: Span,
}

impl Until {
    /// `limit` from now.
    pub(crate) fn after(limit: Span) -> Self {
        Self { at_ns: MonotonicClock.now_ns().saturating_add(limit.ns()), limit }
    }

    /// What is left of it.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when that is nothing.
    pub(crate) fn left(&self) -> io::Result<Span> {
        let left_ns = self.at_ns.saturating_sub(MonotonicClock.now_ns());
        if left_ns == 0 { Err(self.over()) } else { Ok(Span::from_ns(left_ns)) }
    }

    fn over(&self) -> io::Error {
        // what is left of a longer limit is no round number
        let limit = match self.limit.ns() % 1_000_000 {
            0 => self.limit.to_string(),
            _ => show_ns(self.limit.ns()),
        };
        let problem = format!("it is not done within {limit}");
        io::Error::new(ErrorKind::TimedOut, problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_said_as_a_person_says_it() {
        let said = |ns| Until { at_ns: 0, limit: Span::from_ns(ns) }.over().to_string();
        assert_eq!(said(50_000_000), "it is not done within 50ms");
        assert_eq!(said(999_985_291), "it is not done within 1.00 s");
    }
}

/// A socket whose calls end at a moment.
#[derive(Debug)]
struct Timed {
    socket: Socket,
    /// `None`: each call has its own limit.
    until: Option<Until>,
}

impl Timed {
    fn within<T>(&mut self, call: impl FnOnce(&mut Socket) -> io::Result<T>) -> io::Result<T> {
        let Some(until) = self.until else { return call(&mut self.socket) };
        self.socket.limit_calls(until.left()?)?;
        call(&mut self.socket).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => until.over(),
            _ => error,
        })
    }
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.within(|socket| socket.read(bytes))
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.within(|socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
