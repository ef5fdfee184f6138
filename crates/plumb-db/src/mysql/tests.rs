use std::cell::RefCell;

use futures_util::future::join;
use plumb_db_login::Url;
use plumb_engine::clock::MonotonicClock;
use plumb_engine::{LoadPlan, Waiting, load};
use plumb_measure::Clock as _;
use plumb_sql::mysql::{self as wire, HEAD};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::floor::{COLUMN, DONE, LET_IN, ONE, WELCOME};
use super::*;
use crate::answer::Failure as _;
use crate::caller::Office;
use crate::database::{Access, Connection as _};
use crate::ledger::Ledger;
use crate::looks::{Look, Looks};
use crate::pool::Pool;
use crate::statement::Statement;
use crate::stream::Wire;

/// An answer with one row that holds `text`.
fn row(text: &str) -> Vec<u8> {
    let mut out = [ONE, COLUMN].concat();
    wire::packet(&mut out, 3, |out| {
        out.push(u8::try_from(text.len()).unwrap());
        out.extend(text.as_bytes());
    });
    wire::packet(&mut out, 4, |out| out.extend(b"\xfe\0\0\x02\0\0\0"));
    out
}

/// A result set without a row.
fn no_row() -> Vec<u8> {
    let mut out = [ONE, COLUMN].concat();
    wire::packet(&mut out, 3, |out| out.extend(b"\xfe\0\0\x02\0\0\0"));
    out
}

/// The refusal of a server that lets nobody write.
fn refusal() -> Vec<u8> {
    let mut out = Vec::new();
    wire::packet(&mut out, 1, |out| {
        out.push(0xff);
        out.extend(1290_u16.to_le_bytes());
        out.extend(b"#HY000The server runs with --read-only");
    });
    out
}

/// Says `replies`, each to a packet of the client.
async fn peer(mut far: UnixStream, replies: Vec<Vec<u8>>) -> UnixStream {
    far.write_all(WELCOME).await.unwrap();
    for reply in std::iter::once(LET_IN.to_vec()).chain(replies) {
        let mut head = [0; HEAD];
        far.read_exact(&mut head).await.unwrap();
        far.read_exact(&mut vec![0; wire::head(head).0]).await.unwrap();
        far.write_all(&reply).await.unwrap();
    }
    far
}

/// Where nobody listens.
fn closed_door(login: &Login) -> Door {
    let nowhere = Endpoint::Unix("/nowhere/mysqld.sock".into());
    Door::new(nowhere, login, Span::from_ms(5_000)).unwrap()
}

#[test]
fn a_call_that_finds_no_connection_is_dropped() {
    let plan = LoadPlan { waiting: Waiting::Epoll, ..LoadPlan::lone(2, Span::from_ms(60_000)) };
    let load = |outlet| {
        block_on(async {
            let (near, far) = UnixStream::pair().unwrap();
            let peer = tokio::spawn(peer(far, Vec::new()));
            let login = login();
            let (session, _) =
                session::log_on(&closed_door(&login), Wire::of_pair(near)).await.unwrap();
            peer.await.unwrap(); // the server is gone
            let database = Mysql {
                door: closed_door(&login),
                promise: Promise::None(Why::Unreported),
                encrypted: false,
                version: "8.0".into(),
            };
            let statement = Statement::trivial(login.product);
            let limits = Limits { rows: 10, bytes: 1_000 };
            let asked = Asked { statement: &statement, access: Access::ReadOnly, limits };
            let now = MonotonicClock.now_ns();
            let ledger = Ledger::new(&plan, now, outlet, Arc::default(), Arc::default());
            let office = Office {
                plan: &plan,
                database: &database,
                asked,
                pool: Some(Pool::of(vec![Exchange::by_text(session, asked)])),
                looks: RefCell::new(Looks::of(plan.warmup, plan.extent)),
                ledger: RefCell::new(ledger),
            };
            let (one, other) = join(office.caller(), office.caller()).await;
            one.and(other).unwrap();
            Ok(office.ledger.into_inner().close(None).driven())
        })
    };
    let came = load::run_with::<DbError>(&plan, &mut [], 1, load).unwrap().recorder;
    let lost: u64 = came.rows().iter().map(|row| row.failures.total()).sum();
    assert_eq!((lost, came.dropped), (1, 1), "every call that was due is somewhere");
}

#[test]
fn a_server_that_lets_somebody_in_and_answers_no_more_is_not_waited_for() {
    let said = block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        let peer = tokio::spawn(peer(far, vec![Vec::new()]));
        let mut door = closed_door(&login());
        door.patience = Span::from_ms(1);
        let (mut session, _) = session::log_on(&door, Wire::of_pair(near)).await.unwrap();
        let said = promise(&door, &mut session);
        let said = timeout(Duration::from_secs(60), said).await.expect("an end");
        drop(peer); // until then it has said nothing
        said
    });
    let said = said.unwrap_err().to_string();
    assert!(said.contains("no answer within 1ms"), "{said}");
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn login() -> Login {
    let url = Url::parse("mysql://me@localhost/?ssl-mode=DISABLED").unwrap();
    Login::of(&url, &|_| None).unwrap()
}

