//! What this driver costs: a server in this process that answers at once with bytes that are ready.

use plumb_db_login::{Login, Url};
use plumb_engine::Endpoint;
use plumb_measure::Histogram;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::DbError;
use crate::client::Door;
use crate::client::floor::{self, LIMITS, PATIENCE};
use crate::database::{Access, Asked};
use crate::statement::Statement;
use crate::stream::Wire;

use super::exchange::Exchange;
use super::session::log_on;
use plumb_sql::mysql::HEAD;

/// Answers of the null server: packets as the protocol writes them.
pub(super) const WELCOME: &[u8] =
    b"G\x00\x00\x00\x0a8.0\x00\x01\x00\x00\x00abcdefgh\x00\x05\xa2-\x02\x00(\x01\x15\x00\
    \x00\x00\x00\x00\x00\x00\x00\x00\x00ijklmnopqrst\x00mysql_native_password\x00";
pub(super) const DONE: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
pub(super) const LET_IN: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";
/// A definition of one column of whole numbers.
pub(super) const COLUMN: &[u8] =
    b"\x17\x00\x00\x02\x03def\x00\x00\x00\x011\x00\x0c?\x00\x14\x00\x00\x00\x08\x81\x00\
    \x00\x00\x00";
const PREPARED: &[u8] = b"\x0c\x00\x00\x01\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00";
const ROW: &[u8] =
    b"\x0a\x00\x00\x03\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x04\xfe\x00\x00\
    \x02\x00\x00\x00";
pub(super) const ONE: &[u8] = b"\x01\0\0\x01\x01";

/// The times of so many calls of the null server; `None` when it was not understood.
///
/// # Errors
/// When sockets cannot be made.
pub(super) async fn measure(calls: u64) -> Result<Option<Histogram>, DbError> {
    let (near, far) = UnixStream::pair().map_err(DbError::system("make a pair of sockets"))?;
    tokio::spawn(serve(far));
    let url = Url::parse("mysql://null@localhost/?ssl-mode=DISABLED")?;
    let login = Login::of(&url, &|_| None)?;
    let door = Door::new(Endpoint::Own, &login, PATIENCE)?;
    let Ok((session, _)) = log_on(&door, Wire::of_pair(near)).await else { return Ok(None) };
    let statement = Statement::trivial(login.product);
    let asked = Asked { statement: &statement, access: Access::ReadOnly, limits: LIMITS };
    let Ok(mut exchange) = Exchange::prepared(session, asked).await else { return Ok(None) };
    Ok(floor::times(&mut exchange, &statement, calls).await)
}

/// The null server: one answer for every packet.
async fn serve(mut socket: UnixStream) {
    let prepared = [PREPARED, COLUMN].concat();
    let answer = [ONE, COLUMN, ROW].concat();
    let mut bytes = Vec::with_capacity(4_096);
    let mut is_let_in = false;
    if socket.write_all(WELCOME).await.is_err() {
        return;
    }
    while socket.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
        while let Some(head) = bytes.get(..HEAD).and_then(|it| it.try_into().ok()) {
            let whole = HEAD + plumb_sql::mysql::head(head).0;
            if bytes.len() < whole {
                break;
            }
            let said: &[u8] = match bytes.get(HEAD) {
                _ if !is_let_in => LET_IN,
                Some(0x16) => &prepared,
                Some(0x17) => &answer,
                Some(0x01) => return,
                _ => DONE,
            };
            bytes.drain(..whole);
            is_let_in = true;
            if socket.write_all(said).await.is_err() {
                return;
            }
        }
    }
}
