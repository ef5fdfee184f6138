//! What a load, and everything that is found out beside it, knows of a database: connections that are
//! opened, asked, and asked between two readings of the server's clock. A driver of a database implements
//! [`Database`] and [`Connection`]; nothing else knows which one it is.

use std::fmt;
use std::sync::Arc;

use plumb_db_login::Login;
use plumb_engine::Endpoint;
use plumb_measure::{Advice, Histogram, Intermediary, Reading, Recorder, Span, Transport};

use crate::DbError;
use crate::answer::{Answered, Failure, Limits};
use crate::looks::{Look, Seen};
use crate::statement::{Statement, Which};
use crate::stream::Traffic;
use plumb_serve::Arrivals;

/// What keeps statements from writing where the server does.
pub(crate) const READ_ONLY_SESSIONS: &str = "its sessions are read-only, by its own word";

/// What to do about a server that takes no more connections.
pub(crate) const TOO_MANY: &str = "make fewer connections (--pool, or --connections of a replay), or \
                                   raise max_connections";

/// Whether a statement may change data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// The server refuses whatever writes.
    ReadOnly,
    /// Every statement runs in a transaction of its own that may write and is rolled back.
    RolledBack,
}

/// How a statement goes over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Prepared once, where that is possible.
    Prepared,
    /// As text each time: what a call does that makes a connection of its own.
    Text,
    /// As text, another each time: statements of a log, each of which begins as statements do that only
    /// [ask](Statement::only_asks), unless they may write.
    Log,
}

/// What is asked over connections, and what the answer may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) statement: &'a Statement,
    pub(crate) access: Access,
    pub(crate) limits: Limits,
}

/// How long it took to open a connection, until the server would take a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    /// Until the transport's connection stood, nanoseconds; `None` where the driver does not tell.
    pub(crate) transport_ns: Option<u64>,
    /// The TLS handshake, nanoseconds; `None` without TLS.
    pub(crate) tls_ns: Option<u64>,
    /// The whole, nanoseconds.
    pub(crate) total_ns: u64,
}

impl Opened {
    /// Records what is known of the transport and of the handshake of TLS.
    pub(crate) fn times_into(&self, recorder: &mut Recorder) {
        self.transport_ns.iter().for_each(|ns| recorder.connect.record(*ns));
        self.tls_ns.iter().for_each(|ns| recorder.handshake.record(*ns));
    }

    /// What the log-on took behind the transport and TLS, nanoseconds.
    pub(crate) fn log_on_ns(&self) -> Option<u64> {
        let before_ns = self.transport_ns? + self.tls_ns.unwrap_or(0);
        Some(self.total_ns.saturating_sub(before_ns))
    }
}

/// How the parts of a call are measured, in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Methods {
    /// The server's part.
    pub(crate) server: &'static str,
    /// The way there and back.
    pub(crate) wire: &'static str,
    /// Making a connection.
    pub(crate) connect: &'static str,
}

/// What is known of the way that a connection goes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way<'a> {
    /// What it really uses.
    pub(crate) transport: Option<&'a Transport>,
    /// When bytes come over it; `None` where its driver has its socket to itself.
    pub(crate) arrivals: Option<&'a Arrivals>,
}

/// A connection, ready for the statement that it was opened for.
pub(crate) trait Connection: fmt::Debug {
    /// Why there is no answer.
    type NoAnswer: Failure;

    /// The way that it goes.
    fn way(&self) -> Way<'_>;

    /// False when it was to refuse what writes, and does not any more. Asks nothing.
    fn keeps_its_promise(&self) -> bool;

    /// False when something that it was to roll back has stayed, by the server's own word. Asks only a server
    /// that warned of the rollback.
    async fn rolls_back(&mut self) -> bool {
        true
    }

    /// Asks, and reads the whole answer.
    ///
    /// # Errors
    /// Why there is none.
    async fn ask(&mut self, statement: &Statement) -> Result<Answered, Self::NoAnswer>;

    /// Looks into a call, and carries it out. What is measured stands where the call would stand,
    /// over its connection and after the same pause, so that it is met by the same server, awake or
    /// asleep.
    ///
    /// # Errors
    /// Why there is no answer.
    async fn observe(&mut self, statement: &Statement, look: Look) -> Result<Seen, Self::NoAnswer> {
        match look {
            Look::Wire => self.there_and_back(statement).await,
            Look::Server => self.at_the_server(statement).await,
        }
    }

    /// Looks how long a message that asks for no work takes there and back.
    ///
    /// # Errors
    /// Why there is no answer.
    async fn there_and_back(&mut self, statement: &Statement) -> Result<Seen, Self::NoAnswer>;

