//! TLS as a link: the handshake, records and renegotiated readiness fit behind the same trait as
//! plain bytes, on both sides, without a change to either loop.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread;

use plumb_engine::{
    Ended, Endpoint, EngineError, Extent, Link, Listener, LoadPlan, LoadResult, Null, Pace, Peer,
    Plain, Received, ServePlan, Served, Service, Stage, Stop, Waiting, load, serve,
};
use plumb_measure::Span;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

/// One TLS session of either side.
struct Tls {
    session: rustls::Connection,
}

/// A socket as rustls wants it.
struct Socket<'a>(BorrowedFd<'a>);

impl Read for Socket<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (bytes, _) = rustix::net::recv(self.0, into, rustix::net::RecvFlags::DONTWAIT)?;
        Ok(bytes)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Plain.send(self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tls {
    fn process(&mut self) -> io::Result<()> {
        self.session.process_new_packets().map(drop).map_err(io::Error::other)
    }
}

impl Link for Tls {
    const ENCRYPTED: bool = true;

    fn handshake(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        while self.session.is_handshaking() {
            self.flush(socket)?;
            if self.session.is_handshaking() && self.session.wants_read() {
                if self.session.read_tls(&mut Socket(socket))? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.process()?;
            }
        }
        self.flush(socket)
    }

    fn recv(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<Received> {
        let room = into.capacity() - into.len();
        let start = into.len();
        into.resize(start + room, 0);
        let mut filled = 0;
        let mut drained = false;
        while filled < room {
            match self.session.reader().read(&mut into[start + filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match self.session.read_tls(&mut Socket(socket)) {
                        Ok(0) => break,
                        Ok(_) => self.process()?,
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            drained = true;
                            break;
                        }
                        Err(error) => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        into.truncate(start + filled);
        if filled == 0 && drained {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Received { bytes: filled, drained })
    }

    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.session.writer().write(bytes)?;
        match self.flush(socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ if taken == 0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut Socket(socket))?;
        }
        Ok(())
    }
}

struct Mirror;

impl Service for Mirror {
    type Conn = ();

    fn open(&mut self, _: &Peer) -> Result<(), Vec<u8>> {
        Ok(())
    }

    fn serve(&mut self, (): &mut (), bytes: &[u8], _: &mut Vec<u8>) -> Served {
        Served { consumed: bytes.len(), echo: bytes.len(), close: false }
    }

    fn close(&mut self, (): (), _: Ended) {}
}

struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn identity() -> Identity {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    Identity { certificate: made.cert.der().clone(), key }
}

fn run(
    server: &Arc<ServerConfig>,
    client: &Arc<ClientConfig>,
) -> Result<LoadResult<Null>, EngineError> {
    let any = Endpoint::Tcp("127.0.0.1:0".parse().unwrap());
    let listeners = [Listener::bind(&any).unwrap()];
    let endpoint = Endpoint::Tcp(listeners[0].local().parse().unwrap());
    let plan = LoadPlan {
        connections: NonZeroUsize::new(3).unwrap(),
        threads: NonZeroUsize::MIN,
        depth: NonZeroUsize::new(2).unwrap(),
        pace: Pace::AsFast,
        extent: Extent::Count(300),
        warmup: Span::from_ns(0),
        connect_timeout: Span::from_ms(5_000),
        operation_timeout: Span::from_ms(5_000),
        lag_bound: Span::from_ms(1_000),
        waiting: Waiting::Epoll,
        pin: Vec::new(),
        interval: Span::from_ms(1_000),
    };
    let (server_stop, stop) = (Stop::new().unwrap(), Stop::new().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            let plan = ServePlan {
                max_clients: 9,
                idle: None,
                stall: Span::from_ms(5_000),
                quit_after: Some(Span::from_ms(30_000)),
                allow: Vec::new(),
                spin: false,
                pin: None,
            };
            let link =
                || Tls { session: ServerConnection::new(Arc::clone(server)).unwrap().into() };
            serve(&plan, &listeners, &mut Mirror, link, &server_stop).unwrap();
        });
        let mut stage = Stage { endpoint: &endpoint, stop: &stop, samplers: &mut [] };
        let link = || {
            let name = ServerName::try_from("localhost").unwrap();
            Tls { session: ClientConnection::new(Arc::clone(client), name).unwrap().into() }
        };
        let load = load::run(&plan, &mut stage, 1, Null::default, link);
        server_stop.ask();
        load
    })
}

fn server_config(identity: Identity) -> Arc<ServerConfig> {
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate], identity.key)
        .unwrap();
    Arc::new(config)
}

fn client_config(trusted: CertificateDer<'static>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).unwrap();
    Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

#[test]
fn a_load_over_tls_differs_only_in_its_link() {
    let identity = identity();
    let client = client_config(identity.certificate.clone());
    let load = run(&server_config(identity), &client).unwrap();
    assert_eq!((load.recorder.operations(), load.recorder.failures().total()), (300, 0));
    assert_eq!((load.recorder.connect.count(), load.recorder.handshake.count()), (3, 3));
}

#[test]
fn a_certificate_nobody_vouches_for_ends_the_run_before_it_begins() {
    let client = client_config(identity().certificate);
    let error = run(&server_config(identity()), &client).err().unwrap().to_string();
    assert!(error.contains("ended the handshake"), "{error}");
}
