//! A recording proxy as a child, what it says, and what it has written.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::Signal;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;
use tempfile::TempDir;

use super::message::{head, rest};
use super::{Ended, PATIENCE, Program, read};

/// `plumb http record` on a free port of 127.0.0.1, with a folder of its own.
#[derive(Debug)]
pub(crate) struct Recorder {
    program: Program,
    /// Where it listens, as it says.
    pub(crate) address: String,
    folder: TempDir,
}

impl Recorder {
    /// A recorder, ready.
    pub(crate) fn start(words: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let har = folder.path().join("session.har").display().to_string();
        let authority = folder.path().join("authority").display().to_string();
        let fixed = ["http", "record", "--listen", "127.0.0.1:0", "--out", &har];
        let words = [&fixed[..], &["--ca-dir", &authority], words].concat();
        let program = Program::start(&words, folder.path());
        let line = program.line();
        let address = line.strip_prefix("listening on ").expect("an address").to_owned();
        Self { program, address, folder }
    }

    /// The certificate of its authority.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.path().join("authority/plumb-ca.pem")
    }

    /// The next line on standard error.
    pub(crate) fn said(&self) -> String {
        self.program.log_line()
    }

    /// The log up to the next line with `words` in it; that line without its time.
    pub(crate) fn log(&self, words: &str) -> String {
        loop {
            let line = self.said();
            if line.contains(words) {
                return line.split_once("Z ").map_or(line.clone(), |(_, event)| event.to_owned());
            }
        }
    }

    /// What was recorded next: method, URL, and how it ended.
    pub(crate) fn recorded(&self) -> String {
        self.log(" recorded ").trim_start_matches("recorded ").to_owned()
    }

    /// The file as text.
    pub(crate) fn text(&self) -> String {
        read(&self.file())
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("session.har")
    }

    /// The entries in the file.
    pub(crate) fn entries(&self) -> Vec<Value> {
        let text = self.text();
        let har: Value = serde_json::from_str(&text).expect("a complete file");
        assert_eq!(har["log"]["version"], "1.2");
        har["log"]["entries"].as_array().expect("entries").clone()
    }

    /// Sends bytes over a new connection, and takes what comes until its end.
    pub(crate) fn ask(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // a proxy that has closed already does not matter
        let _ = stream.write_all(bytes);
        rest(&mut stream)
    }

    /// Asks for `url` on a connection of its own.
    pub(crate) fn get(&self, url: &str) -> String {
        self.ask(format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is above zero");
        stream
    }

    /// A connection that asked for a tunnel to `place`, and the head that came back.
    pub(crate) fn tunnel(&self, place: &str) -> (TcpStream, String) {
        let mut stream = self.connect();
        let request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it takes the request");
        let head = head(&mut stream);
        (stream, head)
    }

    /// Sends SIGTERM, and waits for the end.
    pub(crate) fn stop(self) -> (Ended, TempDir) {
        self.program.signal(Signal::TERM);
        (self.program.wait(), self.folder)
    }

    /// Ends it without a chance to do anything.
    pub(crate) fn kill(self) -> TempDir {
        self.program.signal(Signal::KILL);
        self.program.wait();
        self.folder
    }
}

/// TLS over `stream` for a client that believes only the authority in the file `ca`.
///
/// # Errors
/// What the handshake says.
pub(crate) fn encrypted(
    stream: TcpStream,
    ca: &Path,
    host: &str,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    encrypted_for(&[], stream, ca, host)
}

/// The same for a client that offers the protocols `offered`.
///
/// # Errors
/// What the handshake says.
pub(crate) fn encrypted_for(
    offered: &[&[u8]],
    mut stream: TcpStream,
    ca: &Path,
    host: &str,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(ca).expect("a certificate");
    roots.add(certificate).expect("that of an authority");
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = offered.iter().map(|protocol| protocol.to_vec()).collect();
    let name = ServerName::try_from(host.to_owned()).expect("a name");
    let mut session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    while session.is_handshaking() {
        session.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(session, stream))
}
