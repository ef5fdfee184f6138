//! What the server has counted: of the statement, and altogether.

use plumb_measure::{Reading, counted};

use crate::answer::{Limits, NoAnswer};
use crate::client::Trouble;
use crate::database::Asked;
use crate::database::untimed;

use super::exchange::call_of;
use super::session::Session;
use super::{Mssql, PRODUCT};

/// Of what is asked beside a load.
const BESIDE: Limits = Limits { rows: 16, bytes: 1 << 12 };
const STATEMENTS: &str = "sys.dm_exec_query_stats";
const WAITS: &str = "sys.dm_os_wait_stats";
const GONE: &str = "the server took no connection for it";
/// What refuses without the right to look.
const NO_RIGHT: [i32; 2] = [297, 300];
/// Waits for locks and their time, waits for pages from disk and theirs.
const OF_SERVER: &str = "SELECT \
    SUM(CASE WHEN wait_type LIKE 'LCK[_]M[_]%' THEN waiting_tasks_count ELSE 0 END), \
    SUM(CASE WHEN wait_type LIKE 'LCK[_]M[_]%' THEN wait_time_ms ELSE 0 END), \
    SUM(CASE WHEN wait_type LIKE 'PAGEIOLATCH[_]%' THEN waiting_tasks_count ELSE 0 END), \
    SUM(CASE WHEN wait_type LIKE 'PAGEIOLATCH[_]%' THEN wait_time_ms ELSE 0 END) \
    FROM sys.dm_os_wait_stats";

/// Executions, microseconds, and pages read from disk, of the batch `text`.
fn of_statement(text: &str) -> String {
    format!(
        "SELECT SUM(s.execution_count), SUM(s.total_elapsed_time), SUM(s.total_physical_reads) \
         FROM sys.dm_exec_query_stats AS s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t \
         WHERE t.text = N'{}'",
        text.replace('\'', "''")
    )
}

/// What the server has counted before a load.
#[derive(Debug)]
pub(crate) struct Counters {
    text: String,
    statement: Result<[u64; 3], String>,
    server: Result<[u64; 4], String>,
}

impl Counters {
    /// What it has counted so far.
    pub(super) async fn of(server: &Mssql, asked: Asked<'_>) -> Self {
        let text = call_of(asked.statement, asked.access);
        let (statement, server) = read(server, &text).await;
        Self { text, statement, server }
    }

    /// What it has counted since.
    pub(super) async fn readings(self, server: &Mssql) -> Vec<Reading> {
        let (statement, altogether) = read(server, &self.text).await;
        let statement = match (self.statement, statement) {
            (Ok(before), Ok(after)) => of_the_statement(before, after),
            (Err(reason), _) | (_, Err(reason)) => untimed(STATEMENTS, reason),
        };
        let altogether = match (self.server, altogether) {
            (Ok(before), Ok(after)) => untimed(WAITS, of_the_server(before, after)),
            (Err(reason), _) | (_, Err(reason)) => untimed(WAITS, reason),
        };
        vec![statement, altogether]
    }
}

fn of_the_statement(before: [u64; 3], after: [u64; 3]) -> Reading {
    let [calls, us, pages] = since(before, after);
    match us.saturating_mul(1_000).checked_div(calls) {
        None => untimed(
            STATEMENTS,
            "not told: it counted no execution meanwhile (of a trivial statement it keeps no plan)"
                .into(),
        ),
        Some(mean_ns) => Reading {
            source: STATEMENTS.into(),
            mean_ns: Some(mean_ns),
            count: calls,
            about: format!(
                "execution, with waits, without parsing; of every session that asked the same \
                 meanwhile; {} read from disk",
                counted(pages, "page")
            ),
        },
    }
}

fn of_the_server(before: [u64; 4], after: [u64; 4]) -> String {
    let [locks, locks_ms, pages, pages_ms] = since(before, after);
    format!(
        "the whole server meanwhile: {} for locks, {locks_ms} ms together; {} for pages from disk, \
         {pages_ms} ms together",
        counted(locks, "wait"),
        counted(pages, "wait")
    )
}

fn since<const N: usize>(before: [u64; N], after: [u64; N]) -> [u64; N] {
    std::array::from_fn(|at| after[at].saturating_sub(before[at]))
}

/// Counts of the statement, and of the server.
async fn read(server: &Mssql, text: &str) -> (Result<[u64; 3], String>, Result<[u64; 4], String>) {
    let Ok((mut session, _)) = server.door.open::<Session>().await else {
        return (Err(GONE.into()), Err(GONE.into()));
    };
    let statement = one_row(&mut session, &of_statement(text)).await;
    (statement, one_row(&mut session, OF_SERVER).await)
}

async fn one_row<const N: usize>(session: &mut Session, query: &str) -> Result<[u64; N], String> {
    let rows = session.numbers_of(query, BESIDE).await.map_err(|trouble| match trouble {
        NoAnswer::Driver(Trouble::Refused(refusal)) if NO_RIGHT.contains(&refusal.number) => {
            "not told: this user lacks the right VIEW SERVER STATE".to_owned()
        }
        NoAnswer::Driver(trouble) => format!("not told: {}", trouble.whole(PRODUCT)),
        NoAnswer::TooLarge | NoAnswer::Unexpected => "not told: its answer is none".to_owned(),
    })?;
    let row = rows.first().filter(|row| row.len() == N);
    let row = row.ok_or_else(|| "not told: its answer is none".to_owned())?;
    // of a statement that nobody asked yet there is no sum
    Ok(std::array::from_fn(|at| row[at].and_then(|it| u64::try_from(it).ok()).unwrap_or(0)))
}
