//! A server of HTTP/2 that says what a test wants, frame by frame, and nghttpd.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::authority::Signed;
use super::{PATIENCE, free_address};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const GOAWAY: u8 = 7;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
/// The last frame of a stream and of a head.
const END: u8 = 5;

/// A frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, l0, l1, l2] = u32::try_from(payload.len()).expect("it is short").to_be_bytes();
    [&[l0, l1, l2, kind, flags], &stream.to_be_bytes()[..], payload].concat()
}

/// Settings, as pairs of identifier and value.
pub(crate) fn settings(pairs: &[(u16, u32)]) -> Vec<u8> {
    let pairs = pairs.iter().flat_map(|(name, value)| {
        name.to_be_bytes().into_iter().chain(value.to_be_bytes()).collect::<Vec<u8>>()
    });
    frame(SETTINGS, 0, 0, &pairs.collect::<Vec<u8>>())
}

/// A whole answer: 200 and `body`.
pub(crate) fn page(stream: u32, body: &str) -> Vec<u8> {
    [frame(HEADERS, 4, stream, &[0x88]), frame(DATA, END_STREAM, stream, body.as_bytes())].concat()
}

/// The same as HTML.
pub(crate) fn html(stream: u32, body: &str) -> Vec<u8> {
    // `content-type` is number 31 in the table of HPACK
    let head = [&[0x88, 0x0f, 0x10, 9][..], b"text/html"].concat();
    [frame(HEADERS, 4, stream, &head), frame(DATA, END_STREAM, stream, body.as_bytes())].concat()
}

/// A whole answer without content, of a status that has a number in the table of HPACK: 8 is 200, 14
/// is 500.
pub(crate) fn bare(stream: u32, status: u8) -> Vec<u8> {
    frame(HEADERS, END, stream, &[0x80 | status])
}

/// The end of a stream.
pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// The end of the connection: what came after `last` was not processed.
pub(crate) fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// A request that is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedStream {
    pub(crate) stream: u32,
    /// Its number among all, from zero.
    pub(crate) number: usize,
    /// Its number on the connection, from zero.
    pub(crate) here: usize,
    /// Bytes of its content.
    pub(crate) bytes: usize,
}

/// A server on a free port of 127.0.0.1; ends with the process.
#[derive(Debug)]
pub(crate) struct Http2Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Http2Server {
    /// Begins each connection with settings, and answers each request with what `answer` returns;
    /// `None` closes the connection.
    pub(crate) fn start(
        ours: &[(u16, u32)],
        answer: impl Fn(AskedStream) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        Self::listening(ours, answer, Ok)
    }

    /// The same over TLS, with a certificate, for clients that ask for HTTP/2.
    pub(crate) fn encrypted(
        shown: &Signed,
        ours: &[(u16, u32)],
        answer: impl Fn(AskedStream) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let mut config = ServerConfig::clone(&shown.server_config());
        config.alpn_protocols = vec![b"h2".to_vec()];
        let config = Arc::new(config);
        Self::listening(ours, answer, move |stream| {
            let session = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
            Ok(StreamOwned::new(session, stream))
        })
    }

    /// Speaks over what `wrap` makes of each connection.
    fn listening<S: Read + Write>(
        ours: &[(u16, u32)],
        answer: impl Fn(AskedStream) -> Option<Vec<u8>> + Send + Sync + 'static,
        wrap: impl Fn(TcpStream) -> io::Result<S> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (asked, connections) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let (answer, wrap, hello) = (Arc::new(answer), Arc::new(wrap), settings(ours));
        let counted: Arc<AtomicUsize> = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let (asked, answer) = (Arc::clone(&asked), Arc::clone(&answer));
                let (wrap, hello) = (Arc::clone(&wrap), hello.clone());
                // a client that goes is no matter
                thread::spawn(move || {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_nodelay(true)?;
                    converse(wrap(stream)?, &hello, &asked, &*answer)
                });
            }
        });
        Self { address, connections }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Connections that were made, that of resolving the URL among them.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn converse(
    mut stream: impl Read + Write,
    hello: &[u8],
    asked: &AtomicUsize,
    answer: &dyn Fn(AskedStream) -> Option<Vec<u8>>,
) -> io::Result<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface)?;
    assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    stream.write_all(hello)?;
    let (mut here, mut bytes) = (0, 0);
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let [l0, l1, l2, kind, flags, id @ ..] = head;
        let (length, id) = (u32::from_be_bytes([0, l0, l1, l2]), u32::from_be_bytes(id));
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload)?;
        match kind {
            SETTINGS if flags == 0 => stream.write_all(&frame(SETTINGS, 1, 0, &[]))?,
            PING if flags == 0 => stream.write_all(&frame(PING, 1, 0, &payload))?,
            DATA if length > 0 => {
                bytes += payload.len();
                for of in [0, id] {
                    stream.write_all(&frame(WINDOW_UPDATE, 0, of, &length.to_be_bytes()))?;
                }
            }
            _ => {}
        }
        if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
            let number = asked.fetch_add(1, Ordering::SeqCst);
            match answer(AskedStream { stream: id, number, here, bytes }) {
                None => return Ok(()),
                Some(frames) => stream.write_all(&frames)?,
            }
            (here, bytes) = (here + 1, 0);
        }
    }
}

/// nghttpd, ended with the test.
#[derive(Debug)]
pub(crate) struct Nghttpd {
    child: Child,
    address: String,
    scheme: &'static str,
}

impl Nghttpd {
    /// Serves the files of `folder` over clear text; why not, where it is not installed.
    pub(crate) fn start(folder: &Path) -> Result<Self, String> {
        Self::listening("http", folder, &["--no-tls"], &[])
    }

    /// The same over TLS, with a certificate.
    pub(crate) fn encrypted(folder: &Path, shown: &Signed) -> Result<Self, String> {
        Self::listening("https", folder, &[], &[&shown.key, &shown.cert])
    }

    fn listening(
        scheme: &'static str,
        folder: &Path,
        words: &[&str],
        shown: &[&str],
    ) -> Result<Self, String> {
        let address = free_address();
        let port = address.rsplit(':').next().unwrap_or_default();
        let child = Command::new("nghttpd")
            .args(["-a", "127.0.0.1", "--echo-upload", "-d"])
            .arg(folder)
            .args(words)
            .arg(port)
            .args(shown)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = child.map_err(|error| format!("nghttpd: {error}; ./test installs it"))?;
        let started = Self { child, address, scheme };
        super::until(|| TcpStream::connect(&started.address).ok());
        Ok(started)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }
}

impl Drop for Nghttpd {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it has ended already, unless the test failed
        let _ = self.child.wait();
    }
}
