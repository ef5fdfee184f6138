//! SAP HANA, whose protocol is spoken here.
//!
//! | module | question |
//! |---|---|
//! | `channel`, `session` | how is a connection made, and what does it carry? |
//! | `exchange` | what does a call ask, and what does one tell that is looked into? |
//! | `trial`, `plan`, `readings`, `floor` | what is found out beside the load? |

mod channel;
mod exchange;
mod floor;
mod plan;
mod readings;
mod session;
mod trial;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use plumb_db_login::Login;
use plumb_engine::Endpoint;
use plumb_measure::{FailureKind, Histogram, Reading, Span};
use tokio::time::timeout;

use crate::DbError;
use crate::answer::Failure;
use crate::client::{Door, NotOpened, Trouble};
use crate::database::{Asked, Database, Form, Methods, Opened};
use crate::stream::Traffic;
use crate::trial::unprepared;

use exchange::Exchange;
use readings::Counters;
use session::Session;

/// The product as messages name it.
const PRODUCT: &str = "SAP HANA";
/// How the parts are measured.
const METHODS: Methods = Methods {
    server: "the time that the server tells with each answer (server processing time), less that of a \
        message that asks for no work (a rollback of nothing)",
    wire: "a message that asks for no work (a rollback of nothing), there and back in the place of a call",
    connect: "making the connection of the call",
};

/// A server.
#[derive(Clone, Debug)]
pub(crate) struct Hana {
    door: Door,
    /// Its version, and whether it is encrypted.
    known: Arc<str>,
}

/// Why a connection is not ready.
#[derive(Debug)]
pub(crate) enum NotReady {
    /// There is none.
    Closed(NotOpened),
    /// The statement cannot be prepared.
    Statement(Trouble),
    /// The statement is not prepared in time.
    Late,
}

impl Failure for NotReady {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Closed(trouble) => trouble.kind(),
            Self::Statement(trouble) => trouble.kind(),
            Self::Late => FailureKind::ConnectTimedOut,
        }
    }
}

impl Database for Hana {
    type Connection = Exchange;
    type NotReady = NotReady;
    type Counter = Counters;

    const DRIVER: &'static str =
        "plumb's own client of SAP HANA's protocol on a tokio runtime of one thread";

    async fn reach(endpoint: &Endpoint, login: &Login, patience: Span) -> Result<Self, DbError> {
        let (door, session) = Door::reach::<Session>(endpoint, login, patience).await?;
        let known = session.known.describe().into();
        session.end().await;
        Ok(Self { door, known })
    }

    async fn null_times(calls: u64) -> Result<Option<Histogram>, DbError> {
        floor::measure(calls).await
    }

    fn describe(&self) -> String {
        format!("{PRODUCT} {}", self.known)
    }

    fn methods(&self) -> Methods {
        METHODS
    }

    fn counting(&self, traffic: &Arc<Traffic>) -> Self {
        Self { door: self.door.counting(traffic), ..self.clone() }
    }

    async fn open(&self, asked: Asked<'_>, form: Form) -> Result<(Exchange, Opened), NotReady> {
        let (session, opened) = self.door.open().await.map_err(NotReady::Closed)?;
        let ready = async {
            match form {
                Form::Log => Exchange::for_log(session, asked).await,
                Form::Text => Ok(Exchange::by_text(session, asked)),
                Form::Prepared => Exchange::prepared(session, asked).await,
            }
        };
        let ready = timeout(Duration::from_nanos(self.door.patience.ns()), ready).await;
        let exchange = ready.map_err(|_| NotReady::Late)?.map_err(NotReady::Statement)?;
        Ok((exchange, opened))
    }

    async fn abandon(&self, connection: Exchange) {
        // a server gives up what a connection asked for that is gone
        drop(connection);
    }

    fn explain(&self, asked: Asked<'_>, trouble: &NotReady) -> DbError {
        match trouble {
            NotReady::Closed(trouble) => self.door.explain::<Session>(trouble),
            NotReady::Statement(trouble) => DbError::Statement {
                statement: asked.statement.which.name(),
                complaint: format!("cannot be prepared: {}", trouble.whole(PRODUCT)),
            },
            NotReady::Late => DbError::Statement {
                statement: asked.statement.which.name(),
                complaint: unprepared(self.door.patience),
            },
        }
    }

    fn keeps_logs(&self) -> Option<&'static str> {
        Some(
            "statements are asked in a transaction of each session that only reads (SET TRANSACTION READ ONLY)",
        )
    }

    async fn explained(&self, exchange: &mut Exchange, asked: Asked<'_>) -> Reading {
        plan::explained(&mut exchange.session, asked).await
    }

    async fn try_out(&self, asked: Asked<'_>, patience: Span) -> Result<Exchange, DbError> {
        trial::run(self, asked, patience).await
    }

    async fn counter(&self, asked: Asked<'_>, _: Form, _: Span) -> Counters {
        Counters::of(self, asked).await
    }

    async fn readings(&self, counters: Counters) -> Vec<Reading> {
        counters.readings(self).await
    }
}
