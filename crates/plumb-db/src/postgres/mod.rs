//! PostgreSQL, by `tokio-postgres`.
//!
//! | module | question |
//! |---|---|
//! | `session`, `conversation` | how is a connection made, and what does it carry? |
//! | `promise`, `first_session`, `process_id`, `block` | what keeps a statement from writing? |
//! | `exchange` | what does a call ask, and what does one tell that is looked into? |
//! | `trial`, `readings`, `floor` | what is found out beside the load? |

mod block;
mod conversation;
mod exchange;
mod first_session;
mod floor;
mod process_id;
mod promise;
mod readings;
mod session;
#[cfg(test)]
mod tests;
mod tls;
mod trial;

use std::sync::Arc;
use std::time::Duration;

use plumb_db_login::Login;
use plumb_engine::Endpoint;
use plumb_measure::{Advice, FailureKind, Histogram, Intermediary, Reading, Span};
use tokio::time::timeout;

use crate::answer::{Answered, Failure, state};
use crate::database::{
    Asked, Connection, Database, Form, Methods, Opened, READ_ONLY_SESSIONS, Way, encryption,
};
use crate::looks::Seen;
use crate::statement::Statement;
use crate::stream::Traffic;
use crate::trial::{unanswered, unprepared};
use crate::{DbError, answer};

use exchange::{Exchange, Unprepared};
use promise::{Promise, Why};
use readings::{Counter, Counters};
use session::{Door, NotOpened, Session, failure, whole};

/// Why there is no answer.
type NoAnswer = answer::NoAnswer<tokio_postgres::Error>;

/// How the server's part is found out: of a session of its own, and where each call is one message.
const BY_ITS_CLOCK: &str = "between two readings of the server's clock, sent at once with the \
    statement in between, less two readings with a message in between that asks for no work (Sync)";
const IN_ONE_MESSAGE: &str = "between two readings of the server's clock in the message of the call, \
    its BEGIN and ROLLBACK in between, less two readings with nothing in between";
/// How the wire is.
const SYNC: &str = "a message that asks for no work (Sync), there and back in the place of a call";
const SYNC_ON_THE_WAY: &str = "a message that asks for no work (Sync), there and back in the place \
    of a call; what stands on the way, and waiting for one of its connections, is in it";
/// How connecting is.
const CONNECT: &str = "making the connection of the call";

/// A server of PostgreSQL.
#[derive(Clone, Debug)]
pub(crate) struct Postgres {
    door: Door,
    login: Login,
    /// A session that looks on.
    onlooker: Arc<Session>,
}

/// Why a connection is not ready.
#[derive(Debug)]
pub(crate) enum NotReady {
    /// There is none.
    Closed(NotOpened),
    /// The statement cannot be prepared.
    Statement(tokio_postgres::Error),
    /// The statement is not prepared in time.
    Late,
}

impl Failure for NotReady {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Closed(trouble) => trouble.kind(),
            Self::Statement(error) => failure(error),
            Self::Late => FailureKind::ConnectTimedOut,
        }
    }
}

impl Failure for tokio_postgres::Error {
    fn kind(&self) -> FailureKind {
        failure(self)
    }

    fn reason(&self) -> Option<String> {
        self.code().map(|code| state(code.code()))
    }

    fn words(&self) -> Option<String> {
        self.as_db_error().map(|_| whole(self))
    }
}

impl Connection for Exchange {
    type NoAnswer = NoAnswer;

    fn way(&self) -> Way<'_> {
        let transport = self.session.transport.as_ref();
        Way { transport, arrivals: Some(&self.session.arrivals) }
    }

    fn keeps_its_promise(&self) -> bool {
        self.session.keeps_its_promise()
    }

    async fn ask(&mut self, statement: &Statement) -> Result<Answered, NoAnswer> {
        Self::ask(self, statement).await
    }

    async fn there_and_back(&mut self, statement: &Statement) -> Result<Seen, NoAnswer> {
        self.session.drive(Self::there_and_back(self, statement)).await
    }

    async fn at_the_server(&mut self, statement: &Statement) -> Result<Seen, NoAnswer> {
        self.session.drive(self.by_its_clock(statement)).await
    }
}

impl Database for Postgres {
    type Connection = Exchange;
    type NotReady = NotReady;
    type Counter = Counters;

    const DRIVER: &'static str = "tokio-postgres on a tokio runtime of one thread";

    async fn reach(endpoint: &Endpoint, login: &Login, patience: Span) -> Result<Self, DbError> {
        let (door, onlooker) = first_session::open(endpoint, login, patience).await?;
        Ok(Self { door, login: login.clone(), onlooker: Arc::new(onlooker) })
    }

    async fn null_times(calls: u64) -> Result<Option<Histogram>, DbError> {
        floor::measure(calls).await
    }

