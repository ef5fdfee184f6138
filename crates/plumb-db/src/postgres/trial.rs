//! Before anything is measured: can the statement be measured at all, and may it?

use plumb_measure::{FailureKind, Span};
use tokio_postgres::error::SqlState;

use crate::DbError;
use crate::database::{Access, Asked, Database as _, Form};
use crate::trial::{Attempt, WRITES};

use super::exchange::Exchange;
use super::promise::Promise;
use super::session::{failure, whole};
use super::{NoAnswer, Postgres};

/// What is said of COPY TO STDOUT and FROM STDIN.
const COPIES: &str = "copies to or from the client, which is no answer with rows: measure a SELECT or an INSERT instead";

/// Runs the statement within its limits and `patience`: one that may not write in a transaction first
/// that is read-only by the server's own word, then each as its calls will. What it shows of the
/// server comes back with the session.
///
/// # Errors
/// [`DbError::Statement`] says what is wrong with the statement; the others, why there is no session.
pub(crate) async fn run(
    server: &Postgres,
    asked: Asked<'_>,
    patience: Span,
) -> Result<Exchange, DbError> {
    let opened = server.open(asked, Form::Prepared).await;
    let (exchange, _) = opened.map_err(|trouble| server.explain(asked, &trouble))?;
    let attempt = Attempt { asked, patience, product: "PostgreSQL" };
    match (Trial { server, attempt }).of(&exchange).await {
        Ok(()) => Ok(exchange),
        Err(error) => {
            server.abandon(exchange).await; // it may still be at work
            Err(error)
        }
    }
}

/// True when the session is lent.
fn is_lent(exchange: &Exchange) -> bool {
    matches!(exchange.session.promise, Promise::Call(_))
}

/// One statement, tried over one session.
#[derive(Clone, Copy, Debug)]
struct Trial<'a> {
    server: &'a Postgres,
    attempt: Attempt<'a>,
}

impl Trial<'_> {
    async fn of(&self, exchange: &Exchange) -> Result<(), DbError> {
        match self.all(exchange).await {
            Err(DbError::Gone { server, cause }) if is_lent(exchange) => {
                let gone = DbError::Gone { server, cause };
                Err(self.reason().await.unwrap_or(gone))
            }
            tried => tried,
        }
    }

    /// Why a statement fails that something on the way ended the session of, by a session more.
    async fn reason(&self) -> Option<DbError> {
        let (exchange, _) = self.server.open(self.attempt.asked, Form::Prepared).await.ok()?;
        self.patiently(exchange.alone(self.attempt.asked.statement)).await.err()
    }

    async fn all(&self, exchange: &Exchange) -> Result<(), DbError> {
        let statement = self.attempt.asked.statement;
        let may_write = self.attempt.asked.access == Access::RolledBack;
        let columns = match exchange.shape() {
            Some((columns, parameters)) if parameters == statement.parameters.len() => {
                Some(columns)
            }
            Some((_, parameters)) => return Err(self.wants(parameters)),
            None => {
                self.patiently(exchange.understood(statement)).await?;
                None
            }
        };
        if !may_write {
            if columns == Some(0) || !statement.only_asks() {
                return Err(self.attempt.wrong(WRITES.into()));
            }
            self.in_a_read_only_transaction(exchange).await?;
        }
        self.patiently(exchange.ask(statement)).await?;
        if exchange.session.keeps_its_promise() {
            return Ok(());
        }
        Err(self.attempt.wrong("takes away the promise that its session does not write".into()))
    }

    /// The statement is not run again before it has run where the server would refuse that it writes.
    async fn in_a_read_only_transaction(&self, exchange: &Exchange) -> Result<(), DbError> {
        let tried = self.patiently(exchange.tried(self.attempt.asked.statement)).await?;
        if !tried.was_read_only {
            let server = self.server.door.server.clone();
            return Err(DbError::NeverReadOnly { server });
        }
        if tried.has_rows { Ok(()) } else { Err(self.attempt.wrong(WRITES.into())) }
    }

    /// Waits for an answer as long as a call may take.
    async fn patiently<T>(
        &self,
        asked: impl Future<Output = Result<T, NoAnswer>>,
    ) -> Result<T, DbError> {
        self.attempt.patiently(asked, |error| self.refused(&error)).await
    }

    fn refused(&self, error: &tokio_postgres::Error) -> DbError {
        let said = whole(error);
        match error.code() {
            Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
                self.attempt.writes(&said)
            }
            Some(code) if *code == SqlState::UNDEFINED_PARAMETER => self.wants(1),
            // of something on the way: a server has understood the statement by then
            Some(code) if *code == SqlState::PROTOCOL_VIOLATION => self.gone(said),
            Some(_) => self.attempt.wrong(format!("fails: {said}")),
            // one that breaks off may have copied a file of the server
            None if self.attempt.asked.statement.first_word().eq_ignore_ascii_case("COPY")
                && failure(error) == FailureKind::Garbled =>
            {
                self.attempt.wrong(COPIES.into())
            }
            None => self.gone(said),
        }
    }

    fn gone(&self, cause: String) -> DbError {
        DbError::Gone { server: self.server.door.server.clone(), cause }
    }

    fn wants(&self, parameters: usize) -> DbError {
        let them = if parameters == 1 { "a parameter" } else { "parameters" };
        self.attempt.wrong(format!("wants {them} ($1, ...): write values in their place"))
    }
}
