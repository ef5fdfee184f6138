//! The table that messages become rows of: how many there are, and when they came.

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_serve::database::{
    Answer, Database, DatabaseError, DatabaseLimits, DatabaseTarget, Dialect, Secret, Statement,
    holds_password,
};

use super::messages::written;
use super::options::SinkOptions;
use crate::FlowError;
use crate::verbs::secret;

/// Between two questions to a database that was lost.
const AGAIN_NS: u64 = 100_000_000;

/// A table, and a session that reads it.
#[derive(Debug)]
pub(super) struct Sink {
    database: Database,
    table: String,
    column: String,
    number_column: Option<String>,
    /// In words.
    pub(super) name: String,
}

/// Which rows are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// Those of messages with these numbers, the last one not among them.
    Numbers(u64, u64),
    /// All that are newer than this time, microseconds since 1970; `None`: all.
    After(Option<i64>),
}

/// What the table says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) rows: u64,
    /// Different numbers.
    pub(super) numbers: Option<u64>,
    /// The time of the first and of the last, microseconds since 1970.
    pub(super) first_us: Option<i64>,
    pub(super) last_us: Option<i64>,
}

impl Rows {
    /// From the first to the last, nanoseconds; `None` when they are of one time.
    pub(super) fn span_ns(self) -> Option<u64> {
        let us = u64::try_from(self.last_us? - self.first_us?).ok()?;
        us.checked_mul(1_000).filter(|ns| *ns > 0)
    }

    /// The step of the time stamps, as far as the two show it, nanoseconds.
    pub(super) fn step_ns(self) -> u64 {
        let steps = [1_000_000, 1_000];
        let whole = |step: i64| {
            let stamps = [self.first_us, self.last_us];
            stamps.iter().flatten().all(|us| us % step == 0)
        };
        let step = steps.into_iter().find(|step| whole(*step)).unwrap_or(1);
        step.unsigned_abs() * 1_000
    }
}

impl Sink {
    /// The table that `options` name; `None` without one.
    ///
    /// # Errors
    /// [`FlowError`] for a database or a name that is none.
    pub(super) fn of(options: &SinkOptions) -> Result<Option<Self>, FlowError> {
        let (Some(url), Some(table)) = (&options.sink, &options.table) else {
            return Ok(None);
        };
        if !url.contains("://") && !std::path::Path::new(url).is_file() {
            return Err(FlowError::Plan(format!(
                "--sink {url}: there is no such file; write the path of an SQLite database, or \
                 postgres://USER@HOST/NAME"
            )));
        }
        if holds_password(url) {
            return Err(FlowError::Plan(
                "--sink: a password stands in the URL: write it without, and the password into the \
                 file of --sink-password-file"
                    .into(),
            ));
        }
        let password = options.sink_password_file.as_deref().map(secret).transpose()?;
        let password = password.map(Secret::from);
        let target = DatabaseTarget::parse(url, password.as_ref(), DatabaseLimits::default())?;
        let column = options.column.as_deref().unwrap_or("created_at");
        let number_column = options.number_column.as_deref();
        let name = format!("table {table} of {target}");
        Ok(Some(Self {
            database: Database::new(target),
            table: named("--table", table, true)?,
            column: named("--column", column, false)?,
            number_column: number_column
                .map(|it| named("--number-column", it, false))
                .transpose()?,
            name,
        }))
    }

    /// True when rows have the number of their message.
    pub(super) fn is_numbered(&self) -> bool {
        self.number_column.is_some()
    }

    /// What the table says of the rows that are meant.
    ///
    /// # Errors
    /// [`FlowError::Plan`] with what the database says.
    pub(super) fn read(&mut self, which: Which) -> Result<Rows, FlowError> {
        let answer = self.database.ask(&self.statement(which));
        self.rows(answer)
    }

