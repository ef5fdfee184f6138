//! Messages read from the disk to be given out; nothing is written.

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::super::{Claimed, ExecutionId, Message};
use super::board::{Board, Running};
use super::column::{parameters, read, stored};

/// Rows that one claim passes over at most, behind keys that are held: the next claim goes on.
const PASSED_MAX: usize = 4_096;

/// Up to `most` messages of the transaction `lane`, by their ids; may be empty although the lane
/// seemed ready.
pub(super) fn gather(
    board: &mut Board,
    reader: &Connection,
    lane: i64,
    most: usize,
    now_ms: u64,
) -> rusqlite::Result<Vec<Claimed>> {
    let mut claimed = Vec::new();
    let read = take_up_due(board, reader, lane, most, now_ms)
        .and_then(|()| released(board, reader, lane, most, &mut claimed))
        .and_then(|()| unseen(board, reader, lane, most, &mut claimed));
    claimed.sort_by_key(|claimed| claimed.id);
    board.claimed(lane);
    match read {
        // those before it are given out, whatever became of this one
        Err(error) if claimed.is_empty() => Err(error),
        _ => Ok(claimed),
    }
}

/// Releases what was put off and is due.
fn take_up_due(
    board: &mut Board,
    reader: &Connection,
    number: i64,
    most: usize,
    now_ms: u64,
) -> rusqlite::Result<()> {
    let Some(lane) = board.lane(number) else { return Ok(()) };
    if lane.next_due_ms.is_none_or(|due_ms| due_ms > now_ms) {
        return Ok(());
    }
    let asked = lane.taken_up.len() + most;
    let mut statement = reader.prepare_cached(&format!(
        "SELECT retry.id, order_key FROM retry JOIN message_{number} USING (id)
         WHERE lane = ? AND due_ms <= ? ORDER BY due_ms LIMIT ?"
    ))?;
    let found = statement.query_map((number, stored(now_ms), stored(asked as u64)), |row| {
        Ok((read(row, 0)?, row.get::<_, Option<String>>(1)?))
    })?;
    let found = found.collect::<rusqlite::Result<Vec<_>>>()?;
    let all = found.len() < asked;
    for (id, order_key) in found {
        // given out for the first time, and put off on disk before it is known here
        let first = board.is_running(id);
        let Some(lane) = board.lane(number) else { continue };
        if !first && lane.taken_up.insert(id) && lane.may_go(id, order_key.as_deref()) {
            lane.released.insert(id);
        }
    }
    let next = "SELECT min(due_ms) FROM retry WHERE lane = ? AND due_ms > ?";
    let next: Option<i64> =
        reader.prepare_cached(next)?.query_row((number, stored(now_ms)), |row| row.get(0))?;
    let next = next.and_then(|due_ms| u64::try_from(due_ms).ok());
    if let Some(lane) = board.lane(number) {
        lane.next_due_ms = if all { next } else { Some(now_ms) };
    }
    Ok(())
}

/// Gives out what is released.
fn released(
    board: &mut Board,
    reader: &Connection,
    number: i64,
    most: usize,
    claimed: &mut Vec<Claimed>,
) -> rusqlite::Result<()> {
    let mut statement = reader.prepare_cached(&select(number, "message.id = ?"))?;
    while claimed.len() < most {
        let Some(id) = board.lane(number).and_then(|lane| lane.released.pop_first()) else { break };
        let name = board.lane(number).map(|lane| lane.name.clone()).unwrap_or_default();
        let found = statement.query_row([stored(id)], |row| message(row, &name)).optional()?;
        if let Some(found) = found {
            give_out(board, number, found, claimed);
        }
    }
    Ok(())
}

/// Gives out what the cursor has not passed.
fn unseen(
    board: &mut Board,
    reader: &Connection,
    number: i64,
    most: usize,
    claimed: &mut Vec<Claimed>,
) -> rusqlite::Result<()> {
    let Some(lane) = board.lane(number) else { return Ok(()) };
    if claimed.len() >= most || lane.newest <= lane.cursor {
        return Ok(());
    }
    let (name, newest) = (lane.name.clone(), lane.newest);
    // what is on disk above the newest is not told here yet
    let text = select(number, "message.id > ? AND message.id <= ? ORDER BY message.id");
    let mut statement = reader.prepare_cached(&text)?;
    let mut rows = statement.query((stored(lane.cursor), stored(newest)))?;
    let mut passed = 0;
    while claimed.len() < most && passed < PASSED_MAX {
        let (Some(row), Some(lane)) = (rows.next()?, board.lane(number)) else {
            if let Some(lane) = board.lane(number) {
                lane.cursor = newest;
            }
            break;
        };
        lane.cursor = read(row, 0)?;
        let order_key: Option<String> = row.get(2)?;
        let put_off = row.get_ref(6)?.as_i64_or_null()?.is_some();
        let may_go = lane.may_go(lane.cursor, order_key.as_deref());
        if put_off {
            // before a restart; held only where another one of its key goes first
            if !may_go {
                let id = lane.cursor;
                lane.taken_up.insert(id);
            }
            passed += 1;
        } else if may_go {
            let found = message(row, &name)?;
            give_out(board, number, found, claimed);
        } else {
            passed += 1;
        }
    }
    Ok(())
}

fn give_out(board: &mut Board, lane: i64, found: Claimed, claimed: &mut Vec<Claimed>) {
    let bytes = found.message.body.len() as u64;
    let order_key = found.message.order_key.clone();
    board.give_out(found.id.0, Running::new(lane, bytes, found.failures, order_key));
    claimed.push(found);
}

/// Messages of the transaction with this number, in the columns that [`message`] reads.
fn select(number: i64, wanted: &str) -> String {
    format!(
        "SELECT message.id, idempotency_key, order_key, media_type, parameters, body, failures
         FROM message_{number} AS message LEFT JOIN retry ON retry.id = message.id WHERE {wanted}"
    )
}

fn message(row: &Row<'_>, transaction: &std::sync::Arc<str>) -> rusqlite::Result<Claimed> {
    Ok(Claimed {
        id: ExecutionId(read(row, 0)?),
        failures: row.get::<_, Option<u32>>(6)?.unwrap_or(0),
        message: Message {
            transaction: transaction.clone(),
            idempotency_key: row.get(1)?,
            order_key: row.get(2)?,
            media_type: row.get::<_, String>(3)?.into(),
            parameters: parameters(row, 4)?,
            body: bytes::Bytes::copy_from_slice(row.get_ref(5)?.as_blob()?),
        },
    })
}
