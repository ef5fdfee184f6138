//! What the server says of its own time: `performance_schema`, and `ANALYZE`.

use std::time::Duration;

use plumb_measure::{Reading, Span, counted, signed_real};
use serde_json::Value;
use tokio::time::timeout;

use crate::answer::Limits;
use crate::database::{Asked, Connection as _, Database as _, Form, nanoseconds};
use crate::trial::{EXPLAINED, unanswered};

use plumb_sql::mysql::digest;

use super::PRODUCT;
use super::exchange::{Exchange, NoAnswer};
use super::session::{Session, abandon};
use super::{BESIDE, Mysql};

const SOURCE: &str = "performance_schema";
const GONE: &str = "the server took no connection for it";
const OFF: &str = "the server does not count statements: write performance_schema=ON into its \
    configuration and restart it";
/// Picoseconds, and how many.
const EXECUTED: &str = "SELECT COALESCE(SUM(COUNT_STAR), 0), COALESCE(SUM(SUM_TIMER_WAIT), 0) \
    FROM performance_schema.events_statements_summary_by_account_by_event_name \
    WHERE EVENT_NAME = 'statement/com/Execute' AND USER = SUBSTRING_INDEX(USER(), '@', 1)";
/// The statements counted last.
const DIGESTS: &str = "SELECT DIGEST, DIGEST_TEXT \
    FROM performance_schema.events_statements_summary_by_digest \
    WHERE SCHEMA_NAME <=> DATABASE() AND DIGEST IS NOT NULL ORDER BY LAST_SEEN DESC LIMIT 200";

/// Counts of one statement.
#[derive(Clone, Copy, Debug)]
struct Counts {
    calls: u64,
    total_ps: u64,
}

/// What the whole server counts.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN \
    ('Innodb_buffer_pool_reads', 'Innodb_row_lock_time', 'Innodb_row_lock_waits')";

/// What the server has counted: of the statement, and altogether.
#[derive(Debug)]
pub(crate) struct Counters {
    statement: Counter,
    server: Result<Server, String>,
}

impl Counters {
    /// What it has counted so far, where the statement goes in the form `form` and may take `patience`.
    pub(super) async fn of(server: &Mysql, asked: Asked<'_>, form: Form, patience: Span) -> Self {
        let statement = Counter::of(server, asked, form, patience).await;
        let server = match session(server, asked).await {
            Ok(mut session) => Server::of(&mut session).await,
            Err(reason) => Err(reason),
        };
        Self { statement, server }
    }

    /// What it has counted since.
    pub(super) async fn readings(self, server: &Mysql) -> Vec<Reading> {
        let since = match (self.server, server.session().await) {
            (Err(reason), _) => Err(reason),
            (Ok(_), Err(_)) => Err(GONE.to_owned()),
            (Ok(before), Ok((mut session, _))) => {
                Server::of(&mut session).await.map(|after| after.since(before))
            }
        };
        let about = since.unwrap_or_else(|reason| reason);
        let source = "SHOW GLOBAL STATUS".to_owned();
        let altogether = Reading { source, mean_ns: None, count: 0, about };
        vec![self.statement.reading(server).await, altogether]
    }
}

/// What the whole server has counted.
#[derive(Clone, Copy, Debug, Default)]
struct Server {
    pages: u64,
    lock_waits: u64,
    lock_ms: u64,
}

impl Server {
    async fn of(session: &mut Session) -> Result<Self, String> {
        let rows = session.rows_of(STATUS, BESIDE).await.map_err(|it| not_told(&it))?;
        let mut found = Self::default();
        for row in rows {
            let [Some(name), Some(value)] = &row[..] else { continue };
            let value = value.parse().unwrap_or(0);
            match name.as_str() {
                "Innodb_buffer_pool_reads" => found.pages = value,
                "Innodb_row_lock_time" => found.lock_ms = value,
                "Innodb_row_lock_waits" => found.lock_waits = value,
                _ => {}
            }
        }
        Ok(found)
    }

    /// What came since `before`, in words.
    fn since(self, before: Self) -> String {
        let more = |of: fn(&Self) -> u64| of(&self).saturating_sub(of(&before));
        format!(
            "InnoDB on the whole server meanwhile: {} read from disk, {} for row locks, {} ms \
             together",
            counted(more(|it| it.pages), "page"),
            counted(more(|it| it.lock_waits), "wait"),
            more(|it| it.lock_ms)
        )
    }
}

/// What counts the statement, and what it had counted before.
#[derive(Debug)]
enum Counter {
    /// The answer to `query`.
    Counts { query: String, about: &'static str, before: Counts },
    /// Nothing does, and why.
    Absent(String),
}

impl Counter {
    /// Finds what counts the statement when it goes in the form `form`.
    async fn of(server: &Mysql, asked: Asked<'_>, form: Form, patience: Span) -> Self {
        match Self::found(server, asked, form, patience).await {
            Ok(counter) => counter,
            Err(reason) => Self::Absent(reason),
        }
    }

    async fn found(
        server: &Mysql,
        asked: Asked<'_>,
        form: Form,
        patience: Span,
    ) -> Result<Self, String> {
        let mut session = session(server, asked).await?;
        if lone(&mut session, "SELECT @@performance_schema").await?.as_deref() != Some("1") {
            return Err(OFF.into());
        }
        let (query, about) = match form {
            Form::Prepared => (
                EXECUTED.to_owned(),
                "whole statements, until their last rows are handed to the network; of every session \
                 of this user that ran a prepared one meanwhile",
            ),
            Form::Text | Form::Log => {
                // it is asked once, so that it is known
                let answer = session.rows_of(&asked.statement.inline, asked.limits);
                if timeout(Duration::from_nanos(patience.ns()), answer).await.is_err() {
                    abandon(&server.door, session).await;
                    return Err(unanswered(patience));
                }
                let digest = digest(&mut session, &asked.statement.inline).await?;
                (
                    counted_under(&digest),
                    "whole statements, until their last rows are handed to the network; of every \
                     session that asked the same meanwhile",
                )
            }
        };
        let before = counts(&mut session, &query).await?;
        Ok(Self::Counts { query, about, before })
    }

