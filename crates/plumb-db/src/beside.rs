//! What is asked of a database beside a load. It has a time of its own: a server that is gone, and a table
//! that somebody has locked, answer nothing, and the figures of the load are to be written down whatever
//! the server says of itself.

use std::time::Duration;

use plumb_measure::{Reading, Span};
use tokio::time::timeout;

use crate::DbError;
use crate::database::{Asked, Connection as _, Database, Form, untimed};
use crate::trial::EXPLAINED;

/// How long it is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    /// A connection.
    pub(crate) connect: Span,
    /// A statement.
    pub(crate) operation: Span,
}

impl Beside {
    /// What the server has counted so far of what is asked in the form `form`; `None` when it does not say
    /// in time.
    pub(crate) async fn counter<D: Database>(
        self,
        database: &D,
        asked: Asked<'_>,
        form: Form,
    ) -> Option<D::Counter> {
        let counter = database.counter(asked, form, self.operation);
        timeout(duration(self.limit(1)), counter).await.ok()
    }

    /// What it has counted since.
    pub(crate) async fn readings<D: Database>(
        self,
        database: &D,
        counter: Option<D::Counter>,
    ) -> Vec<Reading> {
        let limit = self.limit(1);
        let readings = async { Some(database.readings(counter?).await) };
        let came = timeout(duration(limit), readings).await.ok().flatten();
        came.unwrap_or_else(|| vec![late("the server's own account", limit)])
    }

    /// What the server's own account of the plan says, of several executions over `connection`.
    ///
    /// # Errors
    /// [`DbError::Stays`] when something that they changed was not rolled back.
    pub(crate) async fn explained<D: Database>(
        self,
        database: &D,
        mut connection: D::Connection,
        asked: Asked<'_>,
    ) -> Result<Reading, DbError> {
        let limit = self.limit(EXPLAINED);
        match timeout(duration(limit), database.explained(&mut connection, asked)).await {
            Ok(_) if !connection.rolls_back().await => {
                Err(DbError::Stays { statement: asked.statement.which.named() })
            }
            Ok(reading) => Ok(reading),
            Err(_) => {
                database.abandon(connection).await; // it may still be at work
                Ok(late("the plan", limit))
            }
        }
    }

    /// The time of a connection and so many statements.
    fn limit(self, statements: u64) -> Span {
        let operations_ns = self.operation.ns().saturating_mul(statements);
        Span::from_ns(self.connect.ns().saturating_add(operations_ns))
    }
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.ns())
}

fn late(source: &str, limit: Span) -> Reading {
    untimed(source, format!("not told: the server did not say within {limit}"))
}
