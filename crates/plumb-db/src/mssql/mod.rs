//! SQL Server, whose protocol is spoken here.
//!
//! | module | question |
//! |---|---|
//! | `wrapped`, `channel`, `session` | how is a connection made, and what does it carry? |
//! | `exchange` | what does a call ask, and what does one tell that is looked into? |
//! | `trial`, `plan`, `readings`, `floor` | what is found out beside the load? |

mod channel;
mod exchange;
mod floor;
mod plan;
mod readings;
mod session;
mod trial;
mod wrapped;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use plumb_db_login::Login;
use plumb_engine::Endpoint;
use plumb_measure::{Histogram, Reading, Span};

use crate::DbError;
use crate::client::{Door, NotOpened};
use crate::database::{Access, Asked, Database, Form, Methods, Opened};
use crate::stream::Traffic;

use exchange::Exchange;
use readings::Counters;
use session::Session;

/// The product as messages name it.
const PRODUCT: &str = "SQL Server";
/// How the parts are measured.
const METHODS: Methods = Methods {
    server: "between two readings of the server's clock (SYSUTCDATETIME) in one batch with the \
        statement in between, less what two readings take that follow each other",
    wire: "a batch that asks for no work, there and back in the place of a call",
    connect: "making the connection of the call, and one way there and back for its settings",
};

/// A server.
#[derive(Clone, Debug)]
pub(crate) struct Mssql {
    door: Door,
    /// The server and its version, and whether it is encrypted.
    known: Arc<str>,
}

impl Database for Mssql {
    type Connection = Exchange;
    type NotReady = NotOpened;
    type Counter = Counters;

    const DRIVER: &'static str =
        "plumb's own client of SQL Server's protocol (TDS) on a tokio runtime of one thread";

    async fn reach(endpoint: &Endpoint, login: &Login, patience: Span) -> Result<Self, DbError> {
        let (door, session) = Door::reach::<Session>(endpoint, login, patience).await?;
        Ok(Self { door, known: session.known.describe().into() })
    }

    async fn null_times(calls: u64) -> Result<Option<Histogram>, DbError> {
        floor::measure(calls).await
    }

    fn describe(&self) -> String {
        format!(
            "{}; statements go as text, whose plan the server keeps; nothing keeps \
             them from writing: it has no transactions that only read",
            self.known
        )
    }

    fn methods(&self) -> Methods {
        METHODS
    }

    fn counting(&self, traffic: &Arc<Traffic>) -> Self {
        Self { door: self.door.counting(traffic), ..self.clone() }
    }

    async fn open(&self, asked: Asked<'_>, form: Form) -> Result<(Exchange, Opened), NotOpened> {
        let (session, opened) = self.door.open().await?;
        // of statements that differ nobody has looked at each
        let access = if form == Form::Log { Access::RolledBack } else { asked.access };
        Ok((Exchange::new(session, Asked { access, ..asked }), opened))
    }

    fn keeps_logs(&self) -> Option<&'static str> {
        Some(
            "of a log only statements that begin with SELECT or WITH and hold no word that writes are asked, \
             each rolled back; not seen are functions of the CLR that write",
        )
    }

    async fn abandon(&self, connection: Exchange) {
        connection.session.give_up().await;
    }

    fn explain(&self, _: Asked<'_>, trouble: &NotOpened) -> DbError {
        self.door.explain::<Session>(trouble)
    }

    async fn try_out(&self, asked: Asked<'_>, patience: Span) -> Result<Exchange, DbError> {
        trial::run(self, asked, patience).await
    }

    async fn explained(&self, exchange: &mut Exchange, asked: Asked<'_>) -> Reading {
        plan::explained(&mut exchange.session, asked).await
    }

    async fn counter(&self, asked: Asked<'_>, _: Form, _: Span) -> Counters {
        Counters::of(self, asked).await
    }

    async fn readings(&self, counters: Counters) -> Vec<Reading> {
        counters.readings(self).await
    }
}
