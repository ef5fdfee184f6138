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
    let mut claim = Claim { board, reader, number: lane, most, claimed: Vec::new() };
    let read = claim
        .take_up_due(now_ms)
        .and_then(|()| claim.give_out_released())
        .and_then(|()| claim.give_out_unseen());
    let Claim { board, mut claimed, .. } = claim;
    claimed.sort_by_key(|claimed| claimed.id);
    board.claimed(lane);
    match read {
        // those before it are given out, whatever became of this one
        Err(error) if claimed.is_empty() => Err(error),
        _ => Ok(claimed),
    }
}

/// Messages of one transaction that are being given out.
struct Claim<'a> {
    board: &'a mut Board,
    reader: &'a Connection,
    /// Of the transaction.
    number: i64,
    most: usize,
    claimed: Vec<Claimed>,
}

impl Claim<'_> {
    /// Releases what was put off and is due.
    fn take_up_due(&mut self, now_ms: u64) -> rusqlite::Result<()> {
        let Some(lane) = self.board.lane(self.number) else { return Ok(()) };
        if lane.next_due_ms.is_none_or(|due_ms| due_ms > now_ms) {
            return Ok(());
        }
        let (reader, number) = (self.reader, self.number);
        // those that are known here come again: as many as asked for bring something new
        let asked = lane.taken_up.len() + lane.running() + self.most;
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
            let first = self.board.is_running(id);
            let Some(lane) = self.board.lane(self.number) else { continue };
            if !first && lane.taken_up.insert(id) && lane.may_go(id, order_key.as_deref()) {
                lane.released.insert(id);
            }
        }
        let next = "SELECT min(due_ms) FROM retry WHERE lane = ? AND due_ms > ?";
        let next: Option<i64> =
            reader.prepare_cached(next)?.query_row((number, stored(now_ms)), |row| row.get(0))?;
        let next = next.and_then(|due_ms| u64::try_from(due_ms).ok());
        if let Some(lane) = self.board.lane(self.number) {
            lane.next_due_ms = if all { next } else { Some(now_ms) };
        }
        Ok(())
    }

    /// Gives out what is released.
    fn give_out_released(&mut self) -> rusqlite::Result<()> {
        let reader = self.reader;
        let mut statement = reader.prepare_cached(&select(self.number, "message.id = ?"))?;
        while self.claimed.len() < self.most {
            let Some(lane) = self.board.lane(self.number) else { break };
            let Some(id) = lane.released.pop_first() else { break };
            let name = lane.name.clone();
            let found = statement.query_row([stored(id)], |row| message(row, &name)).optional()?;
            if let Some(found) = found {
                self.give_out(found);
            }
        }
        Ok(())
    }

    /// Gives out what the cursor has not passed.
    fn give_out_unseen(&mut self) -> rusqlite::Result<()> {
        let Some(lane) = self.board.lane(self.number) else { return Ok(()) };
        if self.claimed.len() >= self.most || lane.newest <= lane.cursor {
            return Ok(());
        }
        let (name, newest) = (lane.name.clone(), lane.newest);
        // what is on disk above the newest is not told here yet
        let text = select(self.number, "message.id > ? AND message.id <= ? ORDER BY message.id");
        let reader = self.reader;
        let mut statement = reader.prepare_cached(&text)?;
        let mut rows = statement.query((stored(lane.cursor), stored(newest)))?;
        let mut passed = 0;
        while self.claimed.len() < self.most && passed < PASSED_MAX {
            let (Some(row), Some(lane)) = (rows.next()?, self.board.lane(self.number)) else {
                if let Some(lane) = self.board.lane(self.number) {
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
                self.give_out(found);
            } else {
                passed += 1;
            }
        }
        Ok(())
    }

    fn give_out(&mut self, found: Claimed) {
        let bytes = found.message.body.len() as u64;
        let order_key = found.message.order_key.clone();
        self.board
            .give_out(found.id.0, Running::new(self.number, bytes, found.failures, order_key));
        self.claimed.push(found);
    }
}

/// Messages of the transaction with this number, in the columns that [`message`] reads.
fn select(number: i64, wanted: &str) -> String {
    format!(
        "SELECT message.id, idempotency_key, order_key, media_type, parameters, body, failures
         FROM message_{number} AS message LEFT JOIN retry ON retry.id = message.id WHERE {wanted}"
    )
}

fn message(row: &Row<'_>, transaction: &std::sync::Arc<str>) -> rusqlite::Result<Claimed> {
    let id = ExecutionId(read(row, 0)?);
    Ok(Claimed {
        id,
        accepted_ms: id.accepted_ms(),
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
