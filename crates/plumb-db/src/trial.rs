//! Before anything is measured: can the statement be measured at all, and may it?

use std::time::Duration;

use plumb_measure::Span;
use tokio_postgres::error::SqlState;

use crate::DbError;
use crate::caller::{NotReady, Opening};
use crate::exchange::{Exchange, NoAnswer};
use crate::login::Login;
use crate::session::{Access, whole};

/// Runs the statement once, within its limits and `patience`. What it shows of the server comes
/// back with the session, on which the statement is prepared.
///
/// # Errors
/// [`DbError::Statement`] says what is wrong with the statement; the others, why there is no session.
pub(crate) async fn run(
    opening: &Opening<'_>,
    login: &Login,
    patience: Span,
) -> Result<Exchange, DbError> {
    let which = opening.statement.which.name();
    let wrong = |complaint: String| DbError::Statement { statement: which, complaint };
    let exchange = match opening.open().await {
        Ok((exchange, _)) => exchange,
        Err(NotReady::Closed(trouble)) => return Err(opening.door.explain(login, &trouble)),
        Err(NotReady::Statement(error)) => {
            return Err(wrong(format!("cannot be prepared: {}", whole(&error))));
        }
    };
    let (columns, parameters) = exchange.shape();
    if parameters != opening.statement.parameters.len() {
        return Err(wrong(format!(
            "wants {parameters} parameters ($1, ...): write values in their place"
        )));
    }
    if columns == 0 && opening.access == Access::ReadOnly {
        return Err(wrong(WRITES.into()));
    }
    let asked = exchange.ask(opening.statement);
    let answer = match tokio::time::timeout(Duration::from_nanos(patience.ns()), asked).await {
        Ok(answer) => answer,
        Err(_) => {
            opening.door.abandon(exchange.session).await;
            return Err(wrong(format!("has no answer within {patience}: raise --timeout")));
        }
    };
    match answer {
        Ok(_) => {}
        Err(NoAnswer::TooLarge) => {
            opening.door.abandon(exchange.session).await;
            let limits = opening.limits;
            return Err(wrong(format!(
                "has an answer of more than {} rows or {}: add a LIMIT to it, or raise --rows and \
                 --size",
                limits.rows, limits.bytes
            )));
        }
        Err(NoAnswer::Driver(error)) => return Err(refused(opening, which, &error)),
    }
    still_read_only(opening, &exchange).await?;
    Ok(exchange)
}

/// What to do about a statement that writes.
const WRITES: &str =
    "returns no rows or writes: --allow-writes measures it, and rolls each call back";

fn refused(opening: &Opening<'_>, which: &'static str, error: &tokio_postgres::Error) -> DbError {
    match error.code() {
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => DbError::Statement {
            statement: which,
            complaint: format!("is refused ({}): it {WRITES}", whole(error)),
        },
        Some(_) => {
            DbError::Statement { statement: which, complaint: format!("fails: {}", whole(error)) }
        }
        None => DbError::Gone { server: opening.door.server.clone(), cause: whole(error) },
    }
}

/// A statement that lets its session write is not measured.
async fn still_read_only(opening: &Opening<'_>, exchange: &Exchange) -> Result<(), DbError> {
    if opening.access == Access::RolledBack {
        return Ok(());
    }
    let which = opening.statement.which.name();
    let session = &exchange.session;
    let rows = session
        .drive(session.client.simple_query("SHOW default_transaction_read_only"))
        .await
        .map_err(|error| refused(opening, which, &error))?;
    let on = rows.iter().any(|message| {
        matches!(message, tokio_postgres::SimpleQueryMessage::Row(row) if row.get(0) == Some("on"))
    });
    if on {
        return Ok(());
    }
    let complaint = "takes away the promise that its session does not write".into();
    Err(DbError::Statement { statement: which, complaint })
}
