//! What this driver costs: a server in this process that answers at once with bytes that are ready.

use plumb_db_login::{Login, Url};
use plumb_engine::Endpoint;
use plumb_measure::Histogram;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::DbError;
use crate::client::floor::{self, LIMITS, PATIENCE};
use crate::client::{Door, Reached as _};
use crate::database::{Access, Asked};
use crate::statement::Statement;
use crate::stream::Wire;

use super::exchange::Exchange;
use super::session::Session;
use plumb_sql::hana::wire::{self, HEAD, HELLO, WELCOME, part};

/// A reply that is no error, and one that is.
pub(super) const REPLY: u8 = 2;
/// Rows that are the last of an answer, which the server has closed.
pub(super) const ALL: u8 = 17;

/// The times of so many calls of the null server; `None` when it was not understood.
///
/// # Errors
/// When sockets cannot be made.
pub(super) async fn measure(calls: u64) -> Result<Option<Histogram>, DbError> {
    let (near, far) = UnixStream::pair().map_err(DbError::system("make a pair of sockets"))?;
    tokio::spawn(serve(far));
    let login = Login::of(&Url::parse("hana://null@localhost/")?, &|_| None)?;
    let door = Door::new(Endpoint::Own, &login, PATIENCE)?;
    let Ok((session, _)) = Session::over(&door, Wire::of_pair(near)).await else { return Ok(None) };
    let statement = Statement::trivial(login.product);
    let asked = Asked { statement: &statement, access: Access::ReadOnly, limits: LIMITS };
    let Ok(mut exchange) = Exchange::prepared(session, asked).await else { return Ok(None) };
    Ok(floor::times(&mut exchange, &statement, calls).await)
}

/// A reply of one segment with these parts: kind, attributes, arguments, bytes.
pub(super) fn reply(kind: u8, function: i16, parts: &[(u8, u8, i16, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, attributes, count, data) in parts {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX).to_le_bytes();
        body.extend([*kind, *attributes]);
        body.extend(count.to_le_bytes());
        body.extend([0; 4]);
        body.extend(length);
        body.extend([0; 4]);
        body.extend(*data);
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let length = u32::try_from(24 + body.len()).unwrap_or(u32::MAX).to_le_bytes();
    let count = u16::try_from(parts.len()).unwrap_or(0).to_le_bytes();
    let mut out = Vec::with_capacity(HEAD + 24 + body.len());
    out.extend(7_i64.to_le_bytes());
    out.extend([0; 4]);
    out.extend(length);
    out.extend([0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend(length);
    out.extend([0; 4]);
    out.extend(count);
    out.extend([1, 0, kind, 0]);
    out.extend(function.to_le_bytes());
    out.extend([0; 8]);
    out.extend(body);
    out
}

/// The null server: one answer for every message.
async fn serve(mut socket: UnixStream) {
    let challenge = wire::fields(&[&[1; 16], &[2; 48]]);
    let said = wire::fields(&[b"SCRAMSHA256", &challenge]);
    let proven = wire::fields(&[b"SCRAMSHA256", b""]);
    let challenged = reply(REPLY, 0, &[(part::AUTHENTICATION, 0, 1, &said)]);
    let connected = reply(REPLY, 14, &[(part::AUTHENTICATION, 0, 1, &proven)]);
    let prepared = reply(REPLY, 5, &[(part::STATEMENT, 0, 1, &[9; 8])]);
    let one = reply(REPLY, 5, &[(part::ROWS, ALL, 1, &[1, 1, 0, 0, 0])]);
    let mut bytes = Vec::with_capacity(4_096);
    let mut is_greeted = false;
    while socket.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
        loop {
            let said: &[u8] = if is_greeted {
                let Some(head) = bytes.get(..HEAD).and_then(|it| it.try_into().ok()) else { break };
                let whole = HEAD + wire::head(head).1;
                // what is asked stands in the head of the segment
                let Some(ask) = bytes.get(HEAD + 13).copied().filter(|_| bytes.len() >= whole)
                else {
                    break;
                };
                bytes.drain(..whole);
                match ask {
                    65 => &challenged,
                    66 => &connected,
                    3 => &prepared,
                    _ => &one,
                }
            } else {
                if bytes.len() < HELLO.len() {
                    break;
                }
                bytes.drain(..HELLO.len());
                is_greeted = true;
                &[0; WELCOME]
            };
            if socket.write_all(said).await.is_err() {
                return;
            }
        }
    }
}
