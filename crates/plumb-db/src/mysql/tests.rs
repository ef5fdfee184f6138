use plumb_db_login::Url;
use plumb_sql::mysql::{self as wire, HEAD};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::floor::{COLUMN, DONE, LET_IN, ONE, WELCOME};
use super::*;
use crate::answer::Failure as _;
use crate::database::{Access, Connection as _};
use crate::looks::Look;
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
async fn peer(mut far: UnixStream, replies: Vec<Vec<u8>>) {
    far.write_all(WELCOME).await.unwrap();
    for reply in std::iter::once(LET_IN.to_vec()).chain(replies) {
        let mut head = [0; HEAD];
        far.read_exact(&mut head).await.unwrap();
        far.read_exact(&mut vec![0; wire::head(head).0]).await.unwrap();
        far.write_all(&reply).await.unwrap();
    }
}

/// What comes of `work` with a statement that may write, at a peer that says `replies`.
fn asked<T, F>(replies: Vec<Vec<u8>>, work: impl FnOnce(Exchange, Statement) -> F) -> T
where
    F: Future<Output = T>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        let peer = tokio::spawn(peer(far, replies));
        let url = Url::parse("mysql://me@localhost/?ssl-mode=DISABLED").unwrap();
        let login = Login::of(&url, &|_| None).unwrap();
        let door = Door::new(Endpoint::Own, &login, Span::from_ms(5_000)).unwrap();
        let (session, _) = session::log_on(&door, Wire::of_pair(near)).await.unwrap();
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
