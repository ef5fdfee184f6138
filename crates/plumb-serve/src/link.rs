//! Connections to other servers that are kept between calls, up to a limit.

use std::io::{self, BufReader};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plumb_engine::{Address, Connection as Socket, Endpoint, Family, SocketOptions};
use plumb_measure::Span;

use crate::stream::Until;
pub use crate::stream::{Encryption, Stream};

/// A connection to another server.
pub type Connection = BufReader<Stream>;

/// All connections to one server.
#[derive(Debug)]
pub struct Links {
    host: String,
    encryption: Option<Encryption>,
    timeout: Span,
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: Vec<Connection>,
    figures: LinkFigures,
}

/// How many connections are in use and were.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkFigures {
    /// Connections that may be in use.
    pub limit: usize,
    /// Connections in use.
    pub used: usize,
    /// The most that were in use.
    pub used_max: usize,
    /// Times that one was taken.
    pub taken: u64,
    /// Times that all were in use.
    pub refused: u64,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Link<'a> {
    links: &'a Links,
    connection: Option<Connection>,
}

impl Links {
    /// The way to `host`, which is `HOST:PORT`, over TCP, or over SMC behind `smc:`; nothing is
    /// connected yet.
    #[must_use]
    pub fn new(host: String, timeout: Span, limit: usize) -> Self {
        Self { host, encryption: None, timeout, limit, state: Mutex::default() }
    }

    /// The same, encrypted.
    #[must_use]
    pub fn encrypted(self, encryption: Encryption) -> Self {
        Self { encryption: Some(encryption), ..self }
    }

