//! Which runtimes share the queue.

use plumb_serve::database::{Database, DatabaseError, Row, Value};

use super::super::{Presence, Runtime};
use super::rows::{int, text};
use super::schema::WAITING;

/// One that was not heard of for so long is forgotten, milliseconds.
const FORGOTTEN_MS: u64 = 24 * 3_600_000;

/// Runtime `number` is there from now on.
pub(super) fn enter(
    database: &mut Database,
    number: i64,
    now_ms: u64,
) -> Result<(), DatabaseError> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let values = [
        Value::Int(number),
        text(&host),
        Value::Int(i64::from(std::process::id())),
        Value::Int(int(now_ms)),
    ];
    let enter = "INSERT INTO plumb_queue_runtime VALUES ($1, $2, $3, $4, $4)";
    database.rows(enter, &values).map(drop)
}

/// Runtime `number` is still there; those that are long gone are forgotten.
pub(super) fn seen(database: &mut Database, number: i64, now_ms: u64) -> Result<(), DatabaseError> {
    let seen = "UPDATE plumb_queue_runtime SET seen_ms = $2 WHERE number = $1";
    database.rows(seen, &[Value::Int(number), Value::Int(int(now_ms))])?;
    let gone = "DELETE FROM plumb_queue_runtime WHERE seen_ms < $1";
    let before = Value::Int(int(now_ms.saturating_sub(FORGOTTEN_MS)));
    database.rows(gone, &[before]).map(drop)
}

/// Runtime `number` ends.
pub(super) fn leave(database: &mut Database, number: i64) -> Result<(), DatabaseError> {
    let leave = "DELETE FROM plumb_queue_runtime WHERE number = $1";
    database.rows(leave, &[Value::Int(number)]).map(drop)
}

/// All of them, as runtime `own` sees them.
pub(super) fn all(
    database: &mut Database,
    own: i64,
    now_ms: u64,
    lease_ms: u64,
) -> Result<Vec<Runtime>, DatabaseError> {
    let statement = format!(
        "SELECT number, host, process, began_ms, seen_ms,
         (SELECT count(*) FROM plumb_queue_message AS message WHERE message.state = {WAITING}
          AND message.runtime = known.number AND leased_until_ms > $1)
         FROM plumb_queue_runtime AS known ORDER BY number"
    );
    let found = database.rows(&statement, &[Value::Int(int(now_ms))])?;
    Ok(found.into_iter().map(|row| runtime(row, own, now_ms, lease_ms)).collect())
}

fn runtime(mut row: Row, own: i64, now_ms: u64, lease_ms: u64) -> Runtime {
    let number = |row: &Row, column| u64::try_from(row.int(column)).unwrap_or(0);
    let seen_ms = number(&row, 4);
    let presence = match row.int(0) {
        it if it == own => Presence::Own,
        _ if seen_ms.saturating_add(lease_ms) < now_ms => Presence::Lost,
        _ => Presence::Heard,
    };
    Runtime {
        number: number(&row, 0),
        process: number(&row, 2),
        began_ms: number(&row, 3),
        seen_ms,
        running: number(&row, 5),
        host: row.take_text(1),
        presence,
    }
}
