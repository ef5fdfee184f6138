use plumb_db_login::Url;
use plumb_measure::FailureKind;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::floor::{ALL, REPLY, reply};
use super::session::{Named, Session, cesu8};
use super::*;
use crate::answer::{Limits, NoAnswer};
use crate::client::Reached as _;
use crate::database::{Access, Connection as _};
use crate::looks::{Look, Seen};
use crate::statement::Statement;
use crate::stream::Wire;
use plumb_sql::hana::proof::{Method, answer};
use plumb_sql::hana::wire::{self, Ask, HEAD, HELLO, Reply, WELCOME, part};

/// A reply that is an error of this level.
fn failed(number: i32, level: u8, message: &str) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_le_bytes();
    let data =
        [&number.to_le_bytes()[..], &[0; 4], &length, &[level], b"HY000", message.as_bytes()]
            .concat();
    reply(5, 0, &[(part::ERROR, 0, 1, &data)])
}

/// The time that the server tells, microseconds.
fn context(us: i64) -> Vec<u8> {
    [&[2, 4][..], &us.to_le_bytes()].concat()
}

/// Messages of a client: what was asked, whether it commits, and what followed the head.
type Said = Vec<(u8, bool, Vec<u8>)>;

/// The messages of a client behind its hello, to each of which a peer says one of `replies`.
async fn peer(mut far: UnixStream, replies: Vec<Vec<u8>>) -> Said {
    let mut hello = [0; HELLO.len()];
    far.read_exact(&mut hello).await.unwrap();
    assert_eq!(hello, HELLO);
    far.write_all(&[0; WELCOME]).await.unwrap();
    let mut said = Vec::new();
    for reply in replies {
        let mut head = [0; HEAD];
        if far.read_exact(&mut head).await.is_err() {
            break;
        }
        let mut payload = vec![0; wire::head(head).1];
        far.read_exact(&mut payload).await.unwrap();
        said.push((payload[13], payload[14] == 1, payload));
        far.write_all(&reply).await.unwrap();
    }
    said
}

fn door() -> Door {
    let look = |name: &str| (name == "HDB_PASSWORD").then(|| "sesame".to_owned());
    let login = Login::of(&Url::parse("hana://ME@hana1/").unwrap(), &look).unwrap();
    Door::new(Endpoint::Own, &login, Span::from_ms(5_000)).unwrap()
}

fn challenged(method: &[u8], rest: &[&[u8]]) -> Vec<u8> {
    let challenge = wire::fields(&[&[&[1; 16][..], &[2; 48]], rest].concat());
    let said = wire::fields(&[method, &challenge]);
    reply(REPLY, 0, &[(part::AUTHENTICATION, 0, 1, &said)])
}

fn connected() -> Vec<u8> {
    let proven = wire::fields(&[b"SCRAMSHA256", b""]);
    let version = b"2.00.077";
    let option = [&[44, 29, 8, 0][..], version].concat();
    let parts: [(u8, u8, i16, &[u8]); 2] =
        [(part::AUTHENTICATION, 0, 1, &proven), (part::CONNECT_OPTIONS, 0, 1, &option)];
    reply(REPLY, 14, &parts)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// What `work` makes of a session with a peer that says `replies` behind the hello.
fn at_peer<T, F>(
    replies: Vec<Vec<u8>>,
    work: impl FnOnce(Result<Session, NotOpened>) -> F,
) -> (T, Said)
where
    F: Future<Output = T>,
{
    block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        let peer = tokio::spawn(peer(far, replies));
        let opened = Session::over(&door(), Wire::of_pair(near)).await;
        let came = work(opened.map(|(session, _)| session)).await;
        (came, peer.await.unwrap())
    })
}

/// The same of a session that stands, whose log-on is left out of what was said.
fn over<T, F>(replies: Vec<Vec<u8>>, work: impl FnOnce(Session) -> F) -> (T, Said)
where
    F: Future<Output = T>,
{
    let before = vec![challenged(b"SCRAMSHA256", &[]), connected()];
    let (came, mut said) = at_peer([before, replies].concat(), |opened| work(opened.unwrap()));
    (came, said.split_off(2))
}

const LIMITS: Limits = Limits { rows: 10, bytes: 1_000 };

fn asked(statement: &Statement, access: Access) -> Asked<'_> {
    Asked { statement, access, limits: LIMITS }
}

fn trivial() -> Statement {
    Statement::trivial(plumb_db_login::Product::Hana)
}

