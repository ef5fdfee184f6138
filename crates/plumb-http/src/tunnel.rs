//! Through a proxy to a server: CONNECT first, then whatever link crosses the tunnel.

use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use plumb_engine::{Link, Plain, Received};
use plumb_wire::http::{Ask, HEAD_BYTES_MAX, Memo};

/// Bytes of an answer to CONNECT that one read asks for.
const READ_BYTES: usize = 4 << 10;

/// What asks a proxy for a tunnel to one server.
pub(crate) struct Opening {
    /// Host and port of the server.
    pub(crate) server: String,
    /// The complete request.
    pub(crate) request: Vec<u8>,
    /// The request says who asks.
    pub(crate) says_who: bool,
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // the request may hold a password
        f.debug_struct("Opening").field("server", &self.server).finish_non_exhaustive()
    }
}

/// A link inside a tunnel that its handshake opens.
#[derive(Debug)]
pub(crate) struct Tunnel<L> {
    opening: Arc<Opening>,
    /// `None` once the tunnel stands.
    talk: Option<Talk>,
    link: L,
}

/// What was said to the proxy, and what it said.
#[derive(Debug, Default)]
struct Talk {
    /// Bytes of the request that were sent.
    sent: usize,
    answer: Vec<u8>,
    /// Bytes of the answer that only announced another one.
    passed: usize,
}

impl<L: Link> Tunnel<L> {
    /// A tunnel that `opening` asks for, and `link` inside it.
    pub(crate) fn new(opening: Arc<Opening>, link: L) -> Self {
        Self { opening, talk: Some(Talk::default()), link }
    }
}

impl<L: Link> Link for Tunnel<L> {
    const ENCRYPTED: bool = true;
    const BLOCKS: bool = L::BLOCKS;

    fn handshake(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        if let Some(talk) = &mut self.talk {
            talk.go_on(&self.opening, socket)?;
            self.talk = None;
        }
        self.link.handshake(socket).map_err(|error| self.opening.behind(error))
    }

    fn proof(&self) -> Option<String> {
        self.link.proof()
    }

    fn resumed(&self) -> bool {
        self.link.resumed()
    }

    fn holds_back(&self) -> bool {
        self.link.holds_back()
    }

    fn finish(&mut self, socket: BorrowedFd<'_>) {
        self.link.finish(socket);
    }

    #[inline]
    fn recv(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<Received> {
        self.link.recv(socket, into).map_err(|error| self.opening.behind(error))
    }

    #[inline]
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        self.link.send(socket, bytes)
    }

    #[inline]
    fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.link.flush(socket)
    }
}

impl Talk {
    /// Asks, and reads the answer; `Ok` when the tunnel stands.
    fn go_on(&mut self, opening: &Opening, socket: BorrowedFd<'_>) -> io::Result<()> {
        let cut = |error: io::Error| match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => opening.cut_short(),
            _ => error,
        };
        while self.sent < opening.request.len() {
            self.sent +=
                Plain::default().send(socket, &opening.request[self.sent..]).map_err(cut)?;
        }
        while !self.stands(opening)? {
            self.answer.reserve(READ_BYTES);
            if Plain::default().recv(socket, &mut self.answer).map_err(cut)?.bytes == 0 {
                return Err(opening.cut_short());
            }
        }
        Ok(())
    }

    /// True when the answer is complete and leads on.
    fn stands(&mut self, opening: &Opening) -> io::Result<bool> {
        loop {
            match Memo::new(Ask::Connect).read(&self.answer[self.passed..]) {
                Ok(None) if self.answer.len() < HEAD_BYTES_MAX => return Ok(false),
                Ok(Some((head, length))) if head.interim() => self.passed += length,
                Ok(Some((head, length))) if head.status / 100 == 2 => {
                    // a server waits for the client to begin TLS, so nothing can follow yet
                    let rest = self.answer.len() - self.passed - length;
                    return if rest == 0 { Ok(true) } else { Err(opening.no_proxy()) };
                }
                Ok(Some((head, _))) => return Err(opening.refused(head.status)),
                Ok(None) | Err(_) => return Err(opening.no_proxy()),
            }
        }
    }
}

/// What went wrong, in words that follow the address of the proxy.
impl Opening {
    fn refused(&self, status: u16) -> io::Error {
        let why = match status {
            407 if self.says_who => "it does not accept PLUMB_PROXY_USER and PLUMB_PROXY_PASSWORD",
            407 => {
                "it wants to know who asks; set PLUMB_PROXY_USER and PLUMB_PROXY_PASSWORD (Basic)"
            }
            502..=504 => "it does not reach that server; check the host and port of the URL",
            403 | 405 => "it leads nobody there; is it a proxy for https, and for that port?",
            _ => "see the log of the proxy",
        };
        words(format!("answers CONNECT {} with {status}: {why}", self.server))
    }

