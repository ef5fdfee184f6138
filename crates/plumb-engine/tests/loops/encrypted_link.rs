//! TLS as a link: both loops, unchanged, over encrypted connections.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use crate::mirror;

use std::io::Read as _;
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use mirror::{Bulk, Mirror};
use plumb_engine::tls::{ServerTlsOptions, TrustOptions};
use plumb_engine::{
    Ended, Endpoint, EngineError, Extent, Listener, LoadPlan, LoadResult, ServePlan, Stage, Stop,
    TlsAcceptor, TlsConnector, Waiting, load, serve,
};
use plumb_measure::Span;

/// The files of a certificate that vouches for itself.
struct Identity {
    folder: tempfile::TempDir,
}

impl Identity {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let identity = Self { folder };
        std::fs::write(identity.cert(), made.cert.pem()).unwrap();
        std::fs::write(identity.key(), made.signing_key.serialize_pem()).unwrap();
        std::fs::set_permissions(identity.key(), std::fs::Permissions::from_mode(0o600)).unwrap();
        identity
    }

    fn cert(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    fn server(&self, client_ca: Option<&Path>) -> TlsAcceptor {
        let options = ServerTlsOptions {
            tls: true,
            cert: Some(self.cert()),
            key: Some(self.key()),
            client_ca: client_ca.map(Path::to_owned),
        };
        options.acceptor(&[b"http/1.1"]).unwrap().unwrap()
    }

    fn client(&self) -> TlsConnector {
        let trust = TrustOptions { ca: Some(self.cert()), ..TrustOptions::default() };
        TlsConnector::new(&trust, "localhost", &[b"http/1.1"]).unwrap()
    }
}

fn plan() -> LoadPlan {
    LoadPlan {
        connections: NonZeroUsize::new(3).unwrap(),
        depth: NonZeroUsize::new(2).unwrap(),
        waiting: Waiting::Epoll,
        ..LoadPlan::lone(300, Span::from_ms(30_000))
    }
}

/// One conversation that blocks in its receive.
fn alone() -> LoadPlan {
    LoadPlan::lone(300, Span::from_ms(30_000))
}

fn serve_plan(stall: Span) -> ServePlan {
    ServePlan { quit_after: Some(Span::from_ms(30_000)), ..ServePlan::new(9, stall) }
}

/// Runs `work` beside a server, and gives back what the server saw.
fn beside<R>(server: &TlsAcceptor, stall: Span, work: impl FnOnce(&Endpoint) -> R) -> (R, Mirror) {
    let any = Endpoint::Tcp("127.0.0.1:0".parse().unwrap());
    let listeners = [Listener::bind(&any).unwrap()];
    let endpoint = Endpoint::Tcp(listeners[0].local().parse().unwrap());
    let stop = Stop::new().unwrap();
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let mut mirror = Mirror::default();
            serve(&serve_plan(stall), &listeners, &mut mirror, || server.link(), &stop).unwrap();
            mirror
        });
        let result = work(&endpoint);
        stop.ask();
        (result, serving.join().unwrap())
    })
}

fn drive(
    server: &TlsAcceptor,
    client: &TlsConnector,
    plan: &LoadPlan,
    bytes: usize,
) -> (Result<LoadResult<Bulk>, EngineError>, Mirror) {
    beside(server, Span::from_ms(30_000), |endpoint| {
        let stop = Stop::new().unwrap();
        let mut stage = Stage { endpoint, stop: &stop, samplers: &mut [], gate: None };
        load::run(plan, &mut stage, 1, || Bulk(bytes), || client.link())
    })
}

#[test]
fn a_load_over_tls_differs_only_in_its_link() {
    let identity = Identity::new();
    let (server, client) = (identity.server(None), identity.client());
    for plan in [plan(), alone(), LoadPlan { waiting: Waiting::Spin, ..alone() }] {
        for bytes in [1, 4_096, 100_000] {
            let load = drive(&server, &client, &plan, bytes).0.unwrap();
            let recorder = &load.recorder;
            assert_eq!((recorder.operations(), recorder.failures().total()), (300, 0), "{bytes}");
            assert_eq!(recorder.handshake.count(), recorder.connect.count());
            let proof = load.transports.first().and_then(|it| it.tls.clone()).unwrap();
            assert_eq!(proof, "TLSv1.3 TLS13_AES_128_GCM_SHA256 http/1.1");
        }
    }
}

#[test]
fn what_the_kernel_does_not_take_at_once_goes_later() {
    let identity = Identity::new();
    let (server, client) = (identity.server(None), identity.client());
    let plan = LoadPlan { extent: Extent::Count(12), ..plan() };
    let load = drive(&server, &client, &plan, 10_000_000).0.unwrap();
    assert_eq!((load.recorder.operations(), load.recorder.failures().total()), (12, 0));
}

#[test]
fn a_certificate_nobody_vouches_for_ends_the_run_before_it_begins() {
    let (identity, other) = (Identity::new(), Identity::new());
    let (load, _) = drive(&other.server(None), &identity.client(), &plan(), 1);
    let error = load.err().unwrap();
    assert!(matches!(error, EngineError::Greeting { .. }), "{error}");
    assert!(error.to_string().contains("shows a certificate that"), "{error}");
}

#[test]
fn a_refusal_after_the_handshake_ends_a_run_that_has_measured_nothing() {
    let identity = Identity::new();
    let server = identity.server(Some(&identity.cert()));
    for plan in [plan(), alone()] {
        let (load, mirror) = drive(&server, &identity.client(), &plan, 1000);
        let error = load.err().unwrap().to_string();
        assert!(error.contains("demands a client certificate"), "{error}");
        assert_eq!(mirror.complaints[0], "showed no client certificate");
    }
}

#[test]
fn a_handshake_that_does_not_go_on_is_ended() {
    let identity = Identity::new();
    let ((), mirror) = beside(&identity.server(None), Span::from_ms(1), |endpoint| {
        let mut silent = TcpStream::connect(endpoint.to_string()).unwrap();
        assert_eq!(silent.read(&mut [0; 16]).unwrap(), 0);
    });
    assert_eq!(mirror.ended, [Ended::Stalled]);
}
