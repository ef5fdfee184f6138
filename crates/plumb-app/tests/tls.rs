//! The server behind TLS, spoken to by a client that trusts only its certificate.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use std::fs::Permissions;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use plumb_app::{PoolOptions, Serve, ServeOptions};
use plumb_engine::Stop;
use plumb_engine::layer::Verb as _;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// What the server says, line by line.
struct Lines(mpsc::Sender<String>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // a test that has ended wants to know nothing
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn everything_is_encrypted_and_links_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, own.cert.pem()).unwrap();
    std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    let allow = |file, mode| std::fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
    allow(&key, 0o644);
    let pool = PoolOptions { file: None, work_processes: Some(1), database: None };
    let mut options = ServeOptions {
        pool,
        listen: vec!["127.0.0.1:0".into()],
        allow: Vec::new(),
        cert: Some(cert.clone()),
        key: Some(key.clone()),
        quiet: true,
    };
    let stop = Stop::new().unwrap();
    assert!(refusal(&options, &stop).contains("key.pem may be read or written by everybody"));
    allow(&key, 0o600);
    let mut serve = Serve::new(&options).unwrap();
    let (tell, told) = mpsc::channel();
    std::thread::scope(|threads| {
        let served = threads.spawn(|| serve.run(&mut Lines(tell), &mut io::sink(), &stop));
        let mut said = String::new();
        while !said.ends_with('\n') {
            said += &told.recv_timeout(Duration::from_secs(120)).unwrap();
        }
        let address = said.trim_end().strip_prefix("listening on ").unwrap();
        let mut trusted = RootCertStore::empty();
        trusted.add(own.cert.der().clone()).unwrap();
        let trusting = trusted.clone();
        let text = read(address, trusted, REQUEST);
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
        assert!(text.contains("xml:base=\"https://localhost/sap/opu/odata/"), "{text}");
        let redirect = redirected(address, trusting);
        assert!(redirect.contains("HttpOnly; SameSite=Lax; Secure\r\n"), "{redirect}");
        let plain = plain(address);
        stop.ask();
        served.join().unwrap().unwrap();
        assert!(!plain.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&plain));
    });
    options.key = Some(cert.clone());
    allow(&cert, 0o600);
    let error = refusal(&options, &stop);
    assert!(
        error.contains("cert.pem") && error.contains("expected a private key in PEM"),
        "{error}"
    );
}

/// Why the server does not start.
fn refusal(options: &ServeOptions, stop: &Stop) -> String {
    let mut wrong = Serve::new(options).unwrap();
    wrong.run(&mut io::sink(), &mut io::sink(), stop).unwrap_err().to_string()
}

const REQUEST: &str = "GET /sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/ HTTP/1.1\r\nHost: localhost\r\n\
    Authorization: Basic ZGVtbzpkZW1v\r\nConnection: close\r\n\r\n";

/// The answer to a page without a segment, which opens a session.
fn redirected(address: &str, trusted: RootCertStore) -> String {
    let page =
        REQUEST.replace("/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/", "/sap/bc/bsp/it03/page.htm");
    read(address, trusted, &page)
}

fn read(address: &str, trusted: RootCertStore, request: &str) -> String {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap(); // an end without a goodbye would be an error
    text
}

/// What a client without TLS is told.
fn plain(address: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(REQUEST.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes); // reset is as good as an end
    bytes
}