    fn no_proxy(&self) -> io::Error {
        words(format!(
            "does not answer CONNECT {} as HTTP/1.1 demands: is that the port of a proxy?",
            self.server
        ))
    }

    fn cut_short(&self) -> io::Error {
        words(format!("closed the connection instead of leading to {}", self.server))
    }

    /// What the server behind the proxy did.
    fn behind(&self, error: io::Error) -> io::Error {
        match error.kind() {
            ErrorKind::InvalidData => words(format!("leads to {}, which {error}", self.server)),
            _ => error,
        }
    }
}

/// An error whose text says what to try, as those of a TLS handshake.
fn words(text: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    const ASKED: &str = "CONNECT db1:443 HTTP/1.1\r\nHost: db1:443\r\n\r\n";

    /// A tunnel that has asked, its socket, and the socket of the proxy.
    fn asked() -> (Tunnel<Plain>, UnixStream, UnixStream) {
        let (socket, mut proxy) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        let opening = Opening { server: "db1:443".into(), request: ASKED.into(), says_who: false };
        let mut tunnel = Tunnel::new(Arc::new(opening), Plain::default());
        let waits = tunnel.handshake(socket.as_fd()).unwrap_err();
        assert_eq!(waits.kind(), ErrorKind::WouldBlock);
        let mut request = [0; ASKED.len()];
        proxy.read_exact(&mut request).unwrap();
        assert_eq!(request, ASKED.as_bytes());
        (tunnel, socket, proxy)
    }

    #[test]
    fn a_tunnel_stands_when_the_last_byte_of_the_answer_is_there() {
        let (mut tunnel, socket, mut proxy) = asked();
        let answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 Connection established\r\n\r\n";
        let (last, start) = answer.split_last().unwrap();
        for byte in start {
            proxy.write_all(&[*byte]).unwrap();
            let waits = tunnel.handshake(socket.as_fd()).unwrap_err();
            assert_eq!(waits.kind(), ErrorKind::WouldBlock);
        }
        proxy.write_all(&[*last]).unwrap();
        tunnel.handshake(socket.as_fd()).unwrap();
        assert_eq!(tunnel.send(socket.as_fd(), b"hello").unwrap(), 5);
        let mut inside = [0; 5];
        proxy.read_exact(&mut inside).unwrap();
        assert_eq!(&inside, b"hello");
    }

    #[test]
    fn a_refusal_is_named_with_what_to_try() {
        for (answer, said) in [
            ("HTTP/1.1 407 x\r\nContent-Length: 0\r\n\r\n", "set PLUMB_PROXY_USER"),
            ("HTTP/1.1 502 x\r\nContent-Length: 3\r\n\r\noh.", "does not reach that server"),
            ("HTTP/1.1 405 x\r\n\r\n", "a proxy for https"),
            ("HTTP/1.1 302 x\r\nLocation: /\r\n\r\n", "302: see the log"),
            ("HTTP/1.1 200 x\r\n\r\nmore", "port of a proxy?"),
            ("SSH-2.0-OpenSSH\r\n", "port of a proxy?"),
            ("", "instead of leading to db1:443"),
        ] {
            let (mut tunnel, socket, mut proxy) = asked();
            proxy.write_all(answer.as_bytes()).unwrap();
            drop(proxy);
            let error = tunnel.handshake(socket.as_fd()).unwrap_err();
            assert!(error.to_string().contains(said), "{answer}: {error}");
            assert_eq!(error.kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn an_answer_without_an_end_is_refused() {
        let (mut tunnel, socket, mut proxy) = asked();
        let interim = b"HTTP/1.1 102 Processing\r\n\r\n".repeat(8);
        let mut said = 0;
        let error = loop {
            assert!(said <= HEAD_BYTES_MAX + interim.len(), "it would read for ever");
            proxy.write_all(&interim).unwrap();
            said += interim.len();
            match tunnel.handshake(socket.as_fd()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => break other.unwrap_err(),
            }
        };
        assert!(error.to_string().contains("port of a proxy?"), "{error}");
    }

    #[test]
    fn a_request_that_may_hold_a_password_is_not_shown() {
        let request = b"Proxy-Authorization: Basic c2VjcmV0".to_vec();
        let opening = Opening { server: "db1:443".into(), request, says_who: true };
        assert_eq!(format!("{opening:?}"), "Opening { server: \"db1:443\", .. }");
        assert!(opening.refused(407).to_string().contains("does not accept"));
    }
}
