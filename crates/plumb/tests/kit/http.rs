//! A server of HTTP that answers as badly as a test wants, and a real one.

use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use super::PATIENCE;
use super::authority::Signed;
use super::message::Message;

/// What a site does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Sends this, and waits for the next request.
    Keep(Vec<u8>),
    /// Sends this in pieces of one byte.
    Drip(Vec<u8>),
    /// Sends this, and closes the connection.
    Close(Vec<u8>),
    /// Sends this for as long as somebody takes it.
    Endless(Vec<u8>),
    /// Says nothing until the other side gives up.
    Silence,
}

impl Reply {
    /// A complete answer with further header lines, each with its end.
    pub(crate) fn answer(status: u16, lines: &str, body: &str) -> Self {
        let length = body.len();
        let head = format!("HTTP/1.1 {status} x\r\n{lines}Content-Length: {length}\r\n\r\n");
        Self::Keep([head.into_bytes(), body.into()].concat())
    }

    /// 200 with `body`.
    pub(crate) fn page(body: &str) -> Self {
        Self::answer(200, "", body)
    }
}

/// A server on a free port of 127.0.0.1; ends with the process.
#[derive(Clone, Debug)]
pub(crate) struct ReplyServer {
    pub(crate) address: SocketAddr,
    scheme: &'static str,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ReplyServer {
    /// Answers each request as `answer` says, which sees its head and how many came before it.
    pub(crate) fn start(answer: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Self {
        Self::reading(move |request, before| answer(&request.head, before))
    }

    /// The same, which sees the content of requests too.
    pub(crate) fn reading(
        answer: impl Fn(&Message, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::listening("http", answer, Ok)
    }

    /// The same over TLS, with a certificate.
    pub(crate) fn encrypted(
        shown: &Signed,
        answer: impl Fn(&str, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::encrypted_by(shown.server_config(), answer)
    }

    /// The same with a configuration of TLS.
    pub(crate) fn encrypted_by(
        config: Arc<ServerConfig>,
        answer: impl Fn(&str, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let answer = move |request: &Message, before: usize| answer(&request.head, before);
        Self::listening("https", answer, move |stream| {
            let session = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
            Ok(StreamOwned::new(session, stream))
        })
    }

    /// Speaks over what `wrap` makes of each connection.
    fn listening<S: Read + Write>(
        scheme: &'static str,
        answer: impl Fn(&Message, usize) -> Reply + Send + Sync + 'static,
        wrap: impl Fn(TcpStream) -> io::Result<S> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let site = Self { address, scheme, asked: Arc::clone(&asked) };
        let (answer, wrap) = (Arc::new(answer), Arc::new(wrap));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, wrap, asked) =
                    (Arc::clone(&answer), Arc::clone(&wrap), Arc::clone(&asked));
                // a client that goes away ends its conversation
                thread::spawn(move || {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(PATIENCE))?;
                    converse(wrap(stream)?, answer.as_ref(), &asked)
                });
            }
        });
        site
    }

    /// Answers every request with the same.
    pub(crate) fn always(reply: Reply) -> Self {
        Self::start(move |_, _| reply.clone())
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// The heads of all requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panics with it").clone()
    }
}

fn converse(
    stream: impl Read + Write,
    answer: &(impl Fn(&Message, usize) -> Reply + ?Sized),
    asked: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(request) = Message::read(&mut reader)? {
        let stream = reader.get_mut();
        let before = {
            let mut asked = asked.lock().expect("nobody panics with it");
            asked.push(request.head.clone());
            asked.len() - 1
        };
        match answer(&request, before) {
            Reply::Keep(bytes) => stream.write_all(&bytes)?,
            Reply::Drip(bytes) => bytes.iter().try_for_each(|byte| stream.write_all(&[*byte]))?,
            Reply::Close(bytes) => {
                stream.write_all(&bytes)?;
                return Ok(());
            }
            Reply::Endless(bytes) => loop {
                stream.write_all(&bytes)?;
            },
            Reply::Silence => {}
        }
    }
    Ok(())
}

/// An nginx that serves `/1k` and `/100k`, over plain HTTP or over TLS, ended with the test.
#[derive(Debug)]
pub(crate) struct Nginx {
    child: Child,
    address: SocketAddr,
    scheme: &'static str,
    _folder: TempDir,
}

impl Nginx {
    /// Starts it; why not, where it is not installed.
    pub(crate) fn start() -> Result<Self, String> {
        Self::listening("http", "", "")
    }

    /// Starts it for HTTP/2 alone.
    pub(crate) fn over_http2() -> Result<Self, String> {
        Self::listening("http", " http2", "")
    }

    /// Starts it with a certificate.
    pub(crate) fn encrypted(shown: &Signed) -> Result<Self, String> {
        Self::shown(shown, " ssl")
    }

    /// Starts it with a certificate, for either version of HTTP.
    pub(crate) fn encrypted_for_both(shown: &Signed) -> Result<Self, String> {
        Self::shown(shown, " ssl http2")
    }

    fn shown(Signed { cert, key }: &Signed, how: &str) -> Result<Self, String> {
        let lines = format!("ssl_certificate {cert}; ssl_certificate_key {key};");
        Self::listening("https", how, &lines)
    }

    fn listening(scheme: &'static str, how: &str, lines: &str) -> Result<Self, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().display().to_string();
        fs::write(folder.path().join("1k"), "x".repeat(1_024)).expect("a file");
        fs::write(folder.path().join("100k"), "x".repeat(100 << 10)).expect("a file");
        // it inherits the socket as its standard input, so that whoever connects while it starts
        // waits for it instead of being refused
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let config = format!(
            "user root root; worker_processes 1; daemon off; pid {place}/pid; \
             error_log {place}/error; events {{ worker_connections 256; }} http {{ access_log off; \
             client_body_temp_path {place}/1; proxy_temp_path {place}/2; \
             fastcgi_temp_path {place}/3; uwsgi_temp_path {place}/4; scgi_temp_path {place}/5; \
             server {{ listen {address}{how}; {lines} root {place}; \
             location = /moved {{ return 302 /1k; }} \
             location = /closing {{ keepalive_timeout 0; try_files /1k =404; }} }} }}"
        );
        let file = folder.path().join("nginx.conf");
        fs::write(&file, config).expect("a file");
        let child = Command::new("nginx")
            .arg("-e")
            .arg(folder.path().join("error"))
            .arg("-c")
            .arg(&file)
            .env("NGINX", "0;")
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match child {
            Ok(child) => Ok(Self { child, address, scheme, _folder: folder }),
            Err(error) => Err(format!("nginx: {error}; ./test installs it")),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // asked, it ends its worker, too; it has ended already, unless the test failed
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
