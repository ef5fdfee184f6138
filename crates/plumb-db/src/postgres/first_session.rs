//! The first session: what can it, and those behind it, promise?

use std::time::Duration;

use plumb_db_login::Login;
use plumb_engine::Endpoint;
use plumb_measure::Span;
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::SqlState;

use super::process_id;
use super::promise::{Promise, Why};
use super::session::{Door, NotOpened, Session};
use crate::DbError;

/// Asks which process of the server answers.
const WHO_ANSWERS: &str = "SELECT pg_backend_pid()";

/// The first session, and the door to all that follow: it promises what this one could.
///
/// # Errors
/// [`DbError`] when there is no session.
pub(crate) async fn open(
    endpoint: &Endpoint,
    login: &Login,
    patience: Span,
) -> Result<(Door, Session), DbError> {
    let door = |promise| Door::new(endpoint.clone(), login, promise, patience);
    let asking = door(Promise::Session)?;
    let why = match asking.enter().await {
        Ok((session, _)) => match doubt(&asking, &session, patience).await? {
            None => return Ok((asking, session)),
            Some(why) => why,
        },
        Err(NotOpened::Driver(error)) if refuses_parameters(&error) => Why::Dropped,
        Err(trouble) => return Err(asking.explain(login, &trouble)),
    };
    let plain = door(Promise::Call(why))?;
    let opened = plain.open().await;
    let (session, _) = opened.map_err(|trouble| plain.explain(login, &trouble))?;
    if why == Why::Dropped && is_pooled(&plain, &session, patience).await? {
        return Ok((door(Promise::Call(Why::Pooler))?, session));
    }
    Ok((plain, session))
}

/// Why `session` cannot promise not to write; `None` when it can.
async fn doubt(door: &Door, session: &Session, patience: Span) -> Result<Option<Why>, DbError> {
    if is_pooled(door, session, patience).await? {
        return Ok(Some(Why::Pooler));
    }
    Ok(match session.reports_read_only() {
        Some(true) => None,
        Some(false) => Some(Why::Dropped),
        None => Some(Why::Unreported),
    })
}

/// True when another process answers than the one that the session was begun with. Whoever lends
/// sessions of its own to clients names none of them when a client comes.
async fn is_pooled(door: &Door, session: &Session, patience: Span) -> Result<bool, DbError> {
    let gone = |cause: String| DbError::Gone { server: door.server.clone(), cause };
    let asked = session.drive(session.client.simple_query(WHO_ANSWERS));
    let answer = tokio::time::timeout(Duration::from_nanos(patience.ns()), asked)
        .await
        .map_err(|_| {
            gone(format!("no answer within {patience}; are all connections of a pooler taken?"))
        })?
        .map_err(|error| gone(super::session::whole(&error)))?;
    let answering = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse::<i32>().ok(),
        _ => None,
    });
    Ok(answering.is_none() || process_id::of(&session.client).await != answering)
}

/// True when the other side does not take what a session asks for when it begins.
fn refuses_parameters(error: &tokio_postgres::Error) -> bool {
    let refusals = [SqlState::PROTOCOL_VIOLATION, SqlState::FEATURE_NOT_SUPPORTED];
    error.code().is_some_and(|code| refusals.contains(code))
}
