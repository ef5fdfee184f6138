//! Before anything is measured: can the statement be measured at all, and may it?

use plumb_measure::Span;

use crate::DbError;
use crate::client::Trouble;
use crate::database::{Access, Asked, Database as _, Form};
use crate::statement::Which;
use crate::trial::Attempt;

use super::exchange::Exchange;
use super::{Mssql, PRODUCT};

/// Runs the statement within its limits and `patience`, as its calls will.
///
/// # Errors
/// [`DbError::Statement`] says what is wrong with the statement; the others, why there is no session.
pub(super) async fn run(
    server: &Mssql,
    asked: Asked<'_>,
    patience: Span,
) -> Result<Exchange, DbError> {
    let attempt = Attempt { asked, patience, product: PRODUCT };
    let may_write = asked.access == Access::RolledBack;
    if asked.statement.which == Which::Own && !may_write {
        return Err(attempt.unkept("SQL Server has no transactions that only read"));
    }
    if may_write && asked.statement.may_end_transaction() {
        return Err(attempt.wrong(
            "may end the transaction that rolls it back: it holds COMMIT or ROLLBACK, or cannot be read to \
             its end; leave that out"
                .into(),
        ));
    }
    let opened = server.open(asked, Form::Text).await;
    let (mut exchange, _) = opened.map_err(|trouble| server.explain(asked, &trouble))?;
    let refused = |trouble: Trouble| match trouble {
        Trouble::Refused(_) => attempt.wrong(format!("fails: {}", trouble.whole(PRODUCT))),
        trouble => {
            DbError::Gone { server: server.door.server.clone(), cause: trouble.whole(PRODUCT) }
        }
    };
    match attempt.patiently(exchange.tried(asked.statement), refused).await {
        Ok(brought) if brought.tables == 0 && !may_write => {
            Err(attempt.wrong("returns no rows".into()))
        }
        Ok(_) => Ok(exchange),
        Err(error) => {
            server.abandon(exchange).await; // it may still be at work
            Err(error)
        }
    }
}
