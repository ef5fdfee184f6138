//! What the writer's transactions change in `PostgreSQL`. None begins or ends one.

use plumb_serve::database::{Database, DatabaseError, Value};

use super::super::inbox::{Accept, Change, Outcome};
use super::super::parameters::encode;
use super::super::{Accepted, Ending, ExecutionId, Kept, Message, Settled};
use super::rows::{int, text};
use super::schema::{DEAD, DONE, WAITING};

/// Rows of one INSERT, so that few statements are prepared.
const ROWS: [usize; 4] = [64, 16, 4, 1];
/// Columns of a row that differ from row to row.
const COLUMNS: usize = 8;
/// Rows of what is kept no longer that are cleaned away at a time.
const SLICE: u64 = 256;

/// What one transaction has changed, once it is committed.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// In the order of the accepts.
    pub(super) accepted: Vec<Accepted>,
    /// Messages given out that are settled.
    pub(super) settled: Vec<u64>,
    /// Those that wait no longer, and their bytes.
    pub(super) left: (u64, u64),
    /// More dead messages.
    pub(super) dead: i64,
}

/// One transaction under way.
pub(super) struct Writing<'a> {
    pub(super) database: &'a mut Database,
    pub(super) runtime: i64,
    pub(super) now_ms: u64,
    pub(super) effects: Effects,
}

