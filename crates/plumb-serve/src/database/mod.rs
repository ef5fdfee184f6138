//! A session with a database: `SQLite` in this process, or `PostgreSQL`.
//!
//! One dialect is spoken to both: parameters are `$1`, `$2`, ... in the order in which they first
//! appear, numbers are 64-bit integers, amounts are integers in hundredths. No call waits longer
//! than the limits of its target allow.

pub mod certificate;
mod kept_read;
mod limits;
mod over;
mod postgres;
mod postgres_text;
mod sqlite;
mod statement;
mod target;
mod times;
pub mod tls;
mod transport;
mod value;

use std::sync::Arc;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use self::postgres::PostgresSession;
use self::sqlite::SqliteSession;
use self::target::{DatabaseKind, PostgresServer};

pub use self::statement::{Answer, Statement, Stopped};
pub use self::target::{
    DatabaseLimits, DatabaseTarget, LimitSettings, Secret, authorities_of, holds_password,
};
pub use self::times::{Activity, DatabaseTimes};
pub use self::value::{Row, Value};

/// Why a database call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    /// The database is gone, or takes nobody for the moment: worth trying again.
    #[error("the database does not answer: {0}")]
    Lost(String),
    /// The same, and it took its whole time for that: whoever else asks waits as long.
    #[error("the database does not answer: {0}")]
    Silent(String),
    /// The server broke off a statement that took too long, or whose table was changed meanwhile:
    /// worth trying again in the same session.
    #[error("the database broke off a statement: {0}")]
    BrokenOff(String),
    /// The server gave a transaction up for another one, as in a deadlock: nothing of it stays, or nothing
    /// behind a savepoint to which it is taken back. Worth trying again in the same session.
    #[error("the database gave a transaction up for another one: {0}")]
    RolledBack(String),
    /// A text that no database takes.
    #[error("a text holds the character NUL, which a database does not take: leave it out")]
    Nul,
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
    in_transaction: bool,
    keeps_reading: bool,
    activity: Arc<Activity>,
    calls: u64,
    logons: u64,
    /// Of the time in calls, on the way to a server and back.
    way_ns: u64,
    /// Of the time in calls, spent on logging on.
    log_on_ns: u64,
}

#[derive(Debug)]
enum Session {
    Sqlite(SqliteSession),
    Postgres(Box<PostgresSession>),
}

impl Database {
    /// A session that logs on with its first call.
    pub fn new(target: DatabaseTarget) -> Self {
        let activity = Arc::default();
        Self {
            target,
            session: None,
            in_transaction: false,
            keeps_reading: false,
            activity,
            calls: 0,
            logons: 0,
            way_ns: 0,
            log_on_ns: 0,
        }
    }

    /// The same, whose reads of an `SQLite` go on in one transaction: until [`rest`](Self::rest), a statement
    /// that is no read, one of another session of the same target, or a millisecond has passed. Whoever has a
    /// session do so lets it rest before waiting for anything else.
    #[must_use]
    pub fn keeps_reading(self) -> Self {
        Self { keeps_reading: true, ..self }
    }

    /// Lets go of the session in whatever state it is, as after a panic, with all that it holds; the next
    /// call logs on anew. What was counted stays counted.
    pub fn abandon(&mut self) {
        let (calls, logons) = (self.calls, self.logons);
        let (target, keeps_reading) = (self.target.clone(), self.keeps_reading);
        *self = Self { calls, logons, keeps_reading, ..Self::new(target) };
    }

    /// Nothing is asked for now: lets go of what is [kept](Self::keeps_reading).
    pub fn rest(&mut self) {
        if let Some(Session::Sqlite(session)) = &mut self.session
            && session.rest().is_err()
        {
            self.session = None; // it may hold what others wait for
        }
    }

