use futures_util::future::join;
use plumb_db_login::{Product, Tls};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::conversation::Conversation;
use super::*;
use crate::answer::Limits;
use crate::database::Access;
use crate::stream::Wire;

/// What a server says, frame by frame.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const BEGUN: &[u8] = b"C\0\0\0\x0aBEGIN\0Z\0\0\0\x05T";
const HEAD: &[u8] =
    b"1\0\0\0\x042\0\0\0\x04T\0\0\0\x1a\0\x01a\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
const ROW: &[u8] = b"D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0\x01C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05T";
const ROLLED_BACK: &[u8] = b"C\0\0\0\x0dROLLBACK\0Z\0\0\0\x05I";
/// As pgbouncer writes it: the severity stands in one field.
const GIVEN_UP: &[u8] = b"E\0\0\0\x27SFATAL\0C08P01\0Mquery_wait_timeout\0\0";

/// What comes of a call with a statement that may write, at a peer that `answers` it when all of it was sent.
fn called<T, F>(
    answers: impl FnOnce(UnixStream, Arc<plumb_serve::Arrivals>) -> F,
) -> (Result<Answered, NoAnswer>, T)
where
    F: Future<Output = T>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (near, mut far) = UnixStream::pair().unwrap();
        let wire = Wire::of_pair(near);
        let arrivals = wire.arrivals();
        let mut config = Config::new();
        config.user("me").ssl_mode(SslMode::Disable);
        let (opened, ()) = join(config.connect_raw(wire, Tls::unused().unwrap()), async {
            far.read_buf(&mut Vec::new()).await.unwrap();
            far.write_all(WELCOME).await.unwrap();
        })
        .await;
        let (client, connection) = opened.unwrap();
        let session = Session {
            client,
            conversation: Mutex::new(Conversation::of(connection, Arc::clone(&arrivals))),
            arrivals: Arc::clone(&arrivals),
            promise: Promise::Session,
            transport: None,
            encrypted: false,
            version: "15".into(),
        };
        let statement = Statement::own("SELECT a FROM t", Product::Postgres);
        let limits = Limits { rows: 10, bytes: 1_000 };
        let asked = Asked { statement: &statement, access: Access::RolledBack, limits };
        let exchange = Exchange::by_text(session, asked);
        join(Exchange::ask(&exchange, &statement), async {
            let mut sent = Vec::new();
            while !sent.ends_with(b"ROLLBACK\0") {
                far.read_buf(&mut sent).await.unwrap();
            }
            answers(far, arrivals).await
        })
        .await
    })
}

#[test]
fn the_first_byte_of_a_call_is_that_of_its_statement() {
    let (answer, begun_ns) = called(|mut far, arrivals| async move {
        far.write_all(BEGUN).await.unwrap();
        let begun_ns = crate::stream::more(&arrivals).await;
        far.write_all(&[HEAD, ROW, ROLLED_BACK].concat()).await.unwrap();
        begun_ns
    });
    let answer = answer.unwrap();
    assert!(answer.first_ns >= begun_ns && answer.last_ns >= answer.first_ns, "{answer:?}");
    // together with what stands before it
    let (answer, head_ns) = called(|mut far, arrivals| async move {
        far.write_all(&[BEGUN, HEAD].concat()).await.unwrap();
        let head_ns = crate::stream::more(&arrivals).await;
        far.write_all(&[ROW, ROLLED_BACK].concat()).await.unwrap();
        head_ns
    });
    let answer = answer.unwrap();
    assert!(answer.first_ns > 0 && answer.first_ns <= head_ns, "{answer:?}, {head_ns}");
    assert!(answer.last_ns >= head_ns, "{answer:?}, {head_ns}");
}

#[test]
fn what_is_fatal_ends_the_session_whatever_its_code() {
    let (answer, ()) = called(|mut far, _| async move {
        far.write_all(&[BEGUN, GIVEN_UP].concat()).await.unwrap();
    });
    assert_eq!(answer.unwrap_err().kind(), FailureKind::Closed);
}
