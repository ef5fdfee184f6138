//! MariaDB and MySQL, whose protocol is spoken here.
//!
//! | module | question |
//! |---|---|
//! | `channel`, `session` | how is a connection made, and what does it carry? |
//! | `answers` | what is asked, and what do answers say of the session? |
//! | `exchange` | what does a call ask, and what does one tell that is looked into? |
//! | `trial`, `readings`, `floor` | what is found out beside the load? |

mod answers;
mod channel;
mod exchange;
mod floor;
mod readings;
mod session;
#[cfg(test)]
mod tests;
mod trial;

use std::sync::Arc;
use std::time::Duration;

use plumb_db_login::{Login, SslMode};
use plumb_engine::Endpoint;
use plumb_measure::{Advice, FailureKind, Histogram, Intermediary, Reading, Span};
use tokio::time::timeout;

use crate::DbError;
use crate::answer::{Failure, Limits};
use crate::client::{Door, NotOpened, Trouble};
use crate::database::{Asked, Database, Form, Methods, Opened, READ_ONLY_SESSIONS, encryption};
use crate::stream::Traffic;
use crate::trial::{refused_for_writing, unprepared};

use exchange::Exchange;
use readings::Counters;
use session::Session;

/// The servers, as messages name them.
const PRODUCT: &str = "MariaDB or MySQL";
/// How the parts are measured.
const METHODS: Methods = Methods {
    server: "between two readings of the server's clock, sent at once with the statement in between, \
        less two readings with a message in between that asks for no work (COM_PING)",
    wire: "a message that asks for no work (COM_PING), there and back in the place of a call",
    connect: "making the connection of the call, and one way there and back that makes its session \
        read-only",
};
/// Of what is asked beside a load.
const BESIDE: Limits = Limits { rows: 10_000, bytes: 1 << 20 };

/// What keeps statements from writing, by the server's own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// The session: it was asked to be read-only, the server reports that it is, and would report if
    /// that changed.
    Session,
    /// Nothing.
    None(Why),
}

/// Why a session cannot promise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// Another connection answers than the one that the log-on was for.
    Pooler,
    /// The server does not report whether its sessions are read-only.
    Unreported,
}

impl Why {
    fn describe(self) -> &'static str {
        match self {
            Self::Pooler => "a pooler lends connections of its own",
            Self::Unreported => {
                "the server does not report whether its sessions are read-only (versions before \
                 MariaDB 10.2 and MySQL 5.7)"
            }
        }
    }
}

/// A server of MariaDB or MySQL.
#[derive(Clone, Debug)]
pub(crate) struct Mysql {
    door: Door,
    promise: Promise,
    encrypted: bool,
    /// As it says.
    version: Arc<str>,
}

/// Why a connection is not ready.
#[derive(Debug)]
pub(crate) enum NotReady {
    /// There is none.
    Closed(NotOpened),
    /// It was to be read-only, and the server reports that it is not.
    Writable,
    /// The statement cannot be prepared.
    Statement(Trouble),
    /// The statement is not prepared in time.
    Late,
}

impl Failure for NotReady {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Closed(trouble) => trouble.kind(),
            Self::Writable => FailureKind::ConnectFailed,
            Self::Statement(trouble) => trouble.kind(),
            Self::Late => FailureKind::ConnectTimedOut,
        }
    }
}

impl Mysql {
    async fn session(&self) -> Result<(Session, Opened), NotReady> {
        let (session, opened) = self.door.open::<Session>().await.map_err(NotReady::Closed)?;
        if self.promise == Promise::Session && session.reports_read_only != Some(true) {
            return Err(NotReady::Writable);
        }
        Ok((session, opened))
    }

    /// The product by its own name, without what MariaDB writes before its version for old clients.
    fn name(&self) -> String {
        let version = self.version.strip_prefix("5.5.5-").unwrap_or(&self.version);
        let product = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
        format!("{product} {version}")
    }
}

/// Why `session` cannot promise not to write; `None` when it can.
async fn doubt(session: &mut Session) -> Result<Option<Why>, Trouble> {
    let answer = session.rows_of("SELECT CONNECTION_ID()", BESIDE).await;
    let answering = match answer {
        Ok(rows) => rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok()),
        Err(exchange::NoAnswer::Driver(trouble)) => return Err(trouble),
        Err(_) => return Err(Trouble::Garbled),
    };
    Ok(if answering != Some(session.id) {
        Some(Why::Pooler)
    } else if session.reports_read_only != Some(true) {
        Some(Why::Unreported)
    } else {
        None
    })
}

