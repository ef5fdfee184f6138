//! What the server says of its own time: `pg_stat_statements` and `EXPLAIN`. Nothing is prepared: a pooler would keep it.

use plumb_measure::{Reading, counted, signed_real};
use serde_json::Value;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::block::{self, ROLL_BACK};
use super::session::whole;
use crate::database::{Access, nanoseconds};
use crate::statement::Statement;
use crate::trial::EXPLAINED;

const EXTENSION: &str = "pg_stat_statements";
const INSTALL: &str = "the server does not count it: put pg_stat_statements into \
     shared_preload_libraries, restart, and CREATE EXTENSION pg_stat_statements in this database";

/// Counts of one statement, as the extension keeps them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    calls: i64,
    total_ms: f64,
    /// Blocks that were not in the server's memory.
    read: i64,
}

/// The extension, and which statement is looked at.
#[derive(Debug)]
pub(crate) enum Counter {
    /// It counts the statement under this number.
    Counts {
        /// Number of the statement.
        id: i64,
        /// What it had counted before.
        before: Counts,
    },
    /// It does not, and why.
    Absent(String),
}

impl Counter {
    /// Finds the statement that the session of `asked` executed last, seen by `client`.
    pub(crate) async fn of(client: &Client, asked: i32) -> Self {
        match Self::found(client, asked).await {
            Ok(Some(counter)) => counter,
            Ok(None) => Self::Absent(INSTALL.into()),
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => {
                Self::Absent(INSTALL.into())
            }
            Err(error) => Self::Absent(format!("the server does not tell: {}", whole(&error))),
        }
    }

    async fn found(client: &Client, asked: i32) -> Result<Option<Self>, tokio_postgres::Error> {
        let number = "SELECT query_id FROM pg_stat_activity WHERE pid = $1";
        let id: Option<i64> = match client.query_typed_opt(number, &[(&asked, Type::INT4)]).await {
            Ok(row) => row.and_then(|row| row.get(0)),
            // before PostgreSQL 14 nobody knows the number
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_COLUMN) => None,
            Err(error) => return Err(error),
        };
        let Some(id) = id else { return Ok(None) };
        Ok(counts(client, id).await?.map(|before| Self::Counts { id, before }))
    }

    /// What it counted meanwhile.
    pub(crate) async fn reading(&self, client: &Client) -> Reading {
        let (mean_ns, count, about) = match self {
            Self::Absent(reason) => (None, 0, reason.clone()),
            Self::Counts { id, before } => match counts(client, *id).await {
                Ok(Some(after)) if after.calls > before.calls => {
                    let calls = after.calls - before.calls;
                    let mean_ms = (after.total_ms - before.total_ms) / signed_real(calls);
                    let read = counted((after.read - before.read).unsigned_abs(), "block");
                    (
                        Some(nanoseconds(mean_ms)),
                        calls.unsigned_abs(),
                        format!(
                            "execution alone, and planning where track_planning is on, without the wait \
                             for a lock on a table, which comes before; of every session that asked the \
                             same meanwhile; {read} not in the server's memory"
                        ),
                    )
                }
                Ok(_) => (None, 0, "it counted no execution meanwhile".into()),
                Err(error) => (None, 0, format!("the server does not tell: {}", whole(&error))),
            },
        };
        Reading { source: EXTENSION.into(), mean_ns, count, about }
    }
}

async fn counts(client: &Client, id: i64) -> Result<Option<Counts>, tokio_postgres::Error> {
    let row = client
        .query_typed_one(
            "SELECT coalesce(sum(calls), 0)::int8, \
             coalesce(sum(total_exec_time + total_plan_time), 0)::float8, \
             coalesce(sum(shared_blks_read), 0)::int8 \
             FROM pg_stat_statements WHERE queryid = $1 \
             AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
             AND userid = (SELECT oid FROM pg_roles WHERE rolname = current_user)",
            &[(&id, Type::INT8)],
        )
        .await?;
    let (calls, total_ms, read) = (row.get(0), row.get(1), row.get(2));
    Ok((calls > 0).then_some(Counts { calls, total_ms, read }))
}

/// What the whole database has counted.
#[derive(Clone, Copy, Debug)]
struct Database {
    read: i64,
    deadlocks: i64,
    temporary_bytes: i64,
    /// Sessions that wait for locks now.
    waiting: i64,
}