    /// The same behind a load, in which the database may have been started anew: a session that was lost
    /// is opened again, and one that does not answer yet is asked until `deadline_ns`.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when there is no timer.
    pub(super) fn read_again(
        &mut self,
        which: Which,
        deadline_ns: u64,
        stop: &Stop,
    ) -> Result<Rows, FlowError> {
        let statement = self.statement(which);
        let mut was_open = self.database.connected();
        loop {
            let answer = self.database.ask(&statement);
            let lost = matches!(answer, Err(DatabaseError::Lost(_) | DatabaseError::Silent(_)));
            let now_ns = MonotonicClock.now_ns();
            if !lost || stop.asked() || (now_ns >= deadline_ns && !was_open) {
                return self.rows(answer);
            }
            if !std::mem::take(&mut was_open) {
                stop.wait_until((now_ns + AGAIN_NS).min(deadline_ns))?;
            }
        }
    }

    fn rows(&self, answer: Result<Answer, DatabaseError>) -> Result<Rows, FlowError> {
        let answer = answer.map_err(|error| self.refused(&error))?;
        let first = answer.first.unwrap_or_default();
        let number = |at: usize| -> Option<i64> { first.get(at)?.as_deref()?.parse().ok() };
        let count = |at: usize| number(at).and_then(|count| u64::try_from(count).ok());
        let Some(rows) = count(0) else {
            return Err(FlowError::Plan(format!("{}: it did not count its rows", self.name)));
        };
        if rows > 0 && (number(2).is_none() || number(3).is_none()) {
            return Err(FlowError::Plan(format!(
                "{}: column {} holds no times: name one with --column that holds time stamps, or in \
                 SQLite texts such as 2025-01-31 23:59:59.123 or seconds since 1970",
                self.name, self.column
            )));
        }
        let numbers = self.number_column.as_ref().and_then(|_| count(1));
        Ok(Rows { rows, numbers, first_us: number(2), last_us: number(3) })
    }

    fn refused(&self, error: &DatabaseError) -> FlowError {
        FlowError::Plan(format!("--sink: {}: {error}", self.name))
    }

    fn statement(&self, which: Which) -> Statement {
        let dialect = self.database.dialect();
        let (table, column) = (&self.table, &self.column);
        let time = |which: &str| microseconds(dialect, &format!("{which}({column})"));
        let (first, last) = (time("min"), time("max"));
        let numbers = match &self.number_column {
            Some(number) => format!("count(DISTINCT {number})"),
            None => "0".into(),
        };
        let (condition, values) = match (which, &self.number_column) {
            (Which::Numbers(from, to), Some(number)) => {
                let values = [from, to.saturating_sub(1)].map(|number| Some(written(number)));
                (format!(" WHERE {number} BETWEEN $1 AND $2"), values.to_vec())
            }
            (Which::After(Some(us)), _) => {
                let each = microseconds(dialect, column);
                (format!(" WHERE {each} > CAST($1 AS BIGINT)"), vec![Some(us.to_string())])
            }
            (Which::Numbers(..) | Which::After(None), _) => (String::new(), Vec::new()),
        };
        let text = format!("SELECT count(*), {numbers}, {first}, {last} FROM {table}{condition}");
        Statement { text: text.into(), values }
    }
}

/// Microseconds since 1970 of the time `of`.
fn microseconds(dialect: Dialect, of: &str) -> String {
    match dialect {
        Dialect::Postgres => {
            format!("CAST(round(extract(epoch FROM {of}) * 1000000) AS BIGINT)")
        }
        // texts by its own functions, which know milliseconds; anything else is seconds
        Dialect::Sqlite => format!(
            "CASE typeof({of}) WHEN 'text' THEN (CAST(strftime('%s', {of}) AS INTEGER) * 1000 + \
             CAST(substr(strftime('%f', {of}), 4) AS INTEGER)) * 1000 WHEN 'null' THEN NULL ELSE \
             CAST(round({of} * 1000000) AS INTEGER) END"
        ),
    }
}