/// What the sessions behind `door` promise, of which `session` is the first.
async fn promise(door: &Door, session: &mut Session) -> Result<Promise, DbError> {
    let gone = |cause: String| DbError::Gone { server: door.server.clone(), cause };
    let patience = door.patience;
    let doubt =
        timeout(Duration::from_nanos(patience.ns()), doubt(session)).await.map_err(|_| {
            gone(format!("no answer within {patience}; are all connections of a pooler taken?"))
        })?;
    Ok(match doubt.map_err(|trouble| gone(trouble.whole(PRODUCT)))? {
        None => Promise::Session,
        Some(why) => Promise::None(why),
    })
}

impl Database for Mysql {
    type Connection = Exchange;
    type NotReady = NotReady;
    type Counter = Counters;

    const DRIVER: &'static str =
        "plumb's own client of MySQL's protocol on a tokio runtime of one thread";

    async fn reach(endpoint: &Endpoint, login: &Login, patience: Span) -> Result<Self, DbError> {
        let mut login = login.clone();
        if let Endpoint::Unix(_) | Endpoint::Own = endpoint {
            login.ssl = SslMode::Disable;
        }
        let (door, mut session) = Door::reach::<Session>(endpoint, &login, patience).await?;
        let promise = promise(&door, &mut session).await?;
        let (encrypted, version) = (session.known.encrypted, session.known.version.as_str().into());
        Ok(Self { door, promise, encrypted, version })
    }

    async fn null_times(calls: u64) -> Result<Option<Histogram>, DbError> {
        floor::measure(calls).await
    }

    fn describe(&self) -> String {
        let encrypted = encryption(self.encrypted);
        let server = format!("{}, {encrypted}", self.name());
        match self.promise {
            Promise::Session => server,
            Promise::None(why) => {
                format!("{server}; nothing keeps statements from writing: {}", why.describe())
            }
        }
    }

    fn methods(&self) -> Methods {
        METHODS
    }

    fn keeps_logs(&self) -> Option<&'static str> {
        (self.promise == Promise::Session).then_some(READ_ONLY_SESSIONS)
    }

    fn finding(&self) -> Option<Advice> {
        (self.promise == Promise::None(Why::Pooler)).then(|| Advice {
            finding: "The server was reached through a pooler".into(),
            next: "What the pooler does, and waiting for one of its connections, is in the wire."
                .into(),
        })
    }

    fn intermediary(&self) -> Option<Intermediary> {
        (self.promise == Promise::None(Why::Pooler)).then_some(Intermediary::Pooler)
    }

    fn counting(&self, traffic: &Arc<Traffic>) -> Self {
        Self { door: self.door.counting(traffic), ..self.clone() }
    }

    async fn open(&self, asked: Asked<'_>, form: Form) -> Result<(Exchange, Opened), NotReady> {
        let (session, opened) = self.session().await?;
        let exchange = match form {
            Form::Text | Form::Log => Exchange::by_text(session, asked),
            Form::Prepared => {
                let (id, limit) = (session.id, Duration::from_nanos(self.door.patience.ns()));
                match timeout(limit, Exchange::prepared(session, asked)).await {
                    Ok(prepared) => prepared.map_err(NotReady::Statement)?,
                    Err(_) => {
                        session::end(&self.door, id).await; // it waits for a lock
                        return Err(NotReady::Late);
                    }
                }
            }
        };
        Ok((exchange, opened))
    }

    async fn abandon(&self, connection: Exchange) {
        session::abandon(&self.door, connection.session).await;
    }

    fn explain(&self, asked: Asked<'_>, trouble: &NotReady) -> DbError {
        match trouble {
            NotReady::Closed(trouble) => self.door.explain::<Session>(trouble),
            NotReady::Writable => DbError::Writable { server: self.door.server.clone() },
            NotReady::Statement(trouble) => DbError::Statement {
                statement: asked.statement.which.name(),
                complaint: match trouble {
                    Trouble::Refused(it) if it.number == exchange::WRITES => {
                        refused_for_writing(&it.message)
                    }
                    trouble => format!("cannot be prepared: {}", trouble.whole(PRODUCT)),
                },
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
        readings::explained(connection, asked).await
    }

    async fn counter(&self, asked: Asked<'_>, form: Form, patience: Span) -> Counters {
        Counters::of(self, asked, form, patience).await
    }

    async fn readings(&self, counters: Counters) -> Vec<Reading> {
        counters.readings(self).await
    }
}
