//! The bytes of one TLS connection.

use std::io::{self, BufRead as _, ErrorKind, IoSlice, Read, Write};
use std::os::fd::BorrowedFd;

use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};
use rustls::{CommonState, Connection, HandshakeKind};

use super::words::{self, Side};
use crate::link::{Link, Plain, Received};

/// Version, cipher and, where one was agreed on, the protocol spoken over `session`; `None` before
/// its handshake.
#[must_use]
pub fn proof(session: &CommonState) -> Option<String> {
    let version = session.protocol_version()?.as_str()?.replace("TLSv1_", "TLSv1.");
    let cipher = session.negotiated_cipher_suite()?.suite();
    let cipher = cipher.as_str()?;
    Some(match session.alpn_protocol() {
        None => format!("{version} {cipher}"),
        Some(alpn) => format!("{version} {cipher} {}", String::from_utf8_lossy(alpn)),
    })
}

/// A TLS session as a [`Link`]: records are read from the socket into the session's own buffer,
/// and written from there.
#[derive(Debug)]
pub struct Tls {
    /// In a box: a session has kilobytes, and the loops move their connections about.
    session: Box<Result<Connection, rustls::Error>>,
    /// The last read from the socket brought less than it asked for.
    drained: bool,
    /// The session has met an error, which it tells again and again.
    broken: bool,
    /// A session that agreed on no application protocol is refused.
    demanding: bool,
}

impl Tls {
    pub(super) fn new(session: Result<Connection, rustls::Error>) -> Self {
        Self { session: Box::new(session), drained: false, broken: false, demanding: false }
    }

    /// The same, which serves only where an application protocol is agreed on.
    pub(super) fn demanding(self) -> Self {
        Self { demanding: true, ..self }
    }

    fn session(&mut self) -> io::Result<&mut Connection> {
        match &mut *self.session {
            Ok(session) => Ok(session),
            Err(error) => Err(io::Error::other(error.clone())),
        }
    }

    /// Reads once from the socket, and deciphers what came; false at the end of the connection.
    fn read(&mut self, socket: BorrowedFd<'_>, flags: RecvFlags) -> io::Result<bool> {
        let mut source = Source { socket, flags, drained: false };
        let broken = self.broken;
        let session = self.session()?;
        let count = if broken { 0 } else { session.read_tls(&mut source)? };
        let processed = session.process_new_packets();
        self.drained = source.drained;
        if let Err(error) = processed {
            self.broken = true;
            // the other side should hear why; whether it can is its own affair
            let _ = self.flush(socket);
            return Err(words::refusal(self.side(), &error));
        }
        Ok(count > 0)
    }

    /// Moves plain bytes that are there already; none when the next must be read. At the end of
    /// the connection the session itself answers with zero or an error.
    fn take(&mut self, into: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let mut taken = 0;
        loop {
            let room = into.capacity() - into.len();
            let mut reader = self.session()?.reader();
            let chunk = match reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(_) if taken > 0 => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                // the end of the connection without a farewell is its end all the same
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            };
            let count = chunk.len().min(room);
            if count == 0 {
                break;
            }
            into.extend_from_slice(&chunk[..count]);
            reader.consume(count);
            taken += count;
        }
        Ok(Some(taken))
    }

    fn side(&self) -> Side {
        match &*self.session {
            Ok(Connection::Server(_)) => Side::Server,
            _ => Side::Client,
        }
    }

    fn shake(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        loop {
            self.flush(socket)?;
            let session = self.session()?;
            if !session.is_handshaking() {
                let agreed = session.alpn_protocol().is_some();
                return if agreed || !self.demanding { Ok(()) } else { Err(words::no_protocol()) };
            }
            if !self.read(socket, RecvFlags::DONTWAIT)? {
                return Err(words::cut_short(self.side()));
            }
        }
    }
}

impl Link for Tls {
    const ENCRYPTED: bool = true;
    const BLOCKS: bool = true;

    fn handshake(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.shake(socket).map_err(|error| match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => words::cut_short(self.side()),
            _ => error,
        })
    }

    fn proof(&self) -> Option<String> {
        proof(self.session.as_ref().as_ref().ok()?)
    }

    fn resumed(&self) -> bool {
        matches!(&*self.session, Ok(session) if session.handshake_kind() == Some(HandshakeKind::Resumed))
    }

    fn holds_back(&self) -> bool {
        matches!(&*self.session, Ok(session) if session.wants_write())
    }

    /// Waits, on a socket that blocks, only while it has nothing to bring.
    #[inline]
    fn recv(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<Received> {
        let before = into.len();
        let mut flags = RecvFlags::empty();
        loop {
            let ended = self.take(into)?.is_some_and(|bytes| bytes == 0);
            let bytes = into.len() - before;
            let full = into.len() == into.capacity();
            if full {
                self.drained = false; // by the next call more may have come
            }
            if ended || full || bytes > 0 && self.drained {
                return Ok(Received { bytes, drained: self.drained });
            }
            if bytes > 0 {
                flags = RecvFlags::DONTWAIT;
            }
            match self.read(socket, flags) {
                Ok(_) if self.holds_back() => match self.flush(socket) {
                    Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                    _ => {}
                },
                Ok(_) => {}
                Err(error) => {
                    // what came before is answered first; the next read meets the error again
                    if self.broken {
                        self.take(into)?;
                    }
                    let drained = error.kind() == ErrorKind::WouldBlock;
                    return match into.len() - before {
                        0 => Err(error),
                        bytes => Ok(Received { bytes, drained }),
                    };
                }
            }
        }
    }

    #[inline]
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.session()?.writer().write(bytes)?;
        match self.flush(socket) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ if taken == 0 => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(taken),
        }
    }

    #[inline]
    fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let session = self.session()?;
        while session.wants_write() {
            session.write_tls(&mut Sink { socket })?;
        }
        Ok(())
    }

    fn finish(&mut self, socket: BorrowedFd<'_>) {
        if let Ok(session) = self.session() {
            session.send_close_notify();
        }
        let _ = self.flush(socket); // a connection that is gone already needs no farewell
    }
}

