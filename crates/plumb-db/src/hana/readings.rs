//! What the server has counted: of the statement, and altogether.

use plumb_measure::{Reading, counted};

use crate::answer::NoAnswer;
use crate::client::Trouble;
use crate::database::Asked;
use crate::database::untimed;

use super::session::Session;
use super::{Hana, PRODUCT};

const STATEMENTS: &str = "M_SQL_PLAN_CACHE";
const LOCKS: &str = "M_LOCK_WAITS_STATISTICS";
const GONE: &str = "not told: the server took no connection for it";
/// The error of the server for what this user may not see.
const NO_RIGHT: i32 = 258;
/// Waits for locks and their time, microseconds, on the whole server.
const OF_SERVER: &str = "SELECT TO_BIGINT(SUM(TOTAL_LOCK_WAITS)), TO_BIGINT(SUM(TOTAL_LOCK_WAIT_TIME)) \
    FROM M_LOCK_WAITS_STATISTICS";

/// Executions of the statement `text`, and their time, microseconds.
fn of_statement(text: &str) -> String {
    format!(
        "SELECT TO_BIGINT(SUM(EXECUTION_COUNT)), TO_BIGINT(SUM(TOTAL_EXECUTION_TIME)) \
         FROM M_SQL_PLAN_CACHE WHERE TO_NVARCHAR(STATEMENT_STRING) = '{}'",
        text.replace('\'', "''")
    )
}

/// What the server has counted before a load.
#[derive(Debug)]
pub(crate) struct Counters {
    text: String,
    statement: Result<[u64; 2], String>,
    locks: Result<[u64; 2], String>,
}

impl Counters {
    /// What it has counted so far.
    pub(super) async fn of(server: &Hana, asked: Asked<'_>) -> Self {
        let text = asked.statement.inline.clone();
        let (statement, locks) = read(server, &text).await;
        Self { text, statement, locks }
    }

    /// What it has counted since.
    pub(super) async fn readings(self, server: &Hana) -> Vec<Reading> {
        let (statement, locks) = read(server, &self.text).await;
        let statement = match since(self.statement, statement) {
            Err(reason) => untimed(STATEMENTS, reason),
            Ok([calls, us]) => match us.saturating_mul(1_000).checked_div(calls) {
                None => untimed(STATEMENTS, "not told: it counted no execution meanwhile".into()),
                Some(mean_ns) => Reading {
                    source: STATEMENTS.into(),
                    mean_ns: Some(mean_ns),
                    count: calls,
                    about: "execution, without preparing; of every session that asked the same meanwhile"
                        .into(),
                },
            },
        };
        let locks = since(self.locks, locks).map_or_else(
            |reason| reason,
            |[waits, us]| {
                let waits = counted(waits, "wait");
                format!("the whole server meanwhile: {waits} for locks, {us} us together")
            },
        );
        vec![statement, untimed(LOCKS, locks)]
    }
}

fn since(
    before: Result<[u64; 2], String>,
    after: Result<[u64; 2], String>,
) -> Result<[u64; 2], String> {
    let (before, after) = (before?, after?);
    Ok(std::array::from_fn(|at| after[at].saturating_sub(before[at])))
}

/// Counts of the statement, and of the server.
async fn read(server: &Hana, text: &str) -> (Result<[u64; 2], String>, Result<[u64; 2], String>) {
    let Ok((mut session, _)) = server.door.open::<Session>().await else {
        return (Err(GONE.into()), Err(GONE.into()));
    };
    let statement = one_row(&mut session, &of_statement(text)).await;
    let locks = one_row(&mut session, OF_SERVER).await;
    session.end().await;
    (statement, locks)
}

async fn one_row(session: &mut Session, query: &str) -> Result<[u64; 2], String> {
    let row = session.numbers_of(query, 2).await.map_err(|trouble| match trouble {
        NoAnswer::Driver(Trouble::Refused(refusal)) if refusal.number == NO_RIGHT => {
            "not told: this user lacks the right CATALOG READ".to_owned()
        }
        NoAnswer::Driver(trouble) => format!("not told: {}", trouble.whole(PRODUCT)),
        NoAnswer::TooLarge | NoAnswer::Unexpected => "not told: its answer is none".to_owned(),
    })?;
    // of a statement that nobody asked yet there is no sum
    Ok(std::array::from_fn(|at| row[at].and_then(|it| u64::try_from(it).ok()).unwrap_or(0)))
}