#[test]
fn a_log_on_proves_the_password_and_does_not_send_it() {
    let replies = vec![challenged(b"SCRAMSHA256", &[]), connected()];
    let (session, said) = at_peer(replies, async |opened| opened.unwrap().known.version);
    assert_eq!(session, "2.00.077");
    let [(first, _, asked), (second, _, proven)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!((*first, *second), (Ask::Authenticate as u8, Ask::Connect as u8));
    let reply = Reply::read(asked).unwrap();
    let values = wire::values(reply.part(part::AUTHENTICATION).unwrap().data).unwrap();
    assert_eq!(
        (values[0], values[1], values[2].len()),
        (&b"ME"[..], &b"SCRAMPBKDF2SHA256"[..], 64)
    );
    assert_eq!((values[3], values[4]), (&b"SCRAMSHA256"[..], values[2]));
    let expected =
        answer(Method::One, "sesame", values[2], &wire::fields(&[&[1; 16], &[2; 48]])).unwrap();
    let reply = Reply::read(proven).unwrap();
    let values = wire::values(reply.part(part::AUTHENTICATION).unwrap().data).unwrap();
    assert_eq!(values[2], expected.of_client);
    assert!(!proven.windows(6).any(|it| it == b"sesame"));
}

#[test]
fn a_server_that_does_not_know_the_password_is_noticed() {
    let rounds = challenged(b"SCRAMPBKDF2SHA256", &[&15_000_u32.to_be_bytes()]);
    let (refused, _) = at_peer(vec![rounds, connected()], async |opened| opened.map(|_| ()));
    assert!(matches!(refused, Err(NotOpened::Unproven)), "{refused:?}");
}

#[test]
fn a_refusal_has_the_reason_of_the_server() {
    let replies = vec![challenged(b"SCRAMSHA256", &[]), failed(10, 1, "authentication failed")];
    let (trouble, _) = at_peer(replies, async |opened| opened.map(|_| ()).unwrap_err());
    let said = door().explain::<Session>(&trouble).to_string();
    assert!(said.contains("authentication failed") && said.contains("HDB_PASSWORD"), "{said}");
    let (garbled, _) = at_peer(vec![vec![0; HEAD]], async |opened| opened.map(|_| ()));
    assert!(matches!(garbled, Err(NotOpened::LogOn(Trouble::Garbled))), "{garbled:?}");
}

#[test]
fn an_answer_is_fetched_to_its_end_and_closed() {
    let rows = |attributes, count, data: &'static [u8]| (part::ROWS, attributes, count, data);
    let result = (part::RESULT, 0, 1, &[7; 8][..]);
    let time = context(30);
    let replies = vec![
        reply(REPLY, 5, &[result, rows(0, 2, b"ab"), (part::STATEMENT_CONTEXT, 0, 1, &time)]),
        reply(REPLY, 10, &[rows(1, 1, b"c"), (part::STATEMENT_CONTEXT, 0, 1, &time)]),
        reply(REPLY, 19, &[]),
    ];
    let (brought, said) = over(replies, async |mut session| {
        session.ask(Named::Text("SELECT A FROM T"), true, LIMITS, |_| {}).await.unwrap()
    });
    assert_eq!((brought.rows, brought.bytes, brought.server_us), (3, 3, Some(60)));
    let asks: Vec<_> = said.iter().map(|(ask, commits, _)| (*ask, *commits)).collect();
    assert_eq!(asks, [(2, true), (71, true), (69, true)]);
    let (cut, _) = over(vec![reply(REPLY, 5, &[rows(0, 2, b"ab")])], async |mut session| {
        session.ask(Named::Text("SELECT A FROM T"), true, LIMITS, |_| {}).await
    });
    assert!(matches!(cut, Err(NoAnswer::Unexpected)), "more rows, of nothing: {cut:?}");
    let many = vec![reply(REPLY, 5, &[result, rows(0, 11, b"ab")])];
    let (large, _) = over(many, async |mut session| {
        session.ask(Named::Text("SELECT A FROM T"), true, LIMITS, |_| {}).await
    });
    assert!(matches!(large, Err(NoAnswer::TooLarge)), "{large:?}");
}

#[test]
fn the_servers_part_is_what_the_server_tells() {
    let (time, empty) = (context(250), context(20));
    let replies = vec![
        reply(REPLY, 5, &[(part::STATEMENT, 0, 1, &[9; 8])]),
        reply(REPLY, 5, &[(part::ROWS, ALL, 1, b"a"), (part::STATEMENT_CONTEXT, 0, 1, &time)]),
        reply(REPLY, 12, &[(part::STATEMENT_CONTEXT, 0, 1, &empty)]),
        reply(REPLY, 12, &[]),
        reply(REPLY, 5, &[(part::ROWS, ALL, 1, b"a")]),
    ];
    let ((server, wire), said) = over(replies, async |session| {
        let statement = trivial();
        let asked = asked(&statement, Access::ReadOnly);
        let mut exchange = Exchange::prepared(session, asked).await.unwrap();
        assert!(exchange.prepared.unwrap().is_query);
        let server = exchange.observe(&statement, Look::Server).await.unwrap();
        (server, exchange.observe(&statement, Look::Wire).await.unwrap())
    });
    assert!(matches!(server, Seen::Server { statement_ns: 250_000, empty_ns: 20_000 }));
    assert!(matches!(wire, Seen::Wire(_)));
    let asks: Vec<u8> = said.iter().map(|(ask, ..)| *ask).collect();
    assert_eq!(asks, [3, 13, 68, 68, 13]);
    let reply = Reply::read(&said[1].2).unwrap();
    assert_eq!(reply.part(part::STATEMENT).unwrap().data, [9; 8]);
}

#[test]
fn a_call_that_may_write_does_not_commit_and_is_rolled_back_whatever_comes() {
    for answer in [reply(REPLY, 3, &[(12, 0, 1, &[1, 0, 0, 0])]), failed(301, 1, "unique")] {
        let (_, said) = over(vec![answer, reply(REPLY, 12, &[])], async |session| {
            let statement = trivial();
            let mut exchange = Exchange::by_text(session, asked(&statement, Access::RolledBack));
            exchange.ask(&statement).await.map(|_| ())
        });
        let asks: Vec<_> = said.iter().map(|(ask, commits, _)| (*ask, *commits)).collect();
        assert_eq!(asks, [(2, false), (68, false)]);
    }
}

#[test]
fn errors_of_the_server_have_their_kinds() {
    for (level, kind) in [(1, FailureKind::Refused), (2, FailureKind::Closed)] {
        let (answer, _) = over(vec![failed(259, level, "invalid table")], async |session| {
            let statement = trivial();
            Exchange::by_text(session, asked(&statement, Access::ReadOnly)).ask(&statement).await
        });
        assert_eq!(answer.unwrap_err().kind(), kind);
    }
    // a warning is no error
    let mut warned = failed(1_347, 0, "not recommended");
    warned[HEAD + 12] = REPLY;
    let (answer, _) = over(vec![warned], async |session| {
        let statement = trivial();
        Exchange::by_text(session, asked(&statement, Access::ReadOnly)).ask(&statement).await
    });
    assert!(answer.is_ok(), "{answer:?}");
}

#[test]
fn characters_of_four_bytes_are_two_of_three() {
    assert_eq!(cesu8("a\u{e4}\u{1f600}"), b"a\xc3\xa4\xed\xa0\xbd\xed\xb8\x80");
}

#[test]
fn statements_of_a_log_are_asked_in_a_transaction_that_only_reads_until_it_writes() {
    let flag = |flag: u8| vec![flag, 28, 1];
    let (ended, written) = (flag(0), flag(4));
    let row = || (part::ROWS, ALL, 1, &b"a"[..]);
    let replies = vec![
        reply(REPLY, 1, &[]),
        reply(REPLY, 5, &[row()]),
        failed(7, 1, "read only"),
        reply(REPLY, 1, &[]),
        reply(REPLY, 5, &[row(), (part::TRANSACTION, 0, 1, &ended)]),
        reply(REPLY, 1, &[]),
        reply(REPLY, 5, &[row(), (part::TRANSACTION, 0, 1, &written)]),
    ];
    let (kept, said) = over(replies, async |session| {
        let statement = trivial();
        let asked = asked(&statement, Access::ReadOnly);
        let mut exchange = Exchange::for_log(session, asked).await.unwrap();
        let mut kept = Vec::new();
        for is_answered in [true, false, true, true] {
            assert_eq!(exchange.ask(&statement).await.is_ok(), is_answered);
            kept.push(exchange.keeps_its_promise());
        }
        kept
    });
    assert_eq!(kept, [true, true, true, false]);
    let sets = |(ask, commits, payload): &(u8, bool, Vec<u8>)| {
        assert_eq!((*ask, *commits), (Ask::Directly as u8, false), "nothing commits");
        payload.windows(9).any(|it| it == b"READ ONLY")
    };
    let sets: Vec<bool> = said.iter().map(sets).collect();
    assert_eq!(sets, [true, false, false, true, false, true, false]);
}

#[test]
fn the_steps_of_a_plan_are_told_and_what_was_written_of_it_is_rolled_back() {
    let rows: Vec<u8> = (0..8).flat_map(|_| [&[7][..], b"JOIN, 5"].concat()).collect();
    let replies = vec![
        reply(REPLY, 1, &[]),
        reply(REPLY, 5, &[(part::ROWS, ALL, 8, &rows)]),
        reply(REPLY, 12, &[]),
        failed(258, 1, "insufficient privilege"),
        reply(REPLY, 12, &[]),
    ];
    let ((told, refused), said) = over(replies, async |mut session| {
        let statement = trivial();
        let asked = asked(&statement, Access::ReadOnly);
        let told = plan::explained(&mut session, asked).await;
        (told, plan::explained(&mut session, asked).await)
    });
    assert_eq!(told.mean_ns, None);
    assert!(told.about.ends_with("JOIN, 5 <- 2 more steps"), "{}", told.about);
    assert!(refused.about.contains("insufficient privilege"), "{}", refused.about);
    let asks: Vec<_> = said.iter().map(|(ask, commits, _)| (*ask, *commits)).collect();
    assert_eq!(asks, [(2, false), (2, false), (68, false), (2, false), (68, false)]);
}