impl Database {
    async fn of(client: &Client) -> Result<Self, tokio_postgres::Error> {
        let row = client
            .query_typed_one(
                "SELECT blks_read, deadlocks, temp_bytes, \
                 (SELECT count(*) FROM pg_locks WHERE NOT granted) \
                 FROM pg_stat_database WHERE datname = current_database()",
                &[],
            )
            .await?;
        let (read, deadlocks) = (row.get(0), row.get(1));
        Ok(Self { read, deadlocks, temporary_bytes: row.get(2), waiting: row.get(3) })
    }

    /// What came since `before`, in words.
    fn since(self, before: Self) -> String {
        let more = |of: fn(&Self) -> i64| (of(&self) - of(&before)).max(0).unsigned_abs();
        let temporary = match more(|it| it.temporary_bytes) {
            0 => String::new(),
            bytes => format!(", {bytes} bytes written to temporary files"),
        };
        format!(
            "the whole database meanwhile, as far as its sessions have told: {} read that were not in \
             the server's memory, {}{temporary}; {} for a lock at the end (PostgreSQL counts no waits \
             for locks: log_lock_waits logs the long ones)",
            counted(more(|it| it.read), "block"),
            counted(more(|it| it.deadlocks), "deadlock"),
            match self.waiting {
                1 => "1 session waited".to_owned(),
                sessions => format!("{sessions} sessions waited"),
            },
        )
    }
}

/// What the server has counted: of the statement, and altogether.
#[derive(Debug)]
pub(crate) struct Counters {
    statement: Counter,
    database: Result<Database, String>,
}

impl Counters {
    /// What it has counted so far, seen by `client`.
    pub(crate) async fn of(client: &Client, statement: Counter) -> Self {
        let database = Database::of(client).await.map_err(|error| whole(&error));
        Self { statement, database }
    }

    /// What it has counted since.
    pub(crate) async fn readings(&self, client: &Client) -> Vec<Reading> {
        let since = match &self.database {
            Err(reason) => Err(reason.clone()),
            Ok(before) => Database::of(client)
                .await
                .map_err(|error| whole(&error))
                .map(|after| after.since(*before)),
        };
        let about = since.unwrap_or_else(|reason| format!("the server does not tell: {reason}"));
        let database =
            Reading { source: "pg_stat_database".into(), mean_ns: None, count: 0, about };
        vec![self.statement.reading(client).await, database]
    }
}

/// What `EXPLAIN (ANALYZE)` says of `statement`, in a transaction that is rolled back.
pub(crate) async fn explained(client: &Client, statement: &Statement, access: Access) -> Reading {
    let mut total_ms = 0.0;
    let mut trouble = None;
    for _ in 0..EXPLAINED {
        match explain(client, &statement.text, access).await {
            Ok(ms) => total_ms += ms,
            Err(reason) => {
                trouble = Some(reason);
                break;
            }
        }
    }
    let source = "EXPLAIN (ANALYZE, TIMING OFF)".into();
    match trouble {
        Some(about) => Reading { source, mean_ns: None, count: 0, about },
        None => Reading {
            source,
            mean_ns: Some(nanoseconds(total_ms / signed_real(EXPLAINED.cast_signed()))),
            count: EXPLAINED,
            about: "planning and execution, without sending the rows; alone, before the load"
                .into(),
        },
    }
}

/// Planning and execution, milliseconds.
async fn explain(client: &Client, text: &str, access: Access) -> Result<f64, String> {
    let asked = format!("EXPLAIN (ANALYZE, TIMING OFF, SUMMARY ON, FORMAT JSON) {text}");
    let answer = match client.simple_query(&block::call(access, &asked)).await {
        Ok(answer) => answer,
        Err(error) => {
            let _ = client.batch_execute(ROLL_BACK).await; // who does not hear it has gone
            return Err(format!("it was refused: {}", whole(&error)));
        }
    };
    let plan: String = answer
        .iter()
        .filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        })
        .collect();
    let plan: Value = serde_json::from_str(&plan).map_err(|error| error.to_string())?;
    let time = |name: &str| plan[0][name].as_f64();
    match (time("Planning Time"), time("Execution Time")) {
        (Some(planning), Some(execution)) => Ok(planning + execution),
        _ => Err("its answer names no times".into()),
    }
}
