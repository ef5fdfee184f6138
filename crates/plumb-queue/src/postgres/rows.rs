//! Rows of `PostgreSQL` as messages and executions.

use plumb_serve::database::{Database, DatabaseError, Row, Value};

use super::super::parameters::decode;
use super::super::{Claimed, Execution, ExecutionId, Filter, Message, State};
use super::schema::{DEAD, DONE, DUE_AGAIN, WAITING};

/// Columns of a message, in the order of [`message`].
const MESSAGE: &str =
    "id, failures, transaction, order_key, idempotency_key, media_type, parameters";

/// How a claim is asked for.
pub(super) struct Ask<'a> {
    pub(super) transaction: &'a str,
    pub(super) runtime: i64,
    pub(super) most: usize,
    pub(super) now_ms: u64,
    pub(super) lease_ms: u64,
    /// Ids of what this runtime has under way, between commas: not given out twice here, even when
    /// their leases could not be renewed in time.
    pub(super) running: String,
}

/// Leases messages of one transaction, in the order of their ids. One that another runtime is
/// taking at this moment is passed over; of an order key the first one alone is given out, and one
/// that was dead not while a successor is under way, before which it stands now.
pub(super) fn claim(database: &mut Database, ask: &Ask<'_>) -> Result<Vec<Claimed>, DatabaseError> {
    let own = "(SELECT unnest(string_to_array($6, ',')::bigint[]))";
    let of_key = format!(
        "SELECT 1 FROM plumb_queue_message AS other WHERE other.state = {WAITING}
         AND other.transaction = ready.transaction AND other.order_key = ready.order_key"
    );
    let statement = format!(
        "UPDATE plumb_queue_message AS message SET leased_until_ms = $1, runtime = $2
         FROM (SELECT id FROM plumb_queue_message AS ready
               WHERE state = {WAITING} AND transaction = $3 AND due_ms <= $4
               AND leased_until_ms <= $4 AND NOT (runtime = $2 AND id IN {own})
               AND (order_key IS NULL OR NOT EXISTS ({of_key} AND other.id < ready.id)
                   AND (due_ms <> {DUE_AGAIN} OR NOT EXISTS
                       ({of_key} AND (other.leased_until_ms > $4
                                      OR other.runtime = $2 AND other.id IN {own}))))
               ORDER BY id LIMIT $5 FOR UPDATE SKIP LOCKED) AS taken
         WHERE message.id = taken.id RETURNING {}, message.body",
        MESSAGE.replace("id, failures", "message.id, failures")
    );
    let values = [
        Value::Int(int(ask.now_ms.saturating_add(ask.lease_ms))),
        Value::Int(ask.runtime),
        text(ask.transaction),
        Value::Int(int(ask.now_ms)),
        Value::Int(int(ask.most as u64)),
        text(&ask.running),
    ];
    let mut claimed = Vec::new();
    for mut row in database.rows(&statement, &values)? {
        let body = row.take_bytes(7).into();
        let failures = u32::try_from(row.int(1)).unwrap_or(u32::MAX);
        let message = Message { body, ..message(&mut row)? };
        let (id, accepted_ms) = (id(&row), id(&row).accepted_ms());
        claimed.push(Claimed { id, failures, accepted_ms, message });
    }
    claimed.sort_by_key(|claimed| claimed.id);
    Ok(claimed)
}

/// Transactions that have a message that is due and not given out.
pub(super) fn ready(database: &mut Database, now_ms: u64) -> Result<Vec<String>, DatabaseError> {
    let statement = format!(
        "SELECT name FROM plumb_queue_transaction AS known WHERE EXISTS
         (SELECT 1 FROM plumb_queue_message WHERE transaction = known.name AND state = {WAITING}
          AND due_ms <= $1 AND leased_until_ms <= $1) ORDER BY name"
    );
    let found = database.rows(&statement, &[Value::Int(int(now_ms))])?;
    Ok(found.into_iter().map(|mut row| row.take_text(0)).collect())
}