    /// Looks how long the server is at work.
    ///
    /// # Errors
    /// Why there is no answer.
    async fn at_the_server(&mut self, statement: &Statement) -> Result<Seen, Self::NoAnswer>;
}

/// A server that was reached once, and can be reached again.
pub(crate) trait Database: Clone + fmt::Debug + Sync {
    /// A connection to it.
    type Connection: Connection;
    /// Why there is no connection, or none that is ready.
    type NotReady: Failure;
    /// What it counts of a statement by itself.
    type Counter;

    /// The driver as every output names it.
    const DRIVER: &'static str;
    /// Calls can be looked into.
    const LOOKS: bool = true;

    /// Reaches it for the first time: which server is it, and what keeps statements from writing?
    ///
    /// # Errors
    /// [`DbError`] when there is no connection.
    async fn reach(endpoint: &Endpoint, login: &Login, patience: Span) -> Result<Self, DbError>;

    /// How the times of [`Database::null_times`] are taken, in words.
    fn null_method() -> String {
        format!(
            "{}: SELECT 1 until its answer has come, against a server in the same thread that answers \
             with bytes that are ready; no other process",
            Self::DRIVER
        )
    }

    /// The times of so many calls of a server in this process that answers at once; `None` when that
    /// server was not understood.
    ///
    /// # Errors
    /// When sockets cannot be made.
    async fn null_times(calls: u64) -> Result<Option<Histogram>, DbError>;

    /// The server and its version, whether it is encrypted, and what keeps statements from writing.
    fn describe(&self) -> String;

    /// How the parts of its calls are measured.
    fn methods(&self) -> Methods;

    /// Round trips that a log-on takes at least, behind the transport's and without those of TLS.
    fn log_on_trips(&self) -> u32 {
        1
    }

    /// What keeps statements of a [log](Form::Log) from writing over its sessions, whichever they are; `None`
    /// when nothing does.
    fn keeps_logs(&self) -> Option<&'static str> {
        None
    }

    /// A statement of ours in this server's own language, where its product alone does not say what that is.
    fn in_its_language(&self, _: Which) -> Option<Statement> {
        None
    }

    /// What is peculiar about how it was reached.
    fn finding(&self) -> Option<Advice> {
        None
    }

    /// What it was reached through, where its own words tell that there is something.
    fn intermediary(&self) -> Option<Intermediary> {
        None
    }

    /// The same with a count of its own of what is carried.
    fn counting(&self, traffic: &Arc<Traffic>) -> Self;

    /// Opens a connection that is ready for what is asked.
    ///
    /// # Errors
    /// Why there is none.
    async fn open(
        &self,
        asked: Asked<'_>,
        form: Form,
    ) -> Result<(Self::Connection, Opened), Self::NotReady>;

    /// Gives up what a connection was asked, as far as the server hears of it, and the connection.
    async fn abandon(&self, connection: Self::Connection);

    /// Why there is no connection for what is asked, in words.
    fn explain(&self, asked: Asked<'_>, trouble: &Self::NotReady) -> DbError;

    /// Tries before anything is measured whether the statement can be measured, and may be: one that
    /// may not write first where the server would refuse that it does.
    ///
    /// # Errors
    /// [`DbError::Statement`] says what is wrong with the statement; the others, why there is no
    /// connection.
    async fn try_out(&self, asked: Asked<'_>, patience: Span) -> Result<Self::Connection, DbError>;

    /// What the server's own account of the plan says, of several executions over `connection`.
    /// It is asked for only where [the product tells](plumb_db_login::Product::explains).
    async fn explained(&self, _: &mut Self::Connection, _: Asked<'_>) -> Reading {
        untimed("the plan", "not told".into())
    }

    /// What the server has counted so far of what is asked in the form `form`. Where it is asked once, so
    /// that it is known, it may take `patience`.
    async fn counter(&self, asked: Asked<'_>, form: Form, patience: Span) -> Self::Counter;

    /// What it has counted since.
    async fn readings(&self, counter: Self::Counter) -> Vec<Reading>;
}

/// What a source says that tells no time: about something else, or why it says nothing.
pub(crate) fn untimed(source: &str, about: String) -> Reading {
    Reading { source: source.into(), mean_ns: None, count: 0, about }
}

/// A time that a server tells in milliseconds, nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time is not negative; a float is cast to the nearest integer in range"
)]
pub(crate) fn nanoseconds(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// Whether connections are encrypted, in words.
pub(crate) fn encryption(is_encrypted: bool) -> &'static str {
    if is_encrypted { "TLS" } else { "not encrypted" }
}