/// A socket as rustls reads it.
struct Source<'a> {
    socket: BorrowedFd<'a>,
    flags: RecvFlags,
    drained: bool,
}

impl Read for Source<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let room = into.len();
        let (_, count) = recv(self.socket, into, self.flags)?;
        self.drained = count < room;
        Ok(count)
    }
}

/// A socket as rustls writes it; all its records go in one piece.
struct Sink<'a> {
    socket: BorrowedFd<'a>,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Plain::default().send(self.socket, bytes)
    }

    fn write_vectored(&mut self, records: &[IoSlice<'_>]) -> io::Result<usize> {
        if let [one] = records {
            return self.write(one);
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        Ok(sendmsg(self.socket, records, &mut SendAncillaryBuffer::default(), flags)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;
    use std::sync::Arc;

    use rustls::pki_types::{PrivateKeyDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

    use super::*;

    /// Both ends of a connection over loopback whose handshake is complete.
    fn pair() -> [(TcpStream, Tls); 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let other = listener.accept().unwrap().0;
        [&one, &other].iter().for_each(|stream| stream.set_nodelay(true).unwrap());
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let chain = vec![made.cert.der().clone()];
        let server =
            ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let client = ClientConnection::new(Arc::new(client), name).map(Connection::from);
        let server = ServerConnection::new(Arc::new(server)).map(Connection::from);
        let mut ends = [(one, Tls::new(client)), (other, Tls::new(server))];
        for _ in 0..10 {
            for (stream, link) in &mut ends {
                match link.handshake(stream.as_fd()) {
                    Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
                    _ => {}
                }
            }
        }
        ends.iter().for_each(|(stream, _)| stream.set_nonblocking(true).unwrap());
        ends
    }

    /// What one call brings, at most `room` bytes of it.
    fn read(end: &mut (TcpStream, Tls), room: usize) -> io::Result<(Vec<u8>, bool)> {
        let mut into = Vec::with_capacity(room);
        let received = end.1.recv(end.0.as_fd(), &mut into)?;
        assert_eq!(received.bytes, into.len());
        Ok((into, received.drained))
    }

    fn say(end: &mut (TcpStream, Tls), words: &[u8]) {
        assert_eq!(end.1.send(end.0.as_fd(), words).unwrap(), words.len());
    }

    #[test]
    fn records_that_came_together_are_read_as_far_as_there_is_room() {
        let [mut client, mut server] = pair();
        [b"one ".as_slice(), b"two ", b"three"].iter().for_each(|word| say(&mut client, word));
        assert_eq!(read(&mut server, 6).unwrap(), (b"one tw".to_vec(), false));
        assert_eq!(read(&mut server, 64).unwrap(), (b"o three".to_vec(), true));
        let nothing = read(&mut server, 64).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn what_came_since_there_was_no_room_is_not_overlooked() {
        let [mut client, mut server] = pair();
        say(&mut client, b"one two ");
        assert_eq!(read(&mut server, 4).unwrap(), (b"one ".to_vec(), false));
        say(&mut client, b"three");
        assert_eq!(read(&mut server, 64).unwrap(), (b"two three".to_vec(), true));
    }

    #[test]
    fn a_farewell_is_the_end_and_so_is_none() {
        let [mut client, mut server] = pair();
        say(&mut client, b"last");
        client.1.finish(client.0.as_fd());
        assert_eq!(read(&mut server, 64).unwrap().0, b"last");
        assert_eq!(read(&mut server, 64).unwrap().0, b"");
        drop(server.0);
        assert_eq!(read(&mut client, 64).unwrap().0, b"");
    }

    #[test]
    fn what_came_before_an_error_is_read_first_and_the_error_is_not_forgotten() {
        let [mut client, mut server] = pair();
        say(&mut client, b"fine");
        (&client.0).write_all(b"\x17\x03\x03\x00\x11seventeen bytes..").unwrap();
        assert_eq!(read(&mut server, 64).unwrap(), (b"fine".to_vec(), false));
        for _ in 0..2 {
            let error = read(&mut server, 64).unwrap_err();
            assert!(words::speaks(&error), "{error}");
        }
    }
}
