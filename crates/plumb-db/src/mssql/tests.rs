use std::sync::Arc;

use plumb_db_login::Url;
use plumb_measure::FailureKind;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio_rustls::TlsAcceptor;

use super::channel::Channel;
use super::exchange::NoAnswer;
use super::session::Session;
use super::wrapped::Wrapped;
use super::*;
use crate::answer::{Failure as _, Limits};
use crate::client::{Reached as _, Trouble};
use crate::database::{Access, Connection as _};
use crate::looks::{Look, Seen};
use crate::statement::Statement;
use crate::stream::Wire;
use plumb_sql::tds::said::{clock, done, error, let_in, long, one, text};
use plumb_sql::tds::wire::{self, HEAD, Head, Kind, PACKET};

fn bytes(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// Messages of a client, by their kinds.
type Said = Vec<(u8, Vec<u8>)>;

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// The messages of a client, and the answers of a peer that says `replies`, one to each.
async fn peer(mut far: UnixStream, replies: Vec<Vec<u8>>) -> Said {
    let mut said = Vec::new();
    for reply in replies {
        let Some(message) = heard(&mut far).await else { break };
        said.push(message);
        let mut out = Vec::new();
        wire::message(&mut out, Kind::Answer, &reply);
        far.write_all(&out).await.unwrap();
    }
    said
}

/// One message.
async fn heard(far: &mut UnixStream) -> Option<(u8, Vec<u8>)> {
    let mut payload = Vec::new();
    loop {
        let mut head = [0; HEAD];
        far.read_exact(&mut head).await.ok()?;
        let head = Head::read(head).unwrap();
        let mut packet = vec![0; head.length - HEAD];
        far.read_exact(&mut packet).await.ok()?;
        payload.extend(packet);
        if head.ends {
            return Some((head.kind, payload));
        }
    }
}

fn door(url: &str, endpoint: Endpoint) -> Door {
    let look = |name: &str| (name == "SQLCMDPASSWORD").then(|| "sesame".to_owned());
    let login = Login::of(&Url::parse(url).unwrap(), &look).unwrap();
    Door::new(endpoint, &login, Span::from_ms(5_000)).unwrap()
}

/// What comes of a log-on at a peer that says `replies`, and what the client said.
fn at_peer(endpoint: Endpoint, replies: Vec<Vec<u8>>) -> (Result<Session, NotOpened>, Said) {
    block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        let peer = tokio::spawn(peer(far, replies));
        let door = door("mssql://sa@db3/erp", endpoint);
        let opened = Session::over(&door, Wire::of_pair(near)).await.map(|(session, _)| session);
        (opened, peer.await.unwrap())
    })
}

const PLAIN: [u8; 7] = [1, 0, 6, 0, 1, 0xff, 2];

#[test]
fn a_log_on_stands_where_the_protocol_has_it() {
    let (session, said) = at_peer(Endpoint::Own, vec![PLAIN.into(), let_in(), done(0)]);
    assert_eq!(session.unwrap().known.version, "Microsoft SQL Server 16.0.4000");
    let [(pre, asked), (log_on, login), (batch, settings)] = said.as_slice() else {
        panic!("{said:?}")
    };
    assert_eq!((*pre, *log_on, *batch), (0x12, 0x10, 0x01));
    assert_eq!((asked[10], asked[17]), (0xff, 1), "all is to be encrypted where that is possible");
    let length = u32::from_le_bytes(login[..4].try_into().unwrap());
    assert_eq!((length as usize, &login[4..8]), (login.len(), &[4, 0, 0, 0x74][..]));
    let field = |at: usize| {
        let of = |at: usize| usize::from(u16::from_le_bytes([login[at], login[at + 1]]));
        &login[of(at)..of(at) + 2 * of(at + 2)]
    };
    assert_eq!((field(40), field(68)), (&text("sa")[..], &text("erp")[..]));
    // s of sesame: 0x73, its halves changed, and a5 taken off
    assert_eq!((&field(44)[..2], field(44).len()), (&[0x92, 0xa5][..], 12));
    assert_eq!(&settings[..4], &22_u32.to_le_bytes());
    assert!(settings.ends_with(&text("XACT_ABORT ON")));
}

#[test]
fn a_password_goes_over_no_connection_that_others_can_read() {
    let far = Endpoint::Tcp("192.0.2.1:1433".parse().unwrap());
    let (refused, said) = at_peer(far, vec![PLAIN.into()]);
    assert!(matches!(refused, Err(NotOpened::Readable)), "{refused:?}");
    assert_eq!(said.len(), 1);
}

