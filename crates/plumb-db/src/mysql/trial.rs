//! Before anything is measured: can the statement be measured at all, and may it?

use plumb_measure::Span;

use crate::DbError;
use crate::database::{Access, Asked, Connection as _, Database as _, Form};
use crate::statement::Which;
use crate::trial::{Attempt, WRITES};

use super::PRODUCT;
use super::exchange::{Exchange, NoAnswer, WRITES as READ_ONLY};
use super::{Mysql, Promise};
use crate::client::Trouble;

/// Runs the statement within its limits and `patience`: one that may not write in a transaction first
/// that is read-only by the server's own word, then each as its calls will.
///
/// # Errors
/// [`DbError::Statement`] says what is wrong with the statement; the others, why there is no session.
pub(super) async fn run(
    server: &Mysql,
    asked: Asked<'_>,
    patience: Span,
) -> Result<Exchange, DbError> {
    let attempt = Attempt { asked, patience, product: "MariaDB and MySQL" };
    let trial = Trial { server, attempt };
    trial.may_be()?;
    let opened = server.open(asked, Form::Prepared).await;
    let (mut exchange, _) = opened.map_err(|trouble| server.explain(asked, &trouble))?;
    match trial.of(&mut exchange).await {
        Ok(()) => Ok(exchange),
        Err(error) => {
            server.abandon(exchange).await; // it may still be at work
            Err(error)
        }
    }
}

/// One statement, tried over one session.
#[derive(Clone, Copy, Debug)]
struct Trial<'a> {
    server: &'a Mysql,
    attempt: Attempt<'a>,
}

impl Trial<'_> {
    fn may_write(&self) -> bool {
        self.attempt.asked.access == Access::RolledBack
    }

    /// What nothing keeps from writing is asked only where that was allowed.
    fn may_be(&self) -> Result<(), DbError> {
        let is_own = self.attempt.asked.statement.which == Which::Own;
        match self.server.promise {
            Promise::None(why) if is_own && !self.may_write() => {
                Err(self.attempt.unkept(why.describe()))
            }
            Promise::None(_) | Promise::Session => Ok(()),
        }
    }

    async fn of(&self, exchange: &mut Exchange) -> Result<(), DbError> {
        let statement = self.attempt.asked.statement;
        let (columns, wanted) = exchange.shape().unwrap_or_default();
        if usize::from(wanted) != statement.parameters.len() {
            return Err(self
                .attempt
                .wrong("wants parameters (?): write values in their place".into()));
        }
        if !self.may_write() {
            if columns == 0 || !statement.only_asks() {
                return Err(self.attempt.wrong(WRITES.into()));
            }
            if !self.patiently(exchange.tried(statement)).await? {
                let server = self.server.door.server.clone();
                return Err(DbError::NeverReadOnly { server });
            }
        }
        let asked = self.patiently(exchange.ask(statement)).await;
        if !exchange.rolls_back().await {
            return Err(DbError::Stays { statement: statement.which.named() });
        }
        asked?;
        if exchange.keeps_its_promise() {
            return Ok(());
        }
        Err(self.attempt.wrong("takes away the promise that its session does not write".into()))
    }

    /// Waits for an answer as long as a call may take.
    async fn patiently<T>(
        &self,
        asked: impl Future<Output = Result<T, NoAnswer>>,
    ) -> Result<T, DbError> {
        let refused = |trouble: Trouble| match trouble {
            Trouble::Refused(it) if it.number == READ_ONLY => self.attempt.writes(&it.message),
            Trouble::Refused(it) => self.attempt.wrong(format!("fails: {}", it.message)),
            trouble => DbError::Gone {
                server: self.server.door.server.clone(),
                cause: trouble.whole(PRODUCT),
            },
        };
        self.attempt.patiently(asked, refused).await
    }
}
