//! A session with an embedded `SQLite`.

use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::kept_read::{Changes, KeptRead};
use super::{Answer, DatabaseError, DatabaseLimits, Row, Statement, Value};

/// Statements that stay prepared.
const PREPARED: usize = 64;

#[derive(Debug)]
pub(super) struct SqliteSession {
    connection: Connection,
    changes: Changes,
    /// `None`: each statement that reads is a transaction of its own.
    kept: Option<KeptRead>,
    /// When the statement begins that is to be done.
    now_ns: u64,
}

impl SqliteSession {
    /// A session in which a writer waits for another one as long as `limits` allow a statement, beside others
    /// that make `changes`.
    pub(super) fn open(
        path: &Path,
        limits: &DatabaseLimits,
        changes: &Changes,
        keeps_reading: bool,
    ) -> Result<Self, DatabaseError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX; // one thread has each session
        let connection = Connection::open_with_flags(path, flags).map_err(|error| fault(&error))?;
        let prepare = || {
            connection.busy_timeout(Duration::from_nanos(limits.statement.ns()))?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            connection.set_prepared_statement_cache_capacity(PREPARED);
            let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
            connection.create_scalar_function("plumb_wait", 1, flags, |call| {
                wait(call.get::<i64>(0)?);
                Ok(0)
            })
        };
        prepare().map_err(|error| fault(&error))?;
        let kept = keeps_reading.then(KeptRead::default);
        Ok(Self { connection, changes: changes.clone(), kept, now_ns: 0 })
    }

    /// The next statement begins at `now_ns`.
    pub(super) fn at(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// Lets go of what is kept from one statement to the next.
    pub(super) fn rest(&mut self) -> Result<(), DatabaseError> {
        let ended = self.kept.iter_mut().try_for_each(|kept| kept.end(&self.connection));
        ended.map_err(|error| fault(&error))
    }

    /// Does what may change something.
    fn change<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        self.rest()?;
        let done = work(&self.connection);
        self.changes.made();
        done.map_err(|error| fault(&error))
    }

    pub(super) fn rows(
        &mut self,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, DatabaseError> {
        let Self { connection, changes, kept, now_ns } = self;
        let mut is_read = false;
        let mut read = || {
            let mut statement = connection.prepare_cached(statement)?;
            let columns = statement.column_count();
            // what begins and ends transactions only reads as well, and brings nothing
            is_read = columns > 0 && statement.readonly();
            if let Some(kept) = kept {
                if is_read {
                    kept.reads(connection, changes, *now_ns)?
                } else {
                    kept.end(connection)?
                }
            }
            let mut found = statement.query(rusqlite::params_from_iter(values))?;
            let mut rows = Vec::new();
            while let Some(row) = found.next()? {
                let values: Result<_, _> = (0..columns).map(|column| value(row, column)).collect();
                rows.push(Row(values?));
            }
            Ok(rows)
        };
        let found = read();
        if !is_read {
            changes.made();
        }
        found.map_err(|error: rusqlite::Error| fault(&error))
    }

    pub(super) fn ask(&mut self, statement: &Statement) -> Result<Answer, DatabaseError> {
        self.change(|connection| {
            let mut prepared = connection.prepare_cached(&statement.text)?;
            let values = rusqlite::params_from_iter(&statement.values);
            let names: Vec<String> = prepared.column_names().into_iter().map(Into::into).collect();
            if names.is_empty() {
                let changed = prepared.execute(values)? as u64;
                return Ok(Answer { changed, ..Answer::default() });
            }
            let mut found = prepared.query(values)?;
            let (mut first, mut changed) = (None, 0);
            while let Some(row) = found.next()? {
                changed += 1;
                if first.is_none() {
                    let texts: Result<_, _> = (0..names.len()).map(|at| text(row, at)).collect();
                    first = Some(texts?);
                }
            }
            Ok(Answer { changed, columns: names, first })
        })
    }

    pub(super) fn all(
        &mut self,
        statements: &[Statement],
        at: &mut usize,
    ) -> Result<(), DatabaseError> {
        for statement in statements {
            self.ask(statement)?;
            *at += 1;
        }
        Ok(())
    }

    pub(super) fn prepare(&mut self, text: &str) -> Result<usize, DatabaseError> {
        let prepared = self.connection.prepare(text).map_err(|error| fault(&error))?;
        Ok(prepared.parameter_count())
    }

    pub(super) fn batch(&mut self, statements: &str) -> Result<(), DatabaseError> {
        self.change(|connection| connection.execute_batch(statements))
    }
}

/// The timer of the session: whoever called the function stays inside its statement meanwhile.
fn wait(time_ns: i64) {
    let never = Mutex::new(());
    let guard = never.lock().unwrap_or_else(PoisonError::into_inner);
    let time = Duration::from_nanos(u64::try_from(time_ns).unwrap_or(0));
    // a wake that nobody caused does not end the wait
    let _ = Condvar::new().wait_timeout_while(guard, time, |()| true);
}

fn value(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Value> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null | ValueRef::Real(_) => Value::Null, // no column holds one
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    })
}

fn text(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
    })
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn fault(error: &rusqlite::Error) -> DatabaseError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::DiskFull,
        ) => DatabaseError::Lost(text),
        _ => DatabaseError::Refused(text),
    }
}
