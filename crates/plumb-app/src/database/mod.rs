//! The database session of a work process: `SQLite` in this process, or `PostgreSQL`.
//!
//! One dialect is spoken to both: parameters are `$1`, `$2`, ... in the order in which they first
//! appear, numbers are 64-bit integers, amounts are integers in hundredths.

mod flights;
mod postgres;
mod schema;
mod sqlite;
mod target;
mod temporary;
mod value;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};

use self::postgres::PostgresSession;
use self::sqlite::SqliteSession;

pub(crate) use self::schema::prepare;
pub(crate) use self::target::DatabaseTarget;
pub(crate) use self::temporary::TemporaryFolder;
pub(crate) use self::value::{Row, Value};

/// Why a database call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DatabaseError {
    /// The database is gone, or takes nobody for the moment: worth trying again.
    #[error("the database does not answer: {0}")]
    Lost(String),
    /// The statement itself is refused.
    #[error("the database refuses a statement: {0}")]
    Refused(String),
}

/// A session with the database, and the time spent in its calls.
#[derive(Debug)]
pub(crate) struct Database {
    target: DatabaseTarget,
    session: Option<Session>, // none before the first call, and after the session was lost
    spent_ns: u64,
    calls: u64,
    logons: u64,
}

#[derive(Debug)]
enum Session {
    Sqlite(SqliteSession),
    Postgres(Box<PostgresSession>),
}

impl Database {
    /// A session that logs on with its first call.
    pub(crate) fn new(target: DatabaseTarget) -> Self {
        Self { target, session: None, spent_ns: 0, calls: 0, logons: 0 }
    }

    /// The rows that `statement` brings.
    ///
    /// # Errors
    /// [`DatabaseError`]; after [`DatabaseError::Lost`] the next call logs on anew.
    pub(crate) fn rows(
        &mut self,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, DatabaseError> {
        self.timed(|session| match session {
            Session::Sqlite(session) => session.rows(statement, values),
            Session::Postgres(session) => session.rows(statement, values),
        })
    }

    /// The first row that `statement` brings.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub(crate) fn row(
        &mut self,
        statement: &str,
        values: &[Value],
    ) -> Result<Option<Row>, DatabaseError> {
        Ok(self.rows(statement, values)?.into_iter().next())
    }

    /// Does `work` in one transaction, which is undone when it fails.
    ///
    /// # Errors
    /// What `work` or the database says.
    pub(crate) fn transaction<T, E: From<DatabaseError>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let begin = match &self.target {
            // a reader that turns into a writer could not wait for another writer
            DatabaseTarget::Sqlite(_) => "BEGIN IMMEDIATE",
            DatabaseTarget::Postgres(_) => "BEGIN",
        };
        self.rows(begin, &[])?;
        match work(self) {
            Ok(done) => {
                self.rows("COMMIT", &[])?;
                Ok(done)
            }
            Err(error) => {
                if self.rows("ROLLBACK", &[]).is_err() {
                    self.session = None; // a new session has no open transaction
                }
                Err(error)
            }
        }
    }

    /// A read of one row that takes `time` longer than it must: the database waits, inside the
    /// call.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub(crate) fn wait(&mut self, time: Span) -> Result<(), DatabaseError> {
        let time_ns = i64::try_from(time.ns()).unwrap_or(i64::MAX);
        self.timed(|session| match session {
            Session::Sqlite(session) => session.rows(sqlite::WAIT, &[Value::Int(time_ns)]),
            Session::Postgres(session) => session.rows(postgres::WAIT, &[Value::Int(time_ns)]),
        })?;
        Ok(())
    }

    /// Nanoseconds spent in calls so far.
    pub(crate) fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// Times that a session was opened.
    pub(crate) fn logons(&self) -> u64 {
        self.logons
    }

    /// True while a session is open.
    pub(crate) fn connected(&self) -> bool {
        self.session.is_some()
    }

    fn timed<T>(
        &mut self,
        call: impl FnOnce(&mut Session) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let began_ns = MonotonicClock.now_ns();
        let done = self.session().and_then(call);
        self.spent_ns += MonotonicClock.now_ns() - began_ns;
        self.calls += 1;
        if matches!(done, Err(DatabaseError::Lost(_))) {
            self.session = None;
        }
        done
    }

    fn session(&mut self) -> Result<&mut Session, DatabaseError> {
        match &mut self.session {
            Some(_) => {}
            none => {
                *none = Some(match &self.target {
                    DatabaseTarget::Sqlite(path) => Session::Sqlite(SqliteSession::open(path)?),
                    DatabaseTarget::Postgres(url) => {
                        Session::Postgres(Box::new(PostgresSession::open(url)?))
                    }
                });
                self.logons += 1;
            }
        }
        self.session.as_mut().ok_or_else(|| DatabaseError::Lost("no session".into()))
    }

    pub(crate) fn batch(&mut self, statements: &str) -> Result<(), DatabaseError> {
        self.timed(|session| match session {
            Session::Sqlite(session) => session.batch(statements),
            Session::Postgres(session) => session.batch(statements),
        })
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A filled database in a folder that goes with it.
    pub(crate) fn filled() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let target = DatabaseTarget::Sqlite(folder.path().join("app.db"));
        let mut database = Database::new(target);
        prepare(&mut database, &["demo".into()]).unwrap();
        (folder, database)
    }

    #[test]
    fn a_transaction_that_fails_leaves_nothing() {
        let (_folder, mut database) = filled();
        let failed: Result<(), DatabaseError> = database.transaction(|database| {
            database.rows("DELETE FROM flight", &[])?;
            Err(DatabaseError::Refused("by the test".into()))
        });
        assert!(failed.is_err());
        let count = database.row("SELECT count(*) FROM flight", &[]).unwrap().unwrap();
        assert_eq!(count.int(0), 400);
    }

    #[test]
    fn a_wrong_statement_is_refused_and_the_session_stays() {
        let (_folder, mut database) = filled();
        let error = database.rows("SELECT nothing FROM nowhere", &[]).unwrap_err();
        assert!(matches!(error, DatabaseError::Refused(_)), "{error}");
        assert_eq!(database.logons(), 1);
    }

    #[test]
    fn waiting_is_a_call_that_is_counted_and_timed() {
        let (_folder, mut database) = filled();
        let (calls, spent_ns) = (database.calls(), database.spent_ns());
        database.wait(Span::from_ms(2)).unwrap();
        assert_eq!(database.calls(), calls + 1);
        assert!(database.spent_ns() - spent_ns >= 2_000_000);
    }
}
