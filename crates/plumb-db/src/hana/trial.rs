//! Before anything is measured: can the statement be measured at all, and may it?

use plumb_measure::Span;

use crate::DbError;
use crate::client::Trouble;
use crate::database::{Access, Asked, Database as _, Form};
use crate::trial::{Attempt, WRITES};

use super::exchange::Exchange;
use super::{Hana, PRODUCT};

/// Has the statement prepared, and runs it within its limits and `patience` where the server found it to
/// be a query, or each call is rolled back.
///
/// # Errors
/// [`DbError::Statement`] says what is wrong with the statement; the others, why there is no session.
pub(super) async fn run(
    server: &Hana,
    asked: Asked<'_>,
    patience: Span,
) -> Result<Exchange, DbError> {
    let attempt = Attempt { asked, patience, product: PRODUCT };
    let opened = server.open(asked, Form::Prepared).await;
    let (mut exchange, _) = opened.map_err(|trouble| server.explain(asked, &trouble))?;
    let is_query = exchange.prepared.is_some_and(|prepared| prepared.is_query);
    if asked.access == Access::ReadOnly && !is_query {
        return Err(attempt.wrong(WRITES.into()));
    }
    let refused = |trouble: Trouble| match trouble {
        Trouble::Refused(_) => attempt.wrong(format!("fails: {}", trouble.whole(PRODUCT))),
        trouble => {
            DbError::Gone { server: server.door.server.clone(), cause: trouble.whole(PRODUCT) }
        }
    };
    match attempt.patiently(exchange.tried(asked.statement), refused).await {
        Ok(brought) if brought.server_us.is_none() => Err(attempt.wrong(
            "is answered without the time that the server was at work for it: its version does not tell"
                .into(),
        )),
        Ok(_) => Ok(exchange),
        Err(error) => {
            server.abandon(exchange).await; // it may still be at work
            Err(error)
        }
    }
}
