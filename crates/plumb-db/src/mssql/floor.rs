//! What this driver costs: a server in this process that answers at once with bytes that are ready.

use std::sync::Arc;

use plumb_engine::Endpoint;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Distribution, Floor, Histogram, Span, Tick};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::DbError;
use crate::answer::Limits;
use crate::database::{Access, Asked, Connection as _, Database as _};
use crate::drive::runtime;
use crate::login::Login;
use crate::statement::Statement;
use crate::stream::Wire;
use crate::url::Url;

use super::Mssql;
use super::exchange::Exchange;
use super::session::Door;
use super::wire::{self, HEAD, Head, Kind};

/// Calls that the floor is taken from, and those before it that are not recorded.
const CALLS: u64 = 10_000;
const WARM_UP: u64 = 500;
/// For each of them.
const PATIENCE: Span = Span::from_ms(10_000);

/// Answers of the null server: nothing is encrypted, ...
const AGREED: &[u8] = &[1, 0, 6, 0, 1, 0xff, 2];
/// ... whoever it is may come in, ...
const LET_IN: &[u8] = &[
    0xad, 14, 0, 1, 0x74, 0, 0, 4, 2, b'p', 0, b'l', 0, 16, 0, 3, 0xe8, //
    0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];
/// ... and there is one column with one number.
const ONE: &[u8] = &[
    0x81, 1, 0, 0, 0, 0, 0, 0x20, 0, 0x38, 0, //
    0xd1, 1, 0, 0, 0, //
    0xfd, 0x10, 0, 0xc1, 0, 1, 0, 0, 0, 0, 0, 0, 0,
];

/// Measures the floor. `None` when the null server was not understood.
///
/// # Errors
/// When sockets cannot be made.
pub(super) fn floor() -> Result<Option<Floor>, DbError> {
    let passes = Arc::default();
    // its server is in the same thread, so that it never waits
    let times = runtime(&passes, Tick::Free)?.block_on(measure())?;
    Ok(times.as_ref().and_then(Distribution::of).map(|service_ns| Floor {
        method: format!(
            "{}: SELECT 1 until its answer has come, against a server in the same thread that answers \
             with bytes that are ready; no other process",
            Mssql::DRIVER
        ),
        service_ns,
    }))
}

async fn measure() -> Result<Option<Histogram>, DbError> {
    let (near, far) = UnixStream::pair().map_err(DbError::system("make a pair of sockets"))?;
    tokio::spawn(serve(far));
    let login = Login::of(&Url::parse("mssql://null@localhost/?encrypt=no")?, &|_| None)?;
    let door = Door::new(Endpoint::Own, &login, PATIENCE)?;
    let Ok((session, _)) = door.over(Wire::of_pair(near)).await else { return Ok(None) };
    let statement = Statement::trivial(login.product);
    let limits = Limits { rows: 1, bytes: 1 << 10 };
    let asked = Asked { statement: &statement, access: Access::ReadOnly, limits };
    let mut exchange = Exchange::new(session, asked);
    let mut times = Histogram::new();
    for call in 0..WARM_UP + CALLS {
        let began_ns = MonotonicClock.now_ns();
        let Ok(answer) = exchange.ask(&statement).await else { return Ok(None) };
        if call >= WARM_UP {
            times.record(answer.last_ns.saturating_sub(began_ns));
        }
    }
    Ok(Some(times))
}

/// The null server: one answer for every packet.
async fn serve(mut socket: UnixStream) {
    let mut bytes = Vec::with_capacity(4_096);
    while socket.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
        while let Some(head) = bytes.get(..HEAD).and_then(|it| it.try_into().ok()) {
            let Some(head) = Head::read(head) else { return };
            if bytes.len() < head.length {
                break;
            }
            bytes.drain(..head.length);
            let said = match head.kind {
                kind if kind == Kind::PreLogin as u8 => AGREED,
                kind if kind == Kind::LogOn as u8 => LET_IN,
                _ => ONE,
            };
            let mut out = Vec::with_capacity(HEAD + said.len());
            wire::message(&mut out, Kind::Answer, said);
            if socket.write_all(&out).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_null_server_is_understood() {
        let floor = floor().unwrap().unwrap();
        assert_eq!(floor.service_ns.count, CALLS);
        assert!(floor.method.contains("SQL Server"));
    }
}