/// A name that can stand in a statement as it is.
fn named(option: &str, name: &str, may_have_schema: bool) -> Result<String, FlowError> {
    let parts: Vec<&str> = name.split('.').collect();
    let fine = |part: &&str| {
        let letters = |char: char| char.is_ascii_alphanumeric() || char == '_';
        part.chars().all(letters) && part.starts_with(|char: char| !char.is_ascii_digit())
    };
    let most = if may_have_schema { 2 } else { 1 };
    if parts.len() <= most && parts.iter().all(fine) {
        return Ok(name.to_owned());
    }
    Err(FlowError::Plan(format!(
        "{option} {name}: expected a name of letters, digits and _{}",
        if may_have_schema { ", or SCHEMA.NAME" } else { "" }
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink(folder: &std::path::Path, statements: &str) -> Sink {
        let path = folder.join("rows.db");
        let mut database = Database::new(DatabaseTarget::file(path.clone()));
        database.batch(statements).unwrap();
        let options = SinkOptions {
            sink: Some(path.display().to_string()),
            table: Some("t".into()),
            number_column: Some("n".into()),
            ..SinkOptions::default()
        };
        Sink::of(&options).unwrap().unwrap()
    }

    #[test]
    fn rows_are_counted_by_number_and_timed_by_their_stamps() {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = sink(
            folder.path(),
            "CREATE TABLE t(n TEXT, created_at TEXT);
             INSERT INTO t VALUES ('000000000007', '2026-01-01 00:00:00.250'),
               ('000000000008', '2026-01-01 00:00:01.500'), ('000000000008', '2026-01-01 00:00:01'),
               ('000000000009', '2026-01-02 00:00:00');",
        );
        let rows = sink.read(Which::Numbers(7, 9)).unwrap();
        assert_eq!((rows.rows, rows.numbers), (3, Some(2)));
        assert_eq!((rows.span_ns(), rows.step_ns()), (Some(1_250_000_000), 1_000_000));
        let later = sink.read(Which::After(rows.last_us)).unwrap();
        assert_eq!((later.rows, later.span_ns(), later.step_ns()), (1, None, 1_000_000_000));
        assert_eq!(sink.read(Which::After(None)).unwrap().rows, 4);
        assert_eq!(sink.read(Which::Numbers(1, 7)).unwrap().rows, 0);
    }

    #[test]
    fn numbers_and_seconds_are_read_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = sink(
            folder.path(),
            "CREATE TABLE t(n INTEGER, created_at);
             INSERT INTO t VALUES (7, 1700000000.25), (8, 1700000001);",
        );
        let rows = sink.read(Which::Numbers(7, 9)).unwrap();
        assert_eq!((rows.rows, rows.span_ns()), (2, Some(750_000_000)));
    }

    #[test]
    fn what_is_no_table_or_no_time_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut none = sink(
            folder.path(),
            "CREATE TABLE t(n TEXT, created_at TEXT);
             INSERT INTO t VALUES ('000000000001', 'yesterday');",
        );
        let said = none.read(Which::After(None)).unwrap_err().to_string();
        assert!(said.contains("column created_at holds no times"), "{said}");
        let options = |url: &str, table: &str| SinkOptions {
            sink: Some(url.into()),
            table: Some(table.into()),
            ..SinkOptions::default()
        };
        for (url, table, expected) in [
            ("/none.db", "t", "no such file"),
            ("postgres://a:secret@h/d", "t", "password"),
            ("postgres://a@h/d", "t; drop table t", "expected a name"),
            ("postgres://a@h/d", "a.b.c", "expected a name"),
            ("postgres://a@h/d", "1t", "expected a name"),
        ] {
            let said = Sink::of(&options(url, table)).unwrap_err().to_string();
            assert!(said.contains(expected) && !said.contains("secret"), "{said}");
        }
        assert!(Sink::of(&options("postgres://a@h/d", "s.t")).unwrap().is_some());
        assert!(Sink::of(&SinkOptions::default()).unwrap().is_none());
    }
}
