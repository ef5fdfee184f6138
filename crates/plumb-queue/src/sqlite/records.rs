//! What the writer's transactions change on disk. None begins or ends one.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params, params_from_iter};

use super::super::inbox::Outcome;
use super::super::parameters::encode;
use super::super::{Ending, Kept, Message, Settled};
use super::column::{read, stored};
use super::schema;

/// Rows of what is kept that one group cleans away at most.
const SLICE: u64 = 64;
const HOUR_MS: u64 = 3_600_000;
/// What all tables of messages have.
const COLUMNS: &str = "bytes, order_key, idempotency_key, media_type, parameters, body";

/// The connection that writes, and what it knows of its tables.
#[derive(Debug)]
pub(super) struct Records {
    pub(super) connection: Connection,
    lanes: HashMap<Arc<str>, i64>,
    /// Hours (since 1970) whose idempotency keys are remembered.
    hours: BTreeSet<u64>,
}

/// A message that left or came back otherwise than through a claim.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) id: u64,
    pub(super) lane: i64,
    pub(super) bytes: u64,
    pub(super) order_key: Option<String>,
    /// It did not come through the queue.
    pub(super) noted: bool,
}

impl Records {
    pub(super) fn read(connection: Connection) -> rusqlite::Result<Self> {
        let mut records = Self { connection, lanes: HashMap::new(), hours: BTreeSet::new() };
        records.reload()?;
        Ok(records)
    }

    /// Learns anew which tables there are, as after a transaction that was undone.
    pub(super) fn reload(&mut self) -> rusqlite::Result<()> {
        self.lanes = self.names()?.into_iter().collect();
        let text = "SELECT substr(name, 13) FROM sqlite_schema
                    WHERE type = 'table' AND name LIKE 'idempotency\\_%' ESCAPE '\\'";
        let mut statement = self.connection.prepare(text)?;
        let hours = statement.query_map([], |row| row.get::<_, String>(0))?;
        let hours = hours.collect::<rusqlite::Result<Vec<_>>>()?;
        self.hours = hours.iter().filter_map(|hour| hour.parse().ok()).collect();
        Ok(())
    }

    /// Transactions and their numbers, by number.
    pub(super) fn names(&self) -> rusqlite::Result<Vec<(Arc<str>, i64)>> {
        let text = "SELECT name, number FROM lane ORDER BY number";
        let mut statement = self.connection.prepare(text)?;
        let found =
            statement.query_map([], |row| Ok((row.get::<_, String>(0)?.into(), row.get(1)?)))?;
        found.collect()
    }

    /// The number of a transaction, and whether it is new.
    pub(super) fn lane(&mut self, name: &Arc<str>) -> rusqlite::Result<(i64, bool)> {
        if let Some(number) = self.lanes.get(name) {
            return Ok((*number, false));
        }
        let number = i64::try_from(self.lanes.len() + 1).unwrap_or(i64::MAX);
        self.connection.execute("INSERT INTO lane VALUES (?, ?)", params![number, &**name])?;
        self.connection.execute_batch(&schema::message_table(number))?;
        self.lanes.insert(name.clone(), number);
        Ok((number, true))
    }

    /// The number of the transaction `name`, if there was a message of it.
    pub(super) fn number_of(&self, name: &str) -> Option<i64> {
        self.lanes.get(name).copied()
    }

    /// Transactions; their numbers go from 1 to this.
    pub(super) fn lanes_count(&self) -> i64 {
        i64::try_from(self.lanes.len()).unwrap_or(i64::MAX)
    }

    pub(super) fn number(&self, name: &str) -> rusqlite::Result<Option<u64>> {
        let text = "SELECT value FROM number WHERE name = ?";
        self.connection.prepare_cached(text)?.query_row([name], |row| read(row, 0)).optional()
    }

    pub(super) fn set_number(&self, name: &str, value: u64) -> rusqlite::Result<()> {
        let text = "INSERT INTO number VALUES (?, ?)
                    ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.connection.prepare_cached(text)?.execute(params![name, stored(value)]).map(|_| ())
    }