    /// A connection for whoever asks, or `None` when as many are in use as may.
    pub fn take(&self) -> Option<Link<'_>> {
        let mut state = self.lock();
        if state.figures.used >= self.limit {
            state.figures.refused += 1;
            return None;
        }
        state.figures.used += 1;
        state.figures.used_max = state.figures.used_max.max(state.figures.used);
        state.figures.taken += 1;
        Some(Link { links: self, connection: state.free.pop() })
    }

    /// The other side, `HOST:PORT`.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// How many are in use and were.
    #[must_use]
    pub fn figures(&self) -> LinkFigures {
        LinkFigures { limit: self.limit, ..self.lock().figures }
    }

    fn connect(&self, limit: Span) -> io::Result<Connection> {
        let candidates = Address::parse(&self.host, 0)
            .and_then(|address| Endpoint::resolve(&address, Family::Any))
            .map_err(io::Error::other)?;
        // all of them have so long together
        let each = Span::from_ns(limit.ns() / candidates.len().max(1) as u64);
        let socket =
            Socket::open(&candidates, each, &SocketOptions::default()).map_err(io::Error::other)?;
        if matches!(candidates.as_slice(), [Endpoint::Smc(_), ..])
            && let Some(lack) = socket.transport()?.smc
        {
            // whoever asked for SMC is not to be served over TCP without a word
            return Err(io::Error::other(format!("a connection is not proven to use SMC: {lack}")));
        }
        let mut stream = Stream::new(socket, self.encryption.as_ref())?;
        stream.limit_calls(self.timeout)?;
        Ok(BufReader::new(stream))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link<'_> {
    /// Asks something that may be asked twice: a connection that was kept may have been closed
    /// meanwhile, and then a new one is tried.
    ///
    /// # Errors
    /// When the other side does not answer on a new connection either.
    pub fn ask<T>(&mut self, exchange: impl Fn(&mut Connection) -> io::Result<T>) -> io::Result<T> {
        if let Some(mut kept) = self.connection.take()
            && let Ok(answer) = exchange(&mut kept)
        {
            self.connection = Some(kept);
            return Ok(answer);
        }
        let mut new = self.links.connect(self.links.timeout)?;
        let answer = exchange(&mut new)?;
        self.connection = Some(new);
        Ok(answer)
    }

    /// Asks once, on the connection that was kept if the other side has not closed it, else on a new
    /// one. To connect and to ask take `limit` together.
    ///
    /// # Errors
    /// When the other side does not answer; [`io::ErrorKind::TimedOut`] when it is not done in time.
    pub fn ask_fresh<T>(
        &mut self,
        limit: Span,
        exchange: impl FnOnce(&mut Connection) -> io::Result<T>,
    ) -> io::Result<T> {
        let until = Until::after(limit);
        let kept = self.connection.take();
        // what came behind its last answer would be taken for the next one
        let serves = |kept: &Connection| kept.buffer().is_empty() && kept.get_ref().stands();
        let mut connection = match kept.filter(serves) {
            Some(kept) => kept,
            None => self.links.connect(until.left()?)?,
        };
        connection.get_mut().limit_all(until);
        let answer = exchange(&mut connection)?;
        self.connection = Some(connection);
        Ok(answer)
    }

    /// Asks on the connection as it is.
    ///
    /// # Errors
    /// When there is none, or the other side does not answer.
    pub fn ask_once<T>(
        &mut self,
        exchange: impl FnOnce(&mut Connection) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut connection = self.connection.take().ok_or(io::ErrorKind::NotConnected)?;
        let answer = exchange(&mut connection)?;
        self.connection = Some(connection);
        Ok(answer)
    }

    /// The other side, `HOST:PORT`.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.links.host
    }

    /// Does not keep the connection.
    pub fn discard(&mut self) {
        self.connection = None;
    }
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        let mut state = self.links.lock();
        state.figures.used -= 1;
        state.free.extend(self.connection.take());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    fn byte(connection: &mut Connection) -> io::Result<u8> {
        connection.get_mut().write_all(b"x")?;
        let mut byte = [0];
        connection.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    #[test]
    fn a_connection_is_kept_counted_and_made_anew_when_it_was_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            for number in 1..=2_u8 {
                let (mut stream, _) = listener.accept().unwrap();
                for _ in 0..2 {
                    stream.read_exact(&mut [0]).unwrap();
                    stream.write_all(&[number]).unwrap();
                }
            }
        });
        let links = Links::new(host, Span::from_ms(30_000), 1);
        for expected in [1, 1, 2, 2] {
            let mut link = links.take().unwrap();
            assert!(links.take().is_none());
            assert_eq!(link.ask(byte).unwrap(), expected);
        }
        server.join().unwrap();
        let figures = links.figures();
        assert_eq!((figures.used, figures.used_max, figures.taken, figures.refused), (0, 1, 4, 4));
    }

    #[test]
    fn one_that_says_a_byte_now_and_then_is_not_waited_for_beyond_the_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // until the other side has gone: no single read of it has to wait
            while stream.write_all(b"x").is_ok() {
                std::thread::yield_now();
            }
        });
        let links = Links::new(host, Span::from_ms(3_600_000), 1);
        let mut link = links.take().unwrap();
        let asked = link.ask_fresh(Span::from_ms(50), |connection| -> io::Result<()> {
            connection.get_mut().write_all(b"x")?;
            loop {
                connection.read_exact(&mut [0])?;
            }
        });
        let error = asked.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "it is not done within 50ms");
        drop(link);
        server.join().unwrap();
        assert!(links.take().unwrap().connection.is_none());
    }

    #[test]
    fn one_that_says_nothing_is_not_waited_for_beyond_the_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let links = Links::new(host, Span::from_ms(3_600_000), 1);
        let asked = links.take().unwrap().ask_fresh(Span::from_ms(5), byte);
        assert_eq!(asked.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let asked = links.take().unwrap().ask_fresh(Span::from_ns(0), byte);
        assert_eq!(asked.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_connection_that_has_said_more_than_was_read_is_not_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let mut open = Vec::new(); // none is closed
            for answer in [&[1, 9][..], &[2]] {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0]).unwrap();
                stream.write_all(answer).unwrap();
                open.push(stream);
            }
        });
        let links = Links::new(host, Span::from_ms(30_000), 1);
        let limit = Span::from_ms(30_000);
        let both = |connection: &mut Connection| {
            let first = byte(connection)?;
            connection.fill_buf().map(|_| first) // the rest is there, whenever it came
        };
        assert_eq!(links.take().unwrap().ask_fresh(limit, both).unwrap(), 1);
        assert_eq!(links.take().unwrap().ask_fresh(limit, byte).unwrap(), 2);
        server.join().unwrap();
    }

    #[test]
    fn a_connection_that_was_closed_meanwhile_is_not_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            for number in 1..=2_u8 {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0]).unwrap();
                stream.write_all(&[number]).unwrap();
            }
        });
        let links = Links::new(host, Span::from_ms(30_000), 1);
        let limit = Span::from_ms(30_000);
        assert_eq!(links.take().unwrap().ask_fresh(limit, byte).unwrap(), 1);
        let mut link = links.take().unwrap();
        while link.connection.as_ref().is_some_and(|kept| kept.get_ref().stands()) {
            std::thread::yield_now();
        }
        assert_eq!(link.ask_fresh(limit, byte).unwrap(), 2);
        server.join().unwrap();
    }
}
