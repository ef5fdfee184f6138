//! What stands in the file of the spool.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::ledger::{Ledger, Stock};
use super::{Ending, SpoolError, Taken, Waiting, Wanted};
use crate::bundle::Bundle;
use crate::change::Position;

/// The name of the file.
pub(super) const FILE: &str = "spool.db";
/// `plag` in ASCII: whose file it is.
const APPLICATION: i64 = 0x706c_6167;
const VERSION: i64 = 1;
pub(super) const PAGE_BYTES: u64 = 8 << 10;
/// Numbers of changes an agent has at most, as a power of two.
const CHANGE_BITS: u32 = 43;

/// `message` is what waits; `parked` what failed (queue 1) or expired (queue 2).
const SCHEMA: &str = "
CREATE TABLE agent (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, seen INTEGER NOT NULL,
  never_seen INTEGER NOT NULL, produced INTEGER NOT NULL, delivered INTEGER NOT NULL,
  delivered_messages INTEGER NOT NULL, dropped INTEGER NOT NULL, deleted INTEGER NOT NULL,
  at INTEGER NOT NULL, part INTEGER NOT NULL, within INTEGER NOT NULL);
CREATE TABLE message (
  id INTEGER PRIMARY KEY, agent INTEGER NOT NULL, changes INTEGER NOT NULL,
  at_ms INTEGER NOT NULL, attempts INTEGER NOT NULL, due_ms INTEGER, bytes INTEGER NOT NULL,
  body BLOB NOT NULL);
CREATE INDEX message_due ON message(agent, due_ms) WHERE due_ms IS NOT NULL;
CREATE TABLE parked (
  id INTEGER PRIMARY KEY, queue INTEGER NOT NULL, agent INTEGER NOT NULL,
  changes INTEGER NOT NULL, at_ms INTEGER NOT NULL, attempts INTEGER NOT NULL,
  bytes INTEGER NOT NULL, error TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX parked_queue ON parked(queue, agent);
CREATE TABLE request (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sends INTEGER NOT NULL, queue INTEGER NOT NULL,
  agent TEXT, message INTEGER, found INTEGER);
CREATE TABLE instance (name TEXT NOT NULL);
";

/// A queue beside the main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parked {
    Failed = 1,
    Expired = 2,
}

/// A message that left a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) changes: u64,
    pub(super) bytes: u64,
}

/// What somebody asked for from outside.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pub(super) id: i64,
    pub(super) sends: bool,
    /// 0: the main queue.
    pub(super) queue: i64,
    pub(super) agent: Option<String>,
    pub(super) message: Option<i64>,
}

/// The connection that writes.
#[derive(Debug)]
pub(super) struct Records {
    pub(super) connection: Connection,
}

/// Opens the file at `path`, which is there.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "cache_size", -2_048)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Whether the file is ours.
pub(super) fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let pragma = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0));
    let (application, version): (i64, i64) = (pragma("application_id")?, pragma("user_version")?);
    Ok((application, version) == (APPLICATION, VERSION))
}

impl Records {
    pub(super) fn open(path: &Path, log_bytes: u64) -> Result<Self, SpoolError> {
        let damaged = |error: rusqlite::Error| SpoolError::Damaged {
            path: path.into(),
            what: error.to_string(),
        };
        let new = !std::fs::metadata(path).is_ok_and(|found| found.len() > 0);
        let connection = connect(path).map_err(damaged)?;
        if new {
            create(&connection).map_err(damaged)?;
        } else if !is_ours(&connection).map_err(damaged)? {
            return Err(SpoolError::Foreign { path: path.into() });
        }
        let found: String =
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(damaged)?;
        if found != "ok" {
            return Err(SpoolError::Damaged { path: path.into(), what: found });
        }
        connection
            .pragma_update(None, "wal_autocheckpoint", stored(log_bytes / PAGE_BYTES))
            .map_err(damaged)?;
        let records = Self { connection };
        if let Some(ledger) = records.ledgers().map_err(damaged)?.iter().find(|it| !it.closes()) {
            let (name, made) = (&ledger.name, ledger.produced);
            let what = format!("agent {name} made {made} changes, and they are not all in it");
            return Err(SpoolError::Damaged { path: path.into(), what });
        }
        Ok(records)
    }

