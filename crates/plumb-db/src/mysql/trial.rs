//! Before anything is measured: can the statement be measured at all, and may it?

use std::time::Duration;

use plumb_measure::Span;

use crate::DbError;
use crate::database::{Access, Asked, Connection as _, Database as _, Form};
use crate::statement::Which;

use super::channel::Trouble;
use super::exchange::{Exchange, NoAnswer, WRITES};
use super::{Mysql, Promise};

/// What to do about a statement that writes.
const ALLOW: &str =
    "returns no rows or writes: --allow-writes measures it, and rolls each call back";

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
    let trial = Trial { server, asked, patience };
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

/// Why a statement is refused of which the server says that it writes.
pub(super) fn writes(said: &str) -> String {
    format!("is refused ({said}): it {ALLOW}")
}

/// One statement, tried over one session.
#[derive(Clone, Copy, Debug)]
struct Trial<'a> {
    server: &'a Mysql,
    asked: Asked<'a>,
    patience: Span,
}

impl Trial<'_> {
    fn may_write(&self) -> bool {
        self.asked.access == Access::RolledBack
    }

    /// What nothing keeps from writing is asked only where that was allowed.
    fn may_be(&self) -> Result<(), DbError> {
        let is_own = self.asked.statement.which == Which::Own;
        match self.server.promise {
            Promise::None(why) if is_own && !self.may_write() => Err(self.wrong(format!(
                "cannot be kept from writing, because {}: --allow-writes measures it, and rolls \
                 each call back",
                why.describe()
            ))),
            Promise::None(_) | Promise::Session => Ok(()),
        }
    }

    async fn of(&self, exchange: &mut Exchange) -> Result<(), DbError> {
        let statement = self.asked.statement;
        let (columns, wanted) = exchange.shape().unwrap_or_default();
        if usize::from(wanted) != statement.parameters.len() {
            return Err(self.wrong("wants parameters (?): write values in their place".into()));
        }
        if !self.may_write() {
            if columns == 0 || !statement.only_asks() {
                return Err(self.wrong(ALLOW.into()));
            }
            if !self.patiently(exchange.tried(statement)).await? {
                let server = self.server.door.server.clone();
                return Err(DbError::NeverReadOnly { server });
            }
        }
        self.patiently(exchange.ask(statement)).await?;
        if exchange.keeps_its_promise() {
            return Ok(());
        }
        Err(self.wrong("takes away the promise that its session does not write".into()))
    }

    /// Waits for an answer as long as a call may take.
    async fn patiently<T>(
        &self,
        asked: impl Future<Output = Result<T, NoAnswer>>,
    ) -> Result<T, DbError> {
        let limit = Duration::from_nanos(self.patience.ns());
        let Ok(answer) = tokio::time::timeout(limit, asked).await else {
            let patience = self.patience;
            return Err(self.wrong(format!("has no answer within {patience}: raise --timeout")));
        };
        answer.map_err(|trouble| match trouble {
            NoAnswer::TooLarge => {
                let limits = self.asked.limits.describe();
                self.wrong(format!(
                    "has an answer of more than {limits}: add a LIMIT to it, or raise --rows and \
                     --size"
                ))
            }
            NoAnswer::Unexpected => {
                self.wrong("is answered in another way than MariaDB and MySQL do".into())
            }
            NoAnswer::Driver(Trouble::Refused(WRITES, said)) => self.wrong(writes(&said)),
            NoAnswer::Driver(Trouble::Refused(_, said)) => self.wrong(format!("fails: {said}")),
            NoAnswer::Driver(trouble) => {
                DbError::Gone { server: self.server.door.server.clone(), cause: trouble.whole() }
            }
        })
    }

    fn wrong(&self, complaint: String) -> DbError {
        DbError::Statement { statement: self.asked.statement.which.name(), complaint }
    }
}
