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
use plumb_sql::tds::wire::{self, HEAD, Head, Kind};

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

/// The times of so many calls of the null server; `None` when it was not understood.
///
/// # Errors
/// When sockets cannot be made.
pub(super) async fn measure(calls: u64) -> Result<Option<Histogram>, DbError> {
    let (near, far) = UnixStream::pair().map_err(DbError::system("make a pair of sockets"))?;
    tokio::spawn(serve(far));
    let login = Login::of(&Url::parse("mssql://null@localhost/?encrypt=no")?, &|_| None)?;
    let door = Door::new(Endpoint::Own, &login, PATIENCE)?;
    let Ok((session, _)) = Session::over(&door, Wire::of_pair(near)).await else { return Ok(None) };
    let statement = Statement::trivial(login.product);
    let asked = Asked { statement: &statement, access: Access::ReadOnly, limits: LIMITS };
    Ok(floor::times(&mut Exchange::new(session, asked), &statement, calls).await)
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