#[test]
fn a_refusal_has_the_reason_of_the_server() {
    let replies = vec![PLAIN.into(), bytes(&[&error(18456, 14, "Login failed"), &done(2)])];
    let (refused, _) = at_peer(Endpoint::Own, replies);
    let trouble = refused.unwrap_err();
    assert!(matches!(&trouble, NotOpened::LogOn(Trouble::Refused(it)) if it.number == 18456));
    let door = door("mssql://sa@db3/erp", Endpoint::Own);
    let said = door.explain::<Session>(&trouble).to_string();
    assert!(said.contains("Login failed") && said.contains("SQLCMDPASSWORD"), "{said}");
    let (garbled, _) = at_peer(Endpoint::Own, vec![b"HTTP/1.1 400 Bad Request".to_vec()]);
    assert!(matches!(garbled, Err(NotOpened::LogOn(Trouble::Garbled))), "{garbled:?}");
}

/// A session with a peer that says `replies` behind the log-on, asked by `work`.
fn asked<T, F>(
    replies: Vec<Vec<u8>>,
    access: Access,
    work: impl FnOnce(Exchange, Statement) -> F,
) -> (T, Said)
where
    F: Future<Output = T>,
{
    block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        let before = vec![PLAIN.into(), let_in(), done(0)];
        let peer = tokio::spawn(peer(far, [before, replies].concat()));
        let door = door("mssql://sa@db3/erp", Endpoint::Own);
        let (session, _) = Session::over(&door, Wire::of_pair(near)).await.unwrap();
        let statement = Statement::trivial(plumb_db_login::Product::Mssql);
        let limits = Limits { rows: 10, bytes: 1_000 };
        let exchange = Exchange::new(session, Asked { statement: &statement, access, limits });
        let came = work(exchange, statement).await;
        (came, peer.await.unwrap().split_off(3))
    })
}

#[test]
fn a_call_is_one_batch_and_one_that_may_write_is_rolled_back() {
    let replies = vec![bytes(&[&one(1), &done(0x10)])];
    let (answer, said) = asked(replies, Access::RolledBack, |mut exchange, statement| async move {
        exchange.ask(&statement).await
    });
    assert_eq!(answer.unwrap().bytes, 4);
    let batch = wire::told(&said[0].1[22..]);
    assert_eq!(batch, "BEGIN TRANSACTION;\nSELECT 1\n;IF @@TRANCOUNT > 0 ROLLBACK");
}

#[test]
fn the_servers_part_lies_between_its_readings() {
    let replies = vec![bytes(&[
        &clock(1_000),
        &one(1),
        &done(0x11),
        &clock(21_000),
        &clock(21_100),
        &done(0),
    ])];
    let (seen, said) = asked(replies, Access::ReadOnly, |mut exchange, statement| async move {
        exchange.observe(&statement, Look::Server).await
    });
    assert!(matches!(seen.unwrap(), Seen::Server { statement_ns: 2_000_000, empty_ns: 10_000 }));
    assert_eq!(wire::told(&said[0].1[22..]).matches("SYSUTCDATETIME").count(), 3);
    let replies = vec![done(0), bytes(&[&one(1), &done(0x10)])];
    let (seen, said) = asked(replies, Access::ReadOnly, |mut exchange, statement| async move {
        exchange.observe(&statement, Look::Wire).await
    });
    assert!(matches!(seen.unwrap(), Seen::Wire(_)));
    assert_eq!(said.len(), 2);
}

#[test]
fn an_error_is_the_answer_and_one_that_is_fatal_ends_the_session() {
    for (class, kind) in [(16, FailureKind::Refused), (20, FailureKind::Closed)] {
        let replies = vec![bytes(&[&one(1), &error(208, class, "Invalid object"), &done(2)])];
        let (answer, _) = asked(replies, Access::ReadOnly, |mut exchange, statement| async move {
            exchange.ask(&statement).await
        });
        assert_eq!(answer.unwrap_err().kind(), kind);
    }
    let many = (0..11).flat_map(one).collect();
    let (answer, _) = asked(vec![many], Access::ReadOnly, |mut exchange, statement| async move {
        exchange.ask(&statement).await
    });
    assert!(matches!(answer, Err(NoAnswer::TooLarge)), "{answer:?}");
}