/// Executions by `filter`, the newest first, with their bodies only where one id is asked for.
pub(super) fn list(
    database: &mut Database,
    filter: &Filter,
    now_ms: u64,
) -> Result<Vec<Execution>, DatabaseError> {
    let state = match filter.state {
        None => "$5::bigint IS NOT NULL".into(),
        Some(State::Waiting) => format!("state = {WAITING} AND leased_until_ms <= $5"),
        Some(State::Running) => format!("state = {WAITING} AND leased_until_ms > $5"),
        Some(State::Done) => format!("state = {DONE} AND $5::bigint IS NOT NULL"),
        Some(State::Failed) => format!("state = {DEAD} AND $5::bigint IS NOT NULL"),
    };
    let body = if filter.id.is_some() { "body" } else { "''::bytea" };
    let statement = format!(
        "SELECT {MESSAGE}, {body}, octet_length(body)::bigint, state, leased_until_ms, error, trace,
         coalesce(at_ms, CASE WHEN due_ms > {DUE_AGAIN} THEN due_ms END) FROM plumb_queue_message
         WHERE {} AND {state} ORDER BY id DESC LIMIT $4",
        wanted()
    );
    let mut values = values(filter);
    values.extend([Value::Int(int(filter.most as u64)), Value::Int(int(now_ms))]);
    let found = database.rows(&statement, &values)?;
    found.into_iter().map(|row| execution(row, now_ms)).collect()
}

fn execution(mut row: Row, now_ms: u64) -> Result<Execution, DatabaseError> {
    let body = row.take_bytes(7).into();
    let state = match row.int(9) {
        DONE => State::Done,
        DEAD => State::Failed,
        _ if row.int(10) > int(now_ms) => State::Running,
        _ => State::Waiting,
    };
    let failures = u32::try_from(row.int(1)).unwrap_or(u32::MAX);
    Ok(Execution {
        id: id(&row),
        state,
        accepted_ms: id(&row).accepted_ms(),
        message: Message { body, ..message(&mut row)? },
        bytes: u64::try_from(row.int(8)).unwrap_or(0),
        failures,
        error: optional(&mut row, 11),
        trace: optional(&mut row, 12),
        at_ms: matches!(row.0[13], Value::Int(_)).then(|| u64::try_from(row.int(13)).unwrap_or(0)),
    })
}

/// The first columns of a row, without the body.
fn message(row: &mut Row) -> Result<Message, DatabaseError> {
    let parameters = decode(&row.take_bytes(6)).ok_or_else(|| {
        DatabaseError::Refused(format!("the parameters of message {} are damaged", id(row)))
    })?;
    Ok(Message {
        transaction: row.take_text(2).into(),
        parameters,
        media_type: row.take_text(5).into(),
        body: bytes::Bytes::new(),
        order_key: optional(row, 3),
        idempotency_key: optional(row, 4),
    })
}

fn optional(row: &mut Row, column: usize) -> Option<String> {
    matches!(row.0[column], Value::Text(_)).then(|| row.take_text(column))
}

fn id(row: &Row) -> ExecutionId {
    ExecutionId(u64::try_from(row.int(0)).unwrap_or(0))
}

/// What a filter means, of the parameters of [`values`].
pub(super) fn wanted() -> &'static str {
    "($1::bigint IS NULL OR id = $1) AND ($2::bigint IS NULL OR id < $2)
     AND ($3::text IS NULL OR transaction = $3)"
}

/// The first three parameters of a statement with a filter.
pub(super) fn values(filter: &Filter) -> Vec<Value> {
    let id = |id: Option<ExecutionId>| id.map_or(Value::Null, |id| Value::Int(int(id.0)));
    let name = filter.transaction.as_deref().map_or(Value::Null, text);
    vec![id(filter.id), id(filter.before), name]
}

/// A number as `bigint`.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A text; a NUL, which `PostgreSQL` does not take, becomes the sign for what cannot be shown.
pub(super) fn text(text: &str) -> Value {
    Value::Text(text.replace('\0', "\u{fffd}"))
}