impl Writing<'_> {
    /// Accepts all of them. The ids of one transaction follow each other, and no other runtime has
    /// its accepts committed in between: ids are in the order of acceptance everywhere.
    pub(super) fn accept(&mut self, accepts: &[Accept]) -> Result<(), DatabaseError> {
        if accepts.is_empty() {
            return Ok(());
        }
        let count = accepts.len() as u64;
        let statement = "UPDATE plumb_queue_number SET value = greatest(value, $1) + $2
                         WHERE name = 'id' RETURNING value";
        let floor = Value::Int(int(self.now_ms << 20));
        let last = self.database.row(statement, &[floor, Value::Int(int(count))])?;
        let mut id = last.map_or(0, |row| number(&row.0[0])) - count;
        let mut fresh = Vec::new();
        for accept in accepts {
            id += 1;
            let first = self.first(&accept.message, id)?;
            let accepted = Accepted { id: ExecutionId(first), repeated: first != id };
            self.effects.accepted.push(accepted);
            if first == id {
                fresh.push((id, &accept.message));
            }
        }
        self.insert(&fresh)
    }

    /// The id of the first message with the key of this one: `id` where there was none.
    fn first(&mut self, message: &Message, id: u64) -> Result<u64, DatabaseError> {
        let Some(key) = &message.idempotency_key else { return Ok(id) };
        let values = [text(&message.transaction), text(key), Value::Int(int(id)), self.now()];
        let remember = "INSERT INTO plumb_queue_key (transaction, key, id, at_ms)
                        VALUES ($1, $2, $3, $4) ON CONFLICT (transaction, key)
                        DO UPDATE SET id = plumb_queue_key.id RETURNING id";
        let found = self.database.row(remember, &values)?;
        Ok(found.map_or(id, |row| number(&row.0[0])))
    }

    fn insert(&mut self, mut messages: &[(u64, &Message)]) -> Result<(), DatabaseError> {
        let mut names: Vec<&str> = messages.iter().map(|(_, one)| &*one.transaction).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let known = "INSERT INTO plumb_queue_transaction (name) VALUES ($1)
                         ON CONFLICT DO NOTHING";
            self.database.rows(known, &[text(name)])?;
        }
        while !messages.is_empty() {
            let rows = ROWS.into_iter().find(|rows| *rows <= messages.len()).unwrap_or(1);
            let (now, rest) = messages.split_at(rows);
            let values: Vec<Value> = now.iter().flat_map(|(id, one)| row(*id, one)).collect();
            self.database.rows(&insert(rows), &values)?;
            messages = rest;
        }
        Ok(())
    }

    /// Writes one change down.
    pub(super) fn change(&mut self, change: &Change) -> Result<(), DatabaseError> {
        match change {
            Change::Settle(outcome) => {
                self.settle(outcome)?;
                self.effects.settled.push(outcome.id);
                if !matches!(outcome.ending, Ending::Again { .. }) {
                    self.effects.left.0 += 1;
                    self.effects.left.1 += outcome.bytes;
                }
                self.effects.dead += i64::from(matches!(outcome.ending, Ending::Dead { .. }));
            }
            Change::Note(message, settled) => self.note(message, settled)?,
            // retries and drops come as what is asked for
            Change::Retry(..) | Change::Forget(..) | Change::Rebase => {}
        }
        Ok(())
    }

    /// A message whose lease was lost meanwhile is settled as done all the same, since it is; how it
    /// failed is left to whoever has it now.
    fn settle(&mut self, outcome: &Outcome) -> Result<(), DatabaseError> {
        let id = Value::Int(int(outcome.id));
        let runtime = Value::Int(self.runtime);
        let failures = Value::Int(i64::from(outcome.failures) + 1);
        let now = self.now();
        match (&outcome.ending, &outcome.kept) {
            (Ending::Done, None) => {
                let remove = "DELETE FROM plumb_queue_message WHERE id = $1 AND state = 0";
                self.database.rows(remove, &[id])?;
            }
            (Ending::Done, Some(kept)) => {
                let keep = format!(
                    "UPDATE plumb_queue_message SET state = {DONE}, at_ms = $2, expires_ms = $3,
                     trace = $4, error = NULL WHERE id = $1 AND state = 0"
                );
                let (expires, trace) = self.keep(Some(kept));
                self.database.rows(&keep, &[id, now, expires, trace])?;
            }
            (Ending::Dead { error }, kept) => {
                let bury = format!(
                    "UPDATE plumb_queue_message SET state = {DEAD}, at_ms = $2, expires_ms = $3,
                     trace = $4, error = $5, failures = $6
                     WHERE id = $1 AND state = 0 AND runtime = $7"
                );
                let (expires, trace) = self.keep(kept.as_ref());
                let values = [id, now, expires, trace, text(error), failures, runtime];
                self.database.rows(&bury, &values)?;
            }
            (Ending::Again { error, after }, _) => {
                let put_off = "UPDATE plumb_queue_message SET due_ms = $2, leased_until_ms = 0,
                               runtime = 0, error = $3, failures = $4
                               WHERE id = $1 AND state = 0 AND runtime = $5";
                let due = Value::Int(int(self.now_ms + after.ns() / 1_000_000));
                self.database.rows(put_off, &[id, due, text(error), failures, runtime])?;
            }
        }
        Ok(())
    }

    fn keep(&self, kept: Option<&Kept>) -> (Value, Value) {
        kept.map_or((Value::Null, Value::Null), |kept| {
            let ms = self.now_ms.saturating_add(kept.retention.ns() / 1_000_000);
            (Value::Int(int(ms)), text(&kept.trace))
        })
    }

    fn note(&mut self, message: &Message, settled: &Settled) -> Result<(), DatabaseError> {
        let (state, failures, error) = match &settled.ending {
            Ending::Done => (DONE, 0, Value::Null),
            Ending::Again { error, .. } | Ending::Dead { error } => (DEAD, 1, text(error)),
        };
        let statement = format!(
            "INSERT INTO plumb_queue_message (id, transaction, order_key, idempotency_key,
             media_type, parameters, body, failures, due_ms, leased_until_ms, runtime, state, noted,
             error, at_ms, expires_ms, trace)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, 0, {state}, 1, $9, $10, $11, $12)
             ON CONFLICT DO NOTHING"
        );
        let mut values: Vec<Value> = row(settled.id.0, message).into_iter().collect();
        values[COLUMNS - 1] = Value::Int(failures);
        let (expires, trace) = self.keep(settled.kept.as_ref());
        values.extend([error, self.now(), expires, trace]);
        self.database.rows(&statement, &values).map(drop)
    }

    /// Cleans a slice of what is kept no longer away, and keys that came before `window_ms`; true
    /// when there may be more.
    pub(super) fn clean(&mut self, window_ms: u64) -> Result<bool, DatabaseError> {
        let (now_ms, before_ms) = (self.now_ms, self.now_ms.saturating_sub(window_ms));
        let expired = "SELECT id FROM plumb_queue_message WHERE expires_ms <= $1";
        let slice = format!("LIMIT {SLICE} FOR UPDATE SKIP LOCKED");
        let gone = format!(
            "DELETE FROM plumb_queue_message WHERE id IN
             ({expired} AND (state = {DONE} OR noted = 1) {slice}) RETURNING 1"
        );
        let without_trace = format!(
            "UPDATE plumb_queue_message SET trace = NULL, expires_ms = NULL WHERE id IN
             ({expired} AND state = {DEAD} AND noted = 0 {slice}) RETURNING 1"
        );
        let keys = format!(
            "DELETE FROM plumb_queue_key WHERE (transaction, key) IN
             (SELECT transaction, key FROM plumb_queue_key WHERE at_ms < $1 {slice}) RETURNING 1"
        );
        let mut more = false;
        for (statement, ms) in [(gone, now_ms), (without_trace, now_ms), (keys, before_ms)] {
            let cleaned = self.database.rows(&statement, &[Value::Int(int(ms))])?;
            more |= cleaned.len() as u64 == SLICE;
        }
        Ok(more)
    }

    fn now(&self) -> Value {
        Value::Int(int(self.now_ms))
    }
}

/// The statement that takes so many rows.
fn insert(rows: usize) -> String {
    let row = |row: usize| {
        let places: Vec<String> =
            (1..=COLUMNS).map(|column| format!("${}", row * COLUMNS + column)).collect();
        format!("({}, 0, 0, 0, {WAITING}, 0)", places.join(", "))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!(
        "INSERT INTO plumb_queue_message (id, transaction, order_key, idempotency_key, media_type,
         parameters, body, failures, due_ms, leased_until_ms, runtime, state, noted) VALUES {}",
        rows.join(", ")
    )
}

fn row(id: u64, message: &Message) -> [Value; COLUMNS] {
    let optional = |key: &Option<String>| key.as_deref().map_or(Value::Null, text);
    [
        Value::Int(int(id)),
        text(&message.transaction),
        optional(&message.order_key),
        optional(&message.idempotency_key),
        text(&message.media_type),
        Value::Bytes(encode(&message.parameters)),
        Value::Bytes(message.body.to_vec()),
        Value::Int(0),
    ]
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Int(number) => u64::try_from(*number).unwrap_or(0),
        Value::Null | Value::Text(_) | Value::Bytes(_) => 0,
    }
}