/// What comes of `work` with a statement that may write, at a peer that says `replies`.
fn asked<T, F>(replies: Vec<Vec<u8>>, work: impl FnOnce(Exchange, Statement) -> F) -> T
where
    F: Future<Output = T>,
{
    block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        let peer = tokio::spawn(peer(far, replies));
        let login = login();
        let (session, _) =
            session::log_on(&closed_door(&login), Wire::of_pair(near)).await.unwrap();
        let statement = Statement::trivial(login.product);
        let limits = Limits { rows: 10, bytes: 1_000 };
        let access = Access::RolledBack;
        let exchange = Exchange::by_text(session, Asked { statement: &statement, access, limits });
        let came = work(exchange, statement).await;
        peer.await.unwrap();
        came
    })
}

#[test]
fn a_call_has_its_own_answer_after_one_that_may_not_begin() {
    let done = || DONE.to_vec();
    let refused = [refusal(), row("1"), done()];
    let allowed = [done(), row("second"), done()];
    asked([refused, allowed].concat(), |mut exchange, statement| async move {
        let first = exchange.ask(&statement).await.unwrap_err();
        assert_eq!(first.kind(), FailureKind::Refused);
        assert_eq!(exchange.ask(&statement).await.unwrap().bytes, 7);
    });
}

/// The end of a rollback with a warning.
const WARNED: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\x01\0";

#[test]
fn a_rollback_keeps_something_where_the_server_says_so_and_temporary_tables_are_nothing() {
    let done = || DONE.to_vec();
    let call = |number: &str| [done(), row("1"), WARNED.to_vec(), row(number)];
    let calls = ["1751", "1752", "1196"].map(call).concat();
    asked(calls, |mut exchange, statement| async move {
        for stays in [false, false, true] {
            exchange.ask(&statement).await.unwrap();
            assert_eq!(exchange.rolls_back().await, !stays);
        }
        assert!(!exchange.rolls_back().await, "it stays");
    });
    // a server that does not say what it warned of, or keeps no list (`max_error_count = 0`)
    for silent in [refusal(), no_row()] {
        let replies = [done(), row("1"), WARNED.to_vec(), silent].into();
        asked(replies, |mut exchange, statement| async move {
            exchange.ask(&statement).await.unwrap();
            assert!(!exchange.rolls_back().await);
        });
    }
}

#[test]
fn a_call_that_is_looked_into_keeps_something_where_the_list_of_warnings_outlives_the_look() {
    let (clock, done) = (|| row("1000"), || DONE.to_vec());
    let look = [clock(), clock(), done(), row("1"), WARNED.to_vec(), clock(), done(), clock()];
    for (version, asks) in [("8.0", None), ("10.11.6-MariaDB", Some(row("1196")))] {
        let keeps = asks.is_some();
        let replies = look.iter().cloned().chain(asks).collect();
        asked(replies, |mut exchange, statement| async move {
            exchange.session.known.version = version.into();
            exchange.observe(&statement, Look::Server).await.unwrap();
            assert_eq!(exchange.rolls_back().await, !keeps, "{version}");
        });
    }
}

#[test]
fn a_call_has_its_own_answer_after_a_look_that_may_not_begin() {
    let (clock, done) = (|| row("1000"), || DONE.to_vec());
    let refused = [clock(), clock(), refusal(), row("1"), done(), clock(), done(), clock()];
    let allowed = [done(), row("second"), done()];
    asked([&refused[..], &allowed].concat(), |mut exchange, statement| async move {
        let first = exchange.observe(&statement, Look::Server).await.unwrap_err();
        assert_eq!(first.kind(), FailureKind::Refused);
        assert_eq!(exchange.ask(&statement).await.unwrap().bytes, 7);
    });
}

#[test]
fn the_first_byte_of_a_call_is_that_of_its_statement() {
    let (answer, begun_ns) = block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        let peer = tokio::spawn(peer(far, Vec::new()));
        let login = login();
        let (session, _) =
            session::log_on(&closed_door(&login), Wire::of_pair(near)).await.unwrap();
        let mut far = peer.await.unwrap();
        let arrivals = Arc::clone(&session.channel.arrivals);
        let statement = Statement::trivial(login.product);
        let limits = Limits { rows: 10, bytes: 1_000 };
        let asked = Asked { statement: &statement, access: Access::RolledBack, limits };
        let mut exchange = Exchange::by_text(session, asked);
        join(exchange.ask(&statement), async {
            far.write_all(DONE).await.unwrap();
            let begun_ns = crate::stream::more(&arrivals).await;
            far.write_all(&[row("1"), DONE.to_vec()].concat()).await.unwrap();
            begun_ns
        })
        .await
    });
    let answer = answer.unwrap();
    assert!(answer.first_ns >= begun_ns && answer.last_ns >= answer.first_ns, "{answer:?}");
}
