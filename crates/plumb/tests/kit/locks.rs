//! A lock server, and a client that speaks to it by hand, over TCP or a socket file.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{PATIENCE, Program, message};

/// A lock server that listens.
pub(crate) struct Server {
    pub(crate) program: Program,
    pub(crate) address: String,
}

impl Server {
    /// One on a free port of 127.0.0.1, started in `folder` with further `words`.
    pub(crate) fn start(words: &[&str], folder: &Path) -> Self {
        let words = [&["lock", "serve", "--listen", "127.0.0.1:0", "--quiet"], words].concat();
        Self::ready(Program::start(&words, folder))
    }

    /// The server `program`, once it says where it listens.
    pub(crate) fn ready(program: Program) -> Self {
        let line = program.line();
        let address = line.strip_prefix("listening on ").expect("where it listens").to_owned();
        Self { program, address }
    }

    /// What comes back for `request`, which is sent in pieces of so many bytes, until the server
    /// closes the connection.
    pub(crate) fn asked(&self, request: &str, piece: usize) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream.set_nodelay(true).expect("a socket of TCP");
        for piece in request.as_bytes().chunks(piece) {
            if stream.write_all(piece).is_err() {
                break; // it has closed already
            }
        }
        let mut said = Vec::new();
        // what was sent behind the end makes the kernel reset the connection
        let _ = stream.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Waits until the log says this, however much else it says.
    pub(crate) fn heard(&self, text: &str) {
        let says = || self.program.log_now().is_some_and(|line| line.contains(text));
        super::until_said(&|| format!("{} to say `{text}`", self.address), || says().then_some(()));
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.address).expect("it listens")
    }

    /// Host and port.
    pub(crate) fn place(&self) -> (&str, &str) {
        self.address.rsplit_once(':').expect("an address of TCP")
    }
}

trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// One client on one connection.
pub(crate) struct Client {
    stream: BufReader<Box<dyn Stream>>,
}

impl Client {
    /// A connection to `address`, or to the socket file behind `unix:`.
    pub(crate) fn connect(address: &str) -> io::Result<Self> {
        let stream: Box<dyn Stream> = match address.strip_prefix("unix:") {
            Some(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Box::new(stream)
            }
            None => {
                let stream = TcpStream::connect(address)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
        };
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// The words of the reply; an error when the server is gone.
    pub(crate) fn ask(&mut self, command: &str) -> io::Result<Vec<String>> {
        self.send(format!("{command}\r\n").as_bytes())?;
        self.reply()
    }

    /// The number of the reply to `command`, which must be one.
    pub(crate) fn number(&mut self, command: &str) -> u64 {
        let reply = self.ask(command).expect("the server answers");
        number(&reply).unwrap_or_else(|| panic!("{command}: {reply:?}"))
    }

    /// Sends bytes, whatever they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// The words of the next reply.
    pub(crate) fn reply(&mut self) -> io::Result<Vec<String>> {
        let head = self.line()?;
        let Some(count) = head.strip_prefix('*') else {
            return Ok(vec![head]);
        };
        (0..count.parse().expect("a count")).map(|_| self.word()).collect()
    }

    fn word(&mut self) -> io::Result<String> {
        let line = self.line()?;
        if line.starts_with('$') { self.line() } else { Ok(line) }
    }

    fn line(&mut self) -> io::Result<String> {
        message::line(&mut self.stream)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// The number that a reply is.
pub(crate) fn number(reply: &[String]) -> Option<u64> {
    match reply {
        [only] => only.strip_prefix(':')?.parse().ok(),
        _ => None,
    }
}