    /// What it is doing, for others to see.
    #[must_use]
    pub fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }

    /// The rows that `statement` brings.
    ///
    /// # Errors
    /// [`DatabaseError`]; after [`DatabaseError::Lost`] and [`DatabaseError::Silent`] the next call
    /// logs on anew, outside a transaction.
    pub fn rows(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        if values.iter().any(|value| matches!(value, Value::Text(text) if text.contains('\0'))) {
            return Err(DatabaseError::Nul);
        }
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
        self.begin()?;
        match work(self) {
            Ok(done) => self.commit().map(|()| done).map_err(E::from),
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn begin(&mut self) -> Result<(), DatabaseError> {
        let begin = match self.dialect() {
            // a reader that turns into a writer could not wait for another writer
            Dialect::Sqlite => "BEGIN IMMEDIATE",
            Dialect::Postgres => "BEGIN",
        };
        self.rows(begin, &[])?;
        self.in_transaction = true;
        Ok(())
    }

    /// Ends the transaction: what was done in it stays.
    ///
    /// # Errors
    /// As [`rows`](Self::rows). When the database refuses, nothing stays; when it was lost, nobody
    /// here knows.
    pub fn commit(&mut self) -> Result<(), DatabaseError> {
        let ended = self.rows("COMMIT", &[]).map(|_| ());
        if ended.is_err() {
            // SQLite keeps a transaction open whose end it refused
            self.roll_back();
        }
        self.in_transaction = false;
        ended
    }

    /// Does `statements` in a transaction of their own, which a `PostgreSQL` gets whole: when the
    /// session is lost, nobody here knows whether it was committed.
    ///
    /// # Errors
    /// [`Stopped`] with the first that was not done; nothing stays then of any of them. The number
    /// of statements stands for the end of the transaction.
    pub fn all_committed(&mut self, statements: &[Statement]) -> Result<(), Stopped> {
        if statements.len() <= 1 {
            return self.all(statements); // a statement is a transaction of its own
        }
        let begin = match self.dialect() {
            Dialect::Sqlite => "BEGIN IMMEDIATE",
            Dialect::Postgres => "BEGIN",
        };
        let mut whole = Vec::with_capacity(statements.len() + 2);
        whole.push(Statement::plain(begin));
        whole.extend_from_slice(statements);
        whole.push(Statement::plain("COMMIT"));
        let done = self.all(&whole);
        if done.is_err() && self.session.is_some() && self.batch("ROLLBACK").is_err() {
            self.session = None; // there may be none to roll back, or one that must not stay
        }
        done.map_err(|stopped| Stopped { at: stopped.at.saturating_sub(1), ..stopped })
    }

    /// Ends the transaction, if there is one: nothing that was done in it stays.
    pub fn roll_back(&mut self) {
        if self.in_transaction && self.session.is_some() && self.rows("ROLLBACK", &[]).is_err() {
            self.session = None; // a new session has no open transaction
        }
        self.in_transaction = false;
    }

    /// True from [`begin`](Self::begin) to its end.
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// What `statement` brings.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn ask(&mut self, statement: &Statement) -> Result<Answer, DatabaseError> {
        statement.check()?;
        self.timed(|session| match session {
            Session::Sqlite(session) => session.ask(statement),
            Session::Postgres(session) => session.ask(statement),
        })
    }

    /// Does `statements` in their order, up to the first that is not done; a `PostgreSQL` gets them
    /// without waiting for each answer. To be called in a transaction: those behind the failed one
    /// may have been done as well.
    ///
    /// # Errors
    /// [`Stopped`] with the first that was not done.
    pub fn all(&mut self, statements: &[Statement]) -> Result<(), Stopped> {
        for (at, statement) in statements.iter().enumerate() {
            statement.check().map_err(|error| Stopped { at, error })?;
        }
        let mut at = 0;
        let done = self.timed(|session| match session {
            Session::Sqlite(session) => session.all(statements, &mut at),
            Session::Postgres(session) => session.all(statements, &mut at),
        });
        done.map_err(|error| Stopped { at, error })
    }

    /// Says whether the database takes `text`, without doing it; how many values it wants.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn prepare(&mut self, text: &str) -> Result<usize, DatabaseError> {
        self.timed(|session| match session {
            Session::Sqlite(session) => session.prepare(text),
            Session::Postgres(session) => session.prepare(text),
        })
    }

    /// False when the other side is known to have ended the session; nothing is sent for that.
    pub fn stands(&mut self) -> bool {
        match &mut self.session {
            None => false,
            Some(Session::Sqlite(_)) => true,
            Some(Session::Postgres(session)) => session.stands(),
        }
    }

    /// Logs on, unless it is.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    pub fn log_on(&mut self) -> Result<(), DatabaseError> {
        if self.connected() { Ok(()) } else { self.timed(|_| Ok(())) }
    }

    /// Which of the two it is, for what they say differently.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match &self.target.place {
            DatabaseKind::Sqlite(_) => Dialect::Sqlite,
            DatabaseKind::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Nanoseconds spent in calls so far.
    pub fn spent_ns(&self) -> u64 {
        self.activity.before_ns()
    }

    /// Where the time in calls went so far.
    #[must_use]
    pub fn times(&self) -> DatabaseTimes {
        let (way_ns, log_on_ns) = (self.way_ns, self.log_on_ns);
        DatabaseTimes { spent_ns: self.spent_ns(), way_ns, log_on_ns }
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
        self.activity.begins(began_ns);
        let logged_on_ns = self.log_on_ns;
        let done = self.session(began_ns).and_then(call);
        let ended_ns = MonotonicClock.now_ns();
        if let Some(Session::Postgres(session)) = &mut self.session {
            let log_on_ns = self.log_on_ns - logged_on_ns;
            self.way_ns += session.way_of((ended_ns - began_ns).saturating_sub(log_on_ns));
        }
        self.activity.ended(ended_ns - began_ns);
        self.calls += 1;
        match done {
            Err(DatabaseError::Lost(_)) => self.session = None,
            Err(DatabaseError::Silent(_)) => {
                self.session = None;
                self.target.was_silent(ended_ns);
            }
            Ok(_)
            | Err(
                DatabaseError::BrokenOff(_)
                | DatabaseError::RolledBack(_)
                | DatabaseError::Refused(_),
            ) => self.target.was_answered(ended_ns),
            Err(DatabaseError::Nul) => {}
        }
        done
    }

    fn session(&mut self, now_ns: u64) -> Result<&mut Session, DatabaseError> {
        if self.session.is_none() {
            if self.in_transaction {
                let text = "the session was lost, and its transaction with it";
                return Err(DatabaseError::Lost(text.into()));
            }
            if self.target.rests(now_ns) {
                let text = "it was silent a moment ago, and is asked again after a second";
                return Err(DatabaseError::Lost(text.into()));
            }
            let DatabaseTarget { place, limits, changes, .. } = &self.target;
            self.session = Some(match place {
                DatabaseKind::Sqlite(path) => {
                    let keeps = self.keeps_reading;
                    Session::Sqlite(SqliteSession::open(path, limits, changes, keeps)?)
                }
                DatabaseKind::Postgres(server) => {
                    Session::Postgres(Box::new(PostgresSession::open(server, limits)?))
                }
            });
            self.logons += 1;
            self.log_on_ns += MonotonicClock.now_ns().saturating_sub(now_ns);
        }
        if let Some(Session::Sqlite(session)) = &mut self.session {
            session.at(now_ns);
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