#[test]
fn messages_are_cut_into_packets_and_put_together() {
    let long = vec![7; 10_000];
    let mut out = Vec::new();
    wire::message(&mut out, Kind::Answer, &long);
    assert_eq!(out.len(), 10_000 + 3 * HEAD);
    assert_eq!(&out[..8], &[4, 0, 0x10, 0, 0, 0, 1, 0]);
    let last = 2 * PACKET;
    assert_eq!(&out[last..last + 2], &[4, 1]);
    block_on(async {
        let (near, mut far) = UnixStream::pair().unwrap();
        tokio::spawn(async move {
            for byte in out.chunks(999) {
                far.write_all(byte).await.unwrap();
            }
        });
        let mut channel = Channel::plain(Wire::of_pair(near));
        assert_eq!(channel.message().await.unwrap(), long);
        assert_eq!(channel.message().await.unwrap_err().kind(), FailureKind::Closed);
    });
}

#[test]
fn a_handshake_goes_in_packets_and_what_follows_does_not() {
    let made = rcgen::generate_simple_self_signed(vec!["db3".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
    block_on(async {
        let (near, mut far) = UnixStream::pair().unwrap();
        let peer = tokio::spawn(async move {
            let (kind, _) = heard(&mut far).await.unwrap();
            assert_eq!(kind, Kind::PreLogin as u8);
            let mut out = Vec::new();
            wire::message(&mut out, Kind::Answer, &[1, 0, 6, 0, 1, 0xff, 1]);
            far.write_all(&out).await.unwrap();
            let (wrapped, wraps) = Wrapped::new(Wire::of_pair(far));
            let acceptor = TlsAcceptor::from(Arc::new(config));
            let mut stream = acceptor.accept(wrapped).await.unwrap();
            wraps.store(false, std::sync::atomic::Ordering::Relaxed);
            for reply in [let_in(), done(0)] {
                let mut head = [0; HEAD];
                stream.read_exact(&mut head).await.unwrap();
                let mut payload = vec![0; Head::read(head).unwrap().length - HEAD];
                stream.read_exact(&mut payload).await.unwrap();
                let mut out = Vec::new();
                wire::message(&mut out, Kind::Answer, &reply);
                stream.write_all(&out).await.unwrap();
                stream.flush().await.unwrap();
            }
        });
        let far_away = Endpoint::Tcp("192.0.2.1:1433".parse().unwrap());
        let door = door("mssql://sa@db3/erp?encrypt=yes&trustservercertificate=yes", far_away);
        let (session, tls_ns) = Session::over(&door, Wire::of_pair(near)).await.unwrap();
        assert!(session.known.encrypted && tls_ns.is_some());
        peer.await.unwrap();
    });
}

/// A plan of a statement that ran for so long.
fn plan(ms: u64) -> Vec<u8> {
    let plan = format!(
        "\u{feff}<ShowPlanXML><QueryTimeStats CpuTime=\"1\" ElapsedTime=\"{ms}\"/></ShowPlanXML>"
    );
    bytes(&[&one(1), &long(&plan, 64), &done(0)])
}

#[test]
fn what_the_plan_says_of_the_time_is_the_mean_of_its_executions() {
    let explained = |plans: Vec<Vec<u8>>| {
        let replies = [vec![done(0)], plans].concat();
        asked(replies, Access::RolledBack, |mut exchange, statement| async move {
            let limits = Limits { rows: 1, bytes: 10 };
            let asked = Asked { statement: &statement, access: Access::RolledBack, limits };
            plan::explained(&mut exchange.session, asked).await
        })
    };
    let (reading, said) = explained([10, 20, 30, 20, 20].map(plan).into());
    assert_eq!((reading.mean_ns, reading.count), (Some(20_000_000), 5));
    assert_eq!(wire::told(&said[0].1[22..]), "SET STATISTICS XML ON");
    assert!(wire::told(&said[1].1[22..]).starts_with("BEGIN TRANSACTION;"));
    let (quick, _) = explained(vec![plan(0); 5]);
    assert_eq!(quick.mean_ns, None);
    assert!(quick.about.contains("less than a millisecond"), "{}", quick.about);
    let (silent, _) = explained(vec![bytes(&[&one(1), &done(0)])]);
    assert!(silent.about.contains("names no time"), "{}", silent.about);
    let (refused, _) = explained(vec![bytes(&[&error(262, 14, "denied"), &done(2)])]);
    assert!(refused.about.contains("lacks the right SHOWPLAN"), "{}", refused.about);
}