    /// The message that came first with the key of this one.
    pub(super) fn known(&self, lane: i64, key: &str) -> rusqlite::Result<Option<u64>> {
        for hour in self.hours.iter().rev() {
            let text = format!("SELECT id FROM idempotency_{hour} WHERE lane = ? AND key = ?");
            let mut statement = self.connection.prepare_cached(&text)?;
            let found = statement.query_row(params![lane, key], |row| read(row, 0)).optional()?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    pub(super) fn insert(
        &mut self,
        lane: i64,
        id: u64,
        message: &Message,
        now_ms: u64,
    ) -> rusqlite::Result<()> {
        let text = format!("INSERT INTO message_{lane} VALUES (?, ?, ?, ?, ?, ?, ?)");
        self.write_message(&text, params![stored(id)], message)?;
        match &message.idempotency_key {
            Some(key) => self.remember(lane, key, id, now_ms / HOUR_MS),
            None => Ok(()),
        }
    }

    /// Does the statement `text`, whose last parameters are the [`COLUMNS`] of `message`.
    fn write_message(
        &self,
        text: &str,
        first: &[&dyn ToSql],
        message: &Message,
    ) -> rusqlite::Result<()> {
        let columns = params![
            stored(message.body.len() as u64),
            message.order_key,
            message.idempotency_key,
            &*message.media_type,
            encode(&message.parameters),
            &*message.body,
        ];
        let values = params_from_iter(first.iter().chain(columns));
        self.connection.prepare_cached(text)?.execute(values).map(|_| ())
    }

    fn remember(&mut self, lane: i64, key: &str, id: u64, hour: u64) -> rusqlite::Result<()> {
        if self.hours.insert(hour) {
            self.connection.execute_batch(&schema::key_table(hour))?;
        }
        let text = format!("INSERT INTO idempotency_{hour} VALUES (?, ?, ?)");
        self.connection.prepare_cached(&text)?.execute(params![lane, key, stored(id)]).map(|_| ())
    }

    /// When a message that failed is due again, milliseconds since 1970; `None` when it is not.
    pub(super) fn settle(&self, outcome: &Outcome, now_ms: u64) -> rusqlite::Result<Option<u64>> {
        let Outcome { id, lane, failures, .. } = *outcome;
        match &outcome.ending {
            Ending::Again { error, after } => {
                let after_ms = after.ns() / 1_000_000;
                let due_ms = now_ms + after_ms;
                self.put_off(id, lane, due_ms, after_ms, failures + 1, error)?;
                return Ok(Some(due_ms));
            }
            Ending::Dead { error } => {
                self.keep("dead", outcome, failures + 1, Some(error), now_ms)?;
            }
            Ending::Done if outcome.kept.is_some() => {
                self.keep("done", outcome, failures, None, now_ms)?;
            }
            Ending::Done => {}
        }
        self.remove(lane, id, failures > 0)?;
        Ok(None)
    }

    fn put_off(
        &self,
        id: u64,
        lane: i64,
        due_ms: u64,
        after_ms: u64,
        failures: u32,
        error: &str,
    ) -> rusqlite::Result<()> {
        let text = "INSERT INTO retry VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
             due_ms = excluded.due_ms, after_ms = excluded.after_ms,
             failures = excluded.failures, error = excluded.error";
        let values = params![stored(id), lane, stored(due_ms), stored(after_ms), failures, error];
        self.connection.prepare_cached(text)?.execute(values).map(|_| ())
    }

    /// Copies a message that ended to what is kept.
    fn keep(
        &self,
        table: &str,
        outcome: &Outcome,
        failures: u32,
        error: Option<&String>,
        now_ms: u64,
    ) -> rusqlite::Result<()> {
        let lane = outcome.lane;
        let text = format!(
            "INSERT INTO {table} (id, lane, failures, error, at_ms, expires_ms, noted, trace,
             {COLUMNS})
             SELECT id, ?2, ?3, ?4, ?5, ?6, 0, ?7, {COLUMNS} FROM message_{lane} WHERE id = ?1"
        );
        let kept = outcome.kept.as_ref();
        self.connection.prepare_cached(&text)?.execute(params![
            stored(outcome.id),
            lane,
            failures,
            error,
            stored(now_ms),
            kept.map(|kept| expires(kept, now_ms)),
            kept.map(|kept| &kept.trace),
        ])?;
        Ok(())
    }

    pub(super) fn remove(&self, lane: i64, id: u64, put_off: bool) -> rusqlite::Result<()> {
        let text = format!("DELETE FROM message_{lane} WHERE id = ?");
        self.connection.prepare_cached(&text)?.execute([stored(id)])?;
        if put_off {
            self.connection
                .prepare_cached("DELETE FROM retry WHERE id = ?")?
                .execute([stored(id)])?;
        }
        Ok(())
    }

    /// Keeps an execution that did not come through the queue.
    pub(super) fn note(
        &self,
        lane: i64,
        message: &Message,
        settled: &Settled,
        now_ms: u64,
    ) -> rusqlite::Result<()> {
        let Some(kept) = &settled.kept else { return Ok(()) };
        let (table, failures, error) = match &settled.ending {
            Ending::Done => ("done", 0, None),
            Ending::Again { error, .. } | Ending::Dead { error } => ("dead", 1, Some(error)),
        };
        let text = format!(
            "INSERT OR REPLACE INTO {table} (id, lane, failures, error, at_ms, expires_ms, noted,
             trace, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)"
        );
        let (id, at, until) = (stored(settled.id.0), stored(now_ms), expires(kept, now_ms));
        let first = params![id, lane, failures, error, at, until, kept.trace];
        self.write_message(&text, first, message)
    }