    /// What it counted meanwhile.
    async fn reading(self, server: &Mysql) -> Reading {
        let absent =
            |about: String| Reading { source: SOURCE.into(), mean_ns: None, count: 0, about };
        let (query, about, before) = match self {
            Self::Absent(reason) => return absent(reason),
            Self::Counts { query, about, before } => (query, about, before),
        };
        let after = match server.session().await {
            Ok((mut session, _)) => counts(&mut session, &query).await,
            Err(_) => Err(GONE.into()),
        };
        match after {
            Err(reason) => absent(reason),
            Ok(after) => {
                let calls = after.calls.saturating_sub(before.calls);
                let total_ps = after.total_ps.saturating_sub(before.total_ps);
                match total_ps.checked_div(calls) {
                    None => absent("it counted no execution meanwhile".into()),
                    Some(mean_ps) => Reading {
                        source: SOURCE.into(),
                        mean_ns: Some(mean_ps / 1_000),
                        count: calls,
                        about: about.into(),
                    },
                }
            }
        }
    }
}

/// A session beside the load.
async fn session(server: &Mysql, asked: Asked<'_>) -> Result<Session, String> {
    match server.session().await {
        Ok((session, _)) => Ok(session),
        Err(trouble) => Err(server.explain(asked, &trouble).to_string()),
    }
}

/// What the server calls the statement `text`, which was just asked.
async fn digest(session: &mut Session, text: &str) -> Result<String, String> {
    let rows = session.rows_of(DIGESTS, BESIDE).await.map_err(|it| not_told(&it))?;
    let wanted = digest::squeezed(text);
    rows.into_iter()
        .find_map(|row| match <[Option<String>; 2]>::try_from(row).ok()? {
            [Some(digest), Some(said)] if digest::squeezed(&said) == wanted => Some(digest),
            _ => None,
        })
        .ok_or_else(|| "the statement is not found among those that it counts".into())
}

fn counted_under(digest: &str) -> String {
    let digest: String = digest.chars().filter(char::is_ascii_hexdigit).collect();
    format!(
        "SELECT COALESCE(SUM(COUNT_STAR), 0), COALESCE(SUM(SUM_TIMER_WAIT), 0) \
         FROM performance_schema.events_statements_summary_by_digest \
         WHERE DIGEST = '{digest}' AND SCHEMA_NAME <=> DATABASE()"
    )
}

async fn counts(session: &mut Session, query: &str) -> Result<Counts, String> {
    let rows = session.rows_of(query, BESIDE).await.map_err(|it| not_told(&it))?;
    let mut values = rows.into_iter().next().unwrap_or_default().into_iter().flatten();
    let mut number = || values.next()?.parse().ok();
    match (number(), number()) {
        (Some(calls), Some(total_ps)) => Ok(Counts { calls, total_ps }),
        _ => Err("its counts are no numbers".into()),
    }
}

/// The first value of the answer to `query`.
async fn lone(session: &mut Session, query: &str) -> Result<Option<String>, String> {
    let rows = session.rows_of(query, BESIDE).await.map_err(|it| not_told(&it))?;
    Ok(rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
}

fn not_told(trouble: &NoAnswer) -> String {
    match trouble {
        NoAnswer::Driver(trouble) => {
            format!("the server does not tell: {}", trouble.whole(PRODUCT))
        }
        NoAnswer::TooLarge | NoAnswer::Unexpected => {
            "the server's answer was not understood".into()
        }
    }
}

/// What `ANALYZE FORMAT=JSON` of MariaDB says of the statement.
pub(super) async fn explained(exchange: &mut Exchange, asked: Asked<'_>) -> Reading {
    let source = "ANALYZE FORMAT=JSON".to_owned();
    let absent = |about: String| Reading { source: source.clone(), mean_ns: None, count: 0, about };
    if !exchange.session.known.version.contains("MariaDB") {
        return absent("only MariaDB has it; what MySQL says of a plan is not read".into());
    }
    let mut total_ms = 0.0;
    for _ in 0..EXPLAINED {
        match explain(exchange, asked).await {
            Ok(_) if !exchange.rolls_back().await => return absent("it is not rolled back".into()),
            Ok(ms) => total_ms += ms,
            Err(reason) => return absent(reason),
        }
    }
    Reading {
        source: source.clone(),
        mean_ns: Some(nanoseconds(total_ms / signed_real(EXPLAINED.cast_signed()))),
        count: EXPLAINED,
        about: "execution, without sending the rows; alone, before the load".into(),
    }
}

/// Execution, milliseconds.
async fn explain(exchange: &mut Exchange, asked: Asked<'_>) -> Result<f64, String> {
    let query = format!("ANALYZE FORMAT=JSON {}", asked.statement.inline);
    let limits = Limits { rows: 1, bytes: BESIDE.bytes };
    let rows = exchange.analyzed(&query, limits).await.map_err(|it| not_told(&it))?;
    let plan = rows.into_iter().flatten().flatten().next().unwrap_or_default();
    let plan: Value = serde_json::from_str(&plan).map_err(|error| error.to_string())?;
    let total = &plan["query_block"]["r_total_time_ms"];
    total.as_f64().ok_or_else(|| "its answer names no time".into())
}
