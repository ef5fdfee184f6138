//! A session with a database: `SQLite` in this process, or `PostgreSQL`.
//!
//! One dialect is spoken to both: parameters are `$1`, `$2`, ... in the order in which they first
//! appear, numbers are 64-bit integers, amounts are integers in hundredths.

mod postgres;
mod sqlite;
mod target;
mod value;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use self::postgres::PostgresSession;
use self::sqlite::SqliteSession;

pub use self::target::DatabaseTarget;
pub use self::value::{Row, Value};

/// Why a database call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    /// The database is gone, or takes nobody for the moment: worth trying again.
    #[error("the database does not answer: {0}")]
    Lost(String),
    /// The statement itself is refused.
    #[error("the database refuses a statement: {0}")]
    Refused(String),
}

/// Which database speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `SQLite`, with a function `plumb_wait(nanoseconds)` that stays in its statement so long.
    Sqlite,
    /// `PostgreSQL`.
    Postgres,
}

/// A session with a database, and the time spent in its calls.
#[derive(Debug)]
pub struct Database {
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
    pub fn new(target: DatabaseTarget) -> Self {
        Self { target, session: None, spent_ns: 0, calls: 0, logons: 0 }
    }

    /// The rows that `statement` brings.
    ///
    /// # Errors
    /// [`DatabaseError`]; after [`DatabaseError::Lost`] the next call logs on anew.
    pub fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        self.timed(|session| match session {
            Session::Sqlite(session) => session.rows(statement, values),
            Session::Postgres(session) => session.rows(statement, values),
        })
    }

    /// The first row that `statement` brings.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn row(&mut self, statement: &str, values: &[Value]) -> Result<Option<Row>, DatabaseError> {
        Ok(self.rows(statement, values)?.into_iter().next())
    }

    /// Does `work` in one transaction, which is undone when it fails.
    ///
    /// # Errors
    /// What `work` or the database says.
    pub fn transaction<T, E: From<DatabaseError>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let begin = match self.dialect() {
            // a reader that turns into a writer could not wait for another writer
            Dialect::Sqlite => "BEGIN IMMEDIATE",
            Dialect::Postgres => "BEGIN",
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

    /// Which of the two it is, for what they say differently.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match &self.target {
            DatabaseTarget::Sqlite(_) => Dialect::Sqlite,
            DatabaseTarget::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Nanoseconds spent in calls so far.
    pub fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Times that a session was opened.
    pub fn logons(&self) -> u64 {
        self.logons
    }

    /// True while a session is open.
    pub fn connected(&self) -> bool {
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

    /// Does several statements without parameters, separated by `;`.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn batch(&mut self, statements: &str) -> Result<(), DatabaseError> {
        self.timed(|session| match session {
            Session::Sqlite(session) => session.batch(statements),
            Session::Postgres(session) => session.batch(statements),
        })
    }
}
