//! Executions as the manager shows them.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::super::{Execution, ExecutionId, Filter, Message, State};
use super::column::{parameters, read, stored};

/// What is running, and the names of all transactions by their numbers from 1.
pub(super) struct Known {
    pub(super) running: HashSet<u64>,
    pub(super) names: Vec<Arc<str>>,
}

/// How one of the tables is read.
#[derive(Clone, Copy)]
enum Table {
    /// Messages of the transaction with this number.
    Waiting(i64),
    Dead,
    Done,
}

/// One execution, with its body.
pub(super) fn find(
    connection: &Connection,
    known: &Known,
    id: ExecutionId,
) -> rusqlite::Result<Option<Execution>> {
    for table in tables(known, &Filter::default()) {
        let text = select(table, "body", "id = ?");
        let mut statement = connection.prepare_cached(&text)?;
        let found = statement
            .query_row([stored(id.0)], |row| {
                let mut found = execution(row, table, known)?;
                found.message.body = bytes::Bytes::copy_from_slice(row.get_ref(12)?.as_blob()?);
                Ok(found)
            })
            .optional()?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Executions by `filter`, the newest first, without bodies.
pub(super) fn list(
    connection: &Connection,
    known: &Known,
    filter: &Filter,
) -> rusqlite::Result<Vec<Execution>> {
    let mut found = Vec::new();
    for table in tables(known, filter) {
        let wanted = "(?1 IS NULL OR id = ?1) AND (?2 IS NULL OR id < ?2)
             AND (?3 IS NULL OR lane = ?3) ORDER BY id DESC";
        let mut statement = connection.prepare_cached(&select(table, "NULL", wanted))?;
        let lane = filter.transaction.as_ref().map(|name| number(known, name));
        let values =
            params![filter.id.map(|id| stored(id.0)), filter.before.map(|id| stored(id.0)), lane];
        let mut rows = statement.query(values)?;
        let mut of_table = 0;
        while let Some(row) = rows.next()?.filter(|_| of_table < filter.most) {
            let execution = execution(row, table, known)?;
            if filter.state.is_none_or(|state| state == execution.state) {
                found.push(execution);
                of_table += 1;
            }
        }
    }
    found.sort_by_key(|execution| std::cmp::Reverse(execution.id));
    found.truncate(filter.most);
    Ok(found)
}

/// The tables in which what `filter` means may stand.
fn tables(known: &Known, filter: &Filter) -> Vec<Table> {
    let meant = |state| filter.state.is_none_or(|wanted| wanted == state);
    let mut tables = Vec::new();
    if meant(State::Failed) {
        tables.push(Table::Dead);
    }
    if meant(State::Done) {
        tables.push(Table::Done);
    }
    if meant(State::Waiting) || meant(State::Running) {
        let named = (1..).zip(&known.names);
        let other = |name: &str| filter.transaction.as_ref().is_some_and(|wanted| wanted != name);
        let meant = named.filter(|(_, name)| !other(name));
        tables.extend(meant.map(|(lane, _)| Table::Waiting(lane)));
    }
    tables
}

fn select(table: Table, body: &str, wanted: &str) -> String {
    const COLUMNS: &str =
        "id, lane, failures, error, at_ms, trace, bytes, order_key, idempotency_key, media_type,
         parameters";
    let from = match table {
        Table::Dead => "dead".into(),
        Table::Done => "done".into(),
        Table::Waiting(lane) => format!(
            "(SELECT message.id, {lane} AS lane, coalesce(failures, 0) AS failures, error,
              due_ms AS at_ms, NULL AS trace, bytes, order_key, idempotency_key, media_type,
              parameters, body
              FROM message_{lane} AS message LEFT JOIN retry ON retry.id = message.id)"
        ),
    };
    format!("SELECT {COLUMNS}, 0, {body} FROM {from} WHERE {wanted}")
}

fn execution(row: &Row<'_>, table: Table, known: &Known) -> rusqlite::Result<Execution> {
    let id = read(row, 0)?;
    let state = match table {
        Table::Dead => State::Failed,
        Table::Done => State::Done,
        Table::Waiting(_) if known.running.contains(&id) => State::Running,
        Table::Waiting(_) => State::Waiting,
    };
    let name = usize::try_from(row.get::<_, i64>(1)? - 1).ok();
    let name = name.and_then(|place| known.names.get(place)).cloned().unwrap_or_default();
    let at_ms: Option<i64> = row.get(4)?;
    Ok(Execution {
        id: ExecutionId(id),
        state,
        accepted_ms: ExecutionId(id).accepted_ms(),
        message: Message {
            transaction: name,
            parameters: parameters(row, 10)?,
            media_type: row.get::<_, String>(9)?.into(),
            body: bytes::Bytes::new(),
            order_key: row.get(7)?,
            idempotency_key: row.get(8)?,
        },
        bytes: read(row, 6)?,
        failures: row.get(2)?,
        error: row.get(3)?,
        trace: row.get(5)?,
        at_ms: at_ms.and_then(|at_ms| u64::try_from(at_ms).ok()),
    })
}

/// The number of a transaction; one that nobody has for an unknown one.
fn number(known: &Known, name: &str) -> i64 {
    let place = known.names.iter().position(|known| **known == *name);
    place.and_then(|place| i64::try_from(place + 1).ok()).unwrap_or(0)
}