    /// Names the spool; nobody else has the name.
    pub(super) fn instance(&self) -> rusqlite::Result<String> {
        self.connection.query_row("SELECT name FROM instance", [], |row| row.get(0))
    }

    /// All ledgers, by the numbers of their agents; what is in queues is counted from the messages.
    pub(super) fn ledgers(&self) -> rusqlite::Result<Vec<Ledger>> {
        ledgers(&self.connection)
    }

    pub(super) fn begin(&self) -> rusqlite::Result<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(|_| ())
    }

    pub(super) fn commit(&self) -> rusqlite::Result<()> {
        self.connection.prepare_cached("COMMIT")?.execute([]).map(|_| ())
    }

    pub(super) fn roll_back(&self) -> rusqlite::Result<()> {
        if self.connection.is_autocommit() {
            return Ok(()); // `SQLite` has done so itself
        }
        self.connection.execute_batch("ROLLBACK")
    }

    pub(super) fn add_agent(&self, number: usize, name: &str) -> rusqlite::Result<()> {
        let text = "INSERT INTO agent VALUES (?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)";
        self.connection.execute(text, params![stored(number as u64), name]).map(|_| ())
    }

    pub(super) fn write(&self, number: usize, ledger: &Ledger) -> rusqlite::Result<()> {
        let text = "UPDATE agent SET seen = ?, never_seen = ?, produced = ?, delivered = ?,
             delivered_messages = ?, dropped = ?, deleted = ?, at = ?, part = ?, within = ?
             WHERE number = ?";
        self.connection.prepare_cached(text)?.execute(params![
            stored(ledger.seen),
            stored(ledger.never_seen),
            stored(ledger.produced),
            stored(ledger.delivered),
            stored(ledger.delivered_messages),
            stored(ledger.dropped),
            stored(ledger.deleted),
            stored(ledger.position.at),
            ledger.position.part,
            ledger.position.within.cast_signed(),
            stored(number as u64),
        ])?;
        Ok(())
    }

    pub(super) fn add(&self, agent: usize, bundle: &Bundle, at_ms: u64) -> rusqlite::Result<()> {
        let text = "INSERT INTO message VALUES (?, ?, ?, ?, 0, NULL, ?, ?)";
        self.connection.prepare_cached(text)?.execute(params![
            first_id(agent) + stored(bundle.first),
            stored(agent as u64),
            bundle.changes,
            stored(at_ms),
            stored(bundle.body.len() as u64),
            bundle.body,
        ])?;
        Ok(())
    }

    /// Takes a message out of the main queue, or puts it off; `None` when it is not there.
    pub(super) fn settle(&self, id: i64, ending: &Ending) -> rusqlite::Result<Option<Left>> {
        let connection = &self.connection;
        match ending {
            Ending::Delivered => self.remove(id),
            Ending::Again { attempts, due_ms } => {
                let due = (*due_ms > 0).then(|| stored(*due_ms));
                let text = "UPDATE message SET attempts = ?, due_ms = ? WHERE id = ?";
                connection.prepare_cached(text)?.execute(params![attempts, due, id])?;
                Ok(None)
            }
            Ending::Failed { attempts, error } => {
                self.park(id, Parked::Failed, Some(*attempts), error)?;
                self.remove(id)
            }
            Ending::Expired => {
                self.park(id, Parked::Expired, None, "not delivered in its lifetime")?;
                self.remove(id)
            }
        }
    }

    fn park(
        &self,
        id: i64,
        queue: Parked,
        attempts: Option<u32>,
        error: &str,
    ) -> rusqlite::Result<()> {
        let text = "INSERT INTO parked
             SELECT id, ?, agent, changes, at_ms, coalesce(?, attempts), bytes, ?, body
             FROM message WHERE id = ?";
        let values = params![queue as i64, attempts, error, id];
        self.connection.prepare_cached(text)?.execute(values).map(|_| ())
    }

    fn remove(&self, id: i64) -> rusqlite::Result<Option<Left>> {
        let text = "DELETE FROM message WHERE id = ? RETURNING changes, bytes";
        self.connection.prepare_cached(text)?.query_row([id], left).optional()
    }

    pub(super) fn take(
        &self,
        agent: usize,
        wanted: Wanted,
        most: usize,
        bytes: usize,
    ) -> rusqlite::Result<Taken> {
        let (from, end) = (first_id(agent), first_id(agent + 1));
        let columns = "SELECT id, at_ms, attempts, body FROM message";
        let (text, values) = match wanted {
            Wanted::After(id) => (
                format!(
                    "{columns} WHERE id > ?1 AND id < ?2 AND due_ms IS NULL ORDER BY id LIMIT ?3"
                ),
                [id.max(from), end, stored(most as u64)],
            ),
            Wanted::Due(now_ms) => (
                format!(
                    "{columns} WHERE agent = ?1 AND due_ms <= ?2 AND due_ms IS NOT NULL
                     ORDER BY due_ms LIMIT ?3"
                ),
                [stored(agent as u64), stored(now_ms), stored(most as u64)],
            ),
        };
        let mut statement = self.connection.prepare_cached(&text)?;
        let mut rows = statement.query(values)?;
        let (mut messages, mut taken) = (Vec::new(), 0);
        while taken < bytes
            && let Some(row) = rows.next()?
        {
            let message = waiting(row, from)?;
            taken += message.body.len();
            messages.push(message);
        }
        let text = "SELECT min(due_ms) FROM message WHERE agent = ? AND due_ms IS NOT NULL";
        let mut next = self.connection.prepare_cached(text)?;
        let next_due_ms: Option<i64> = next.query_row([stored(agent as u64)], |row| row.get(0))?;
        Ok(Taken { messages, next_due_ms: next_due_ms.map(read) })
    }

    /// The first thing that somebody asked for and nobody has done.
    pub(super) fn asking(&self) -> rusqlite::Result<Option<Asking>> {
        let text = "SELECT id, sends, queue, agent, message FROM request WHERE found IS NULL
             ORDER BY id LIMIT 1";
        let asking = |row: &Row<'_>| {
            Ok(Asking {
                id: row.get(0)?,
                sends: row.get(1)?,
                queue: row.get(2)?,
                agent: row.get(3)?,
                message: row.get(4)?,
            })
        };
        self.connection.prepare_cached(text)?.query_row([], asking).optional()
    }

    /// Does what was asked for; messages and changes by agent.
    pub(super) fn do_asked(
        &self,
        asked: &Asking,
        now_ms: u64,
    ) -> rusqlite::Result<Vec<(usize, Left)>> {
        let of = "(?1 IS NULL OR agent IN (SELECT number FROM agent WHERE name = ?1))
             AND (?2 IS NULL OR id = ?2)";
        let connection = &self.connection;
        let named = params![asked.agent, asked.message];
        let queue = asked.queue;
        if asked.sends {
            // their lifetime begins anew: those that expired would expire again at once
            let text = format!(
                "INSERT INTO message SELECT id, agent, changes, ?3, 0, NULL, bytes, body
                 FROM parked WHERE queue = {queue} AND {of}"
            );
            connection.execute(&text, params![asked.agent, asked.message, stored(now_ms)])?;
        }
        let text = match queue {
            0 => format!("DELETE FROM message WHERE {of} RETURNING changes, bytes, agent"),
            queue => format!(
                "DELETE FROM parked WHERE queue = {queue} AND {of} RETURNING changes, bytes, agent"
            ),
        };
        let mut statement = connection.prepare(&text)?;
        let rows = statement.query_map(named, |row| {
            let agent: i64 = row.get(2)?;
            Ok((usize::try_from(agent).unwrap_or(usize::MAX), left(row)?))
        })?;
        let found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        let text = "UPDATE request SET found = ? WHERE id = ?";
        connection.execute(text, params![stored(found.len() as u64), asked.id])?;
        Ok(found)
    }

    /// Bytes of the file that hold nothing.
    pub(super) fn free_inside(&self) -> u64 {
        let pages: rusqlite::Result<i64> =
            self.connection.query_row("PRAGMA freelist_count", [], |row| row.get(0));
        pages.map_or(0, |pages| read(pages) * PAGE_BYTES)
    }

    pub(super) fn checkpoint(&self, how: &str) -> rusqlite::Result<()> {
        self.connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
    }
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "page_size", stored(PAGE_BYTES))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let mark = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};");
    let name = "INSERT INTO instance VALUES (lower(hex(randomblob(8))));";
    connection.execute_batch(&format!("BEGIN;{SCHEMA}{name}{mark}COMMIT;"))
}