    fn describe(&self) -> String {
        let encrypted = encryption(self.onlooker.encrypted);
        let server = format!("PostgreSQL {}, {encrypted}", self.onlooker.version);
        match self.door.promise {
            Promise::Session => server,
            Promise::Call(why) => format!("{server}, {}", why.describe()),
        }
    }

    fn methods(&self) -> Methods {
        let (server, wire) = match self.door.promise {
            Promise::Session => (BY_ITS_CLOCK, SYNC),
            Promise::Call(_) => (IN_ONE_MESSAGE, SYNC_ON_THE_WAY),
        };
        Methods { server, wire, connect: CONNECT }
    }

    fn log_on_trips(&self) -> u32 {
        // whether it would have TLS the server is asked first, and may refuse
        1 + u32::from(self.door.asks_for_tls())
    }

    fn keeps_logs(&self) -> Option<&'static str> {
        (self.door.promise == Promise::Session).then_some(READ_ONLY_SESSIONS)
    }

    /// Calls that were other calls than those over a session of their own.
    fn finding(&self) -> Option<Advice> {
        let Promise::Call(why) = self.door.promise else { return None };
        Some(Advice {
            finding: format!("The server was reached {}", why.describe()),
            next: "Compare these calls with others that went the same way, not with calls over a \
                   session of their own."
                .into(),
        })
    }

    fn intermediary(&self) -> Option<Intermediary> {
        match self.door.promise {
            Promise::Call(Why::Pooler) => Some(Intermediary::Pooler),
            Promise::Call(Why::Dropped) => Some(Intermediary::Unknown),
            Promise::Call(Why::Unreported) | Promise::Session => None,
        }
    }

    fn counting(&self, traffic: &Arc<Traffic>) -> Self {
        Self { door: self.door.counting(traffic), ..self.clone() }
    }

    async fn open(&self, asked: Asked<'_>, form: Form) -> Result<(Exchange, Opened), NotReady> {
        let (session, opened) = self.door.open().await.map_err(NotReady::Closed)?;
        match Exchange::of(session, asked, form, self.door.patience).await {
            Ok(exchange) => Ok((exchange, opened)),
            Err(Unprepared::Refused(error)) => Err(NotReady::Statement(error)),
            Err(Unprepared::Late(session)) => {
                self.door.abandon(*session).await;
                Err(NotReady::Late)
            }
        }
    }

    async fn abandon(&self, connection: Exchange) {
        self.door.abandon(connection.session).await;
    }

    fn explain(&self, asked: Asked<'_>, trouble: &NotReady) -> DbError {
        match trouble {
            NotReady::Closed(trouble) => self.door.explain(&self.login, trouble),
            NotReady::Statement(error) => DbError::Statement {
                statement: asked.statement.which.name(),
                complaint: format!("cannot be prepared: {}", whole(error)),
            },
            NotReady::Late => DbError::Statement {
                statement: asked.statement.which.name(),
                complaint: unprepared(self.door.patience),
            },
        }
    }

    async fn try_out(&self, asked: Asked<'_>, patience: Span) -> Result<Exchange, DbError> {
        trial::run(self, asked, patience).await
    }

    async fn explained(&self, connection: &mut Exchange, asked: Asked<'_>) -> Reading {
        let session = &connection.session;
        let reading = readings::explained(&session.client, asked.statement, asked.access);
        session.drive(reading).await
    }

    async fn counter(&self, asked: Asked<'_>, _: Form, patience: Span) -> Counters {
        let statement = self.statement_counter(asked, patience).await;
        let client = &self.onlooker.client;
        self.onlooker.drive(Counters::of(client, statement)).await
    }

    async fn readings(&self, counters: Counters) -> Vec<Reading> {
        let onlooker = &self.onlooker;
        onlooker.drive(counters.readings(&onlooker.client)).await
    }
}

impl Postgres {
    /// What the server has counted of the statement so far: it is asked once, so that it is known, and may
    /// take `patience`.
    async fn statement_counter(&self, asked: Asked<'_>, patience: Span) -> Counter {
        let absent = |reason: String| Counter::Absent(reason);
        if let Promise::Call(_) = self.door.promise {
            return absent("a message of several statements is not told apart by it".into());
        }
        let (session, _) = match self.door.open().await {
            Ok(opened) => opened,
            Err(trouble) => return absent(self.door.explain(&self.login, &trouble).to_string()),
        };
        let number = session.client.query_typed_one("SELECT pg_backend_pid()", &[]);
        let pid: i32 = match session.drive(number).await {
            Ok(row) => row.get(0),
            Err(error) => return absent(error.to_string()),
        };
        let exchange = Exchange::by_text(session, asked);
        // a statement that fails is seen in the load
        let answer = exchange.ask(asked.statement);
        if timeout(Duration::from_nanos(patience.ns()), answer).await.is_err() {
            self.door.abandon(exchange.session).await;
            return absent(unanswered(patience));
        }
        self.onlooker.drive(Counter::of(&self.onlooker.client, pid)).await
    }
}
