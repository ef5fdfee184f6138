//! The spool as somebody sees it from outside: lists, sending again, deleting.
//!
//! A running process does what is asked at its next look; where none runs, it is done here.

use std::path::{Path, PathBuf};

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use rusqlite::{Connection, params};

use super::records::{FILE, connect, is_ours, ledgers, read, stored};
use super::{Ledger, Spool, SpoolError};

/// Between two looks at whether a running process has done it.
const LOOK_NS: u64 = 50_000_000;

/// A queue of the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum QueueName {
    /// What waits to be sent.
    Main,
    /// What failed for the last time.
    Failed,
    /// What was not delivered in its lifetime.
    Expired,
}

/// Which messages are meant.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Of this queue.
    pub queue: QueueName,
    /// Of this agent; of all without.
    pub agent: Option<String>,
    /// This one alone.
    pub message: Option<i64>,
}

/// What is to become of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// They go back to the main queue.
    Send,
    /// They are deleted.
    Delete,
}

/// A message of a list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Shown {
    /// Its number.
    pub message: i64,
    /// Its agent.
    pub agent: String,
    /// Changes in it.
    pub changes: u64,
    /// Bytes of its document.
    pub bytes: u64,
    /// When it was put there, milliseconds since 1970.
    pub at_ms: u64,
    /// Attempts that failed.
    pub attempts: u32,
    /// Why it is not in the main queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A look into a spool.
#[derive(Debug)]
pub struct SpoolView {
    folder: PathBuf,
    connection: Connection,
}

impl SpoolView {
    /// Opens the spool in `folder` beside whoever uses it.
    ///
    /// # Errors
    /// [`SpoolError`] when there is none, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Self, SpoolError> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Err(SpoolError::Missing { path: folder.into() });
        }
        let connection = connect(&path).map_err(|error| damaged(folder, &error))?;
        if !is_ours(&connection).map_err(|error| damaged(folder, &error))? {
            return Err(SpoolError::Foreign { path });
        }
        Ok(Self { folder: folder.into(), connection })
    }

    /// The ledgers, counted from the messages.
    ///
    /// # Errors
    /// [`SpoolError::Damaged`].
    pub fn ledgers(&self) -> Result<Vec<Ledger>, SpoolError> {
        // all of it as of one moment
        let ledgers = self.connection.execute_batch("BEGIN").and_then(|()| {
            let found = ledgers(&self.connection);
            self.connection.execute_batch("COMMIT")?;
            found
        });
        ledgers.map_err(|error| damaged(&self.folder, &error))
    }

    /// The first `most` messages of a queue.
    ///
    /// # Errors
    /// [`SpoolError::Damaged`].
    pub fn list(&self, chosen: &Chosen, most: u64) -> Result<Vec<Shown>, SpoolError> {
        let (table, error) = match chosen.queue {
            QueueName::Main => ("message", "NULL"),
            QueueName::Failed | QueueName::Expired => ("parked", "error"),
        };
        let queue = match chosen.queue {
            QueueName::Main => String::new(),
            queue => format!("AND queue = {}", number(queue)),
        };
        let text = format!(
            "SELECT id, name, changes, bytes, at_ms, attempts, {error} FROM {table}
             JOIN agent ON number = agent WHERE (?1 IS NULL OR name = ?1)
             AND (?2 IS NULL OR id = ?2) {queue} ORDER BY id LIMIT ?3"
        );
        let shown = |row: &rusqlite::Row<'_>| {
            Ok(Shown {
                message: row.get(0)?,
                agent: row.get(1)?,
                changes: row.get(2).map(read)?,
                bytes: row.get(3).map(read)?,
                at_ms: row.get(4).map(read)?,
                attempts: row.get(5)?,
                error: row.get(6)?,
            })
        };
        let found = self.connection.prepare(&text).and_then(|mut statement| {
            let values = params![chosen.agent, chosen.message, stored(most)];
            statement.query_map(values, shown)?.collect()
        });
        found.map_err(|error| damaged(&self.folder, &error))
    }

    /// Has messages sent again or deleted, and waits until that is done; how many, or `None` when
    /// `stop` was asked before, and nothing is done any more.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn ask(
        &self,
        asked: Asked,
        chosen: &Chosen,
        stop: &Stop,
    ) -> Result<Option<u64>, SpoolError> {
        // the disk may be full, or the file held by somebody for too long
        let wrong = |error: rusqlite::Error| SpoolError::Ended(error.to_string());
        let text = "INSERT INTO request(sends, queue, agent, message) VALUES (?, ?, ?, ?)";
        let sends = asked == Asked::Send;
        let values = params![sends, number(chosen.queue), chosen.agent, chosen.message];
        self.connection.execute(text, values).map_err(wrong)?;
        let id = self.connection.last_insert_rowid();
        let mut own = None;
        loop {
            let text = "SELECT found FROM request WHERE id = ?";
            let found: Option<i64> =
                self.connection.query_row(text, [id], |row| row.get(0)).map_err(wrong)?;
            if let Some(found) = found {
                let text = "DELETE FROM request WHERE id = ?";
                self.connection.execute(text, [id]).map_err(wrong)?;
                return Ok(Some(read(found)));
            }
            // where nobody sends, or whoever did has ended, it is done by a writer of our own, which
            // ends with this look
            if own.is_none() {
                own = match Spool::open(&self.folder) {
                    Ok(spool) => Some(spool),
                    Err(SpoolError::InUse { .. }) => None,
                    Err(other) => return Err(other),
                };
            }
            let look_at_ns = MonotonicClock.now_ns() + LOOK_NS;
            let stopped = stop.wait_until(look_at_ns);
            let folder = self.folder.clone();
            if stopped.map_err(|error| SpoolError::Folder { path: folder, error })? {
                // it is withdrawn, unless it was done just now
                let text = "DELETE FROM request WHERE id = ? RETURNING found";
                let found: Option<i64> =
                    self.connection.query_row(text, [id], |row| row.get(0)).map_err(wrong)?;
                return Ok(found.map(read));
            }
        }
    }
}

fn number(queue: QueueName) -> i64 {
    match queue {
        QueueName::Main => 0,
        QueueName::Failed => 1,
        QueueName::Expired => 2,
    }
}

fn damaged(folder: &Path, error: &rusqlite::Error) -> SpoolError {
    SpoolError::Damaged { path: folder.join(FILE), what: error.to_string() }
}