    /// Copies a message that is dead to those that wait.
    pub(super) fn move_back(&self, moved: &Moved) -> rusqlite::Result<()> {
        let text = format!(
            "INSERT INTO message_{} (id, {COLUMNS}) SELECT id, {COLUMNS} FROM dead WHERE id = ?",
            moved.lane
        );
        self.connection.prepare_cached(&text)?.execute([stored(moved.id)]).map(|_| ())
    }

    pub(super) fn remove_ended(&self, table: &str, id: u64) -> rusqlite::Result<()> {
        let text = format!("DELETE FROM {table} WHERE id = ?");
        self.connection.prepare_cached(&text)?.execute([stored(id)]).map(|_| ())
    }

    /// Retries that were put off by a clock that has been set back since are due after their
    /// interval from now on.
    pub(super) fn rebase(&self, now_ms: u64) -> rusqlite::Result<()> {
        let text = "UPDATE retry SET due_ms = ?1 + after_ms WHERE due_ms - after_ms > ?1";
        self.connection.prepare_cached(text)?.execute([stored(now_ms)]).map(|_| ())
    }

    /// True when something is kept longer than it is to be.
    pub(super) fn has_expired(&self, now_ms: u64, window_ms: u64) -> rusqlite::Result<bool> {
        let text = "SELECT EXISTS (SELECT 1 FROM done WHERE expires_ms <= ?1)
                        OR EXISTS (SELECT 1 FROM dead WHERE expires_ms <= ?1)";
        let kept =
            self.connection.prepare_cached(text)?.query_row([stored(now_ms)], |row| row.get(0))?;
        Ok(kept || self.past_hour(now_ms, window_ms).is_some())
    }

    /// Cleans a slice of what is kept no longer away. Dead messages of the queue lose their traces
    /// only.
    pub(super) fn clean(&mut self, now_ms: u64, window_ms: u64) -> rusqlite::Result<()> {
        for text in [
            "DELETE FROM done WHERE id IN
                (SELECT id FROM done WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2)",
            "DELETE FROM dead WHERE noted AND id IN
                (SELECT id FROM dead WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2)",
            "UPDATE dead SET trace = NULL, expires_ms = NULL WHERE NOT noted AND id IN
                (SELECT id FROM dead WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2)",
        ] {
            let values = [stored(now_ms), stored(SLICE)];
            self.connection.prepare_cached(text)?.execute(values)?;
        }
        if let Some(hour) = self.past_hour(now_ms, window_ms) {
            self.connection.execute_batch(&format!("DROP TABLE idempotency_{hour}"))?;
            self.hours.remove(&hour);
        }
        Ok(())
    }

    /// The first hour whose keys are forgotten.
    fn past_hour(&self, now_ms: u64, window_ms: u64) -> Option<u64> {
        let hour = *self.hours.first()?;
        ((hour + 1) * HOUR_MS + window_ms <= now_ms).then_some(hour)
    }
}

/// A row of `id, bytes, order_key, lane, noted`.
pub(super) fn moved(row: &Row<'_>) -> rusqlite::Result<Moved> {
    let (lane, noted) = (row.get(3)?, row.get(4)?);
    Ok(Moved { id: read(row, 0)?, bytes: read(row, 1)?, order_key: row.get(2)?, lane, noted })
}

fn expires(kept: &Kept, now_ms: u64) -> i64 {
    stored(now_ms.saturating_add(kept.retention.ns() / 1_000_000))
}