/// All ledgers of a file, by the numbers of their agents, from 0.
pub(super) fn ledgers(connection: &Connection) -> rusqlite::Result<Vec<Ledger>> {
    let text = "SELECT name, seen, never_seen, produced, delivered, delivered_messages, dropped,
         deleted, at, part, within FROM agent ORDER BY number";
    let mut statement = connection.prepare(text)?;
    let number = |row: &Row<'_>, at| row.get(at).map(read);
    let rows = statement.query_map([], |row| {
        Ok(Ledger {
            name: row.get(0)?,
            seen: number(row, 1)?,
            never_seen: number(row, 2)?,
            produced: number(row, 3)?,
            delivered: number(row, 4)?,
            delivered_messages: number(row, 5)?,
            dropped: number(row, 6)?,
            deleted: number(row, 7)?,
            position: Position {
                at: number(row, 8)?,
                part: row.get(9)?,
                within: row.get::<_, i64>(10)?.cast_unsigned(),
            },
            ..Ledger::default()
        })
    })?;
    let mut ledgers = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    for (queue, text) in [
        (0, "SELECT agent, 0, count(*), sum(changes), sum(bytes) FROM message GROUP BY agent"),
        (1, "SELECT agent, queue, count(*), sum(changes), sum(bytes) FROM parked GROUP BY 1, 2"),
    ] {
        let mut statement = connection.prepare(text)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let stock = Stock {
                messages: number(row, 2)?,
                changes: number(row, 3)?,
                bytes: number(row, 4)?,
            };
            let (agent, which): (i64, i64) = (row.get(0)?, row.get(1)?);
            let Some(ledger) = usize::try_from(agent).ok().and_then(|it| ledgers.get_mut(it))
            else {
                continue; // its ledger does not close
            };
            match (queue, which) {
                (0, _) => ledger.main = stock,
                (_, 1) => ledger.failed = stock,
                _ => ledger.expired = stock,
            }
        }
    }
    Ok(ledgers)
}

/// The id of no message, below those of an agent.
fn first_id(agent: usize) -> i64 {
    stored((agent as u64) << CHANGE_BITS)
}

fn waiting(row: &Row<'_>, first_id: i64) -> rusqlite::Result<Waiting> {
    let id: i64 = row.get(0)?;
    Ok(Waiting {
        id,
        first: read(id - first_id),
        at_ms: read(row.get(1)?),
        attempts: row.get(2)?,
        body: bytes::Bytes::copy_from_slice(row.get_ref(3)?.as_blob()?),
    })
}

fn left(row: &Row<'_>) -> rusqlite::Result<Left> {
    Ok(Left { changes: read(row.get(0)?), bytes: read(row.get(1)?) })
}

/// As the file keeps it, which knows no number above 2^63.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// As it was stored.
pub(super) fn read(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
