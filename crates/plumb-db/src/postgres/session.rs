//! Connections to the server: how they are made, how long that takes, and why it fails.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use plumb_db_login::{Login, LoginError, SslMode, Tls};
use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Endpoint, EngineError};
use plumb_measure::{Clock as _, FailureKind, Span, Transport};
use tokio::sync::Mutex;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::{Client, Config};

use crate::DbError;
use crate::database::{Opened, TOO_MANY};
use crate::stream::{Traffic, Wire};
use plumb_serve::Arrivals;

use super::conversation::Conversation;
use super::promise::Promise;
use super::tls::mode_of;

/// What sessions are asked to be when they begin, and what the server reports of them.
const READ_ONLY: &str = "default_transaction_read_only";

/// Everything it takes to open a session.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) endpoint: Endpoint,
    /// The server as messages name it.
    pub(crate) server: String,
    /// Who keeps the statements of its sessions from writing.
    pub(crate) promise: Promise,
    config: Config,
    tls: Tls,
    traffic: Arc<Traffic>,
    /// A session must be open within this.
    pub(crate) patience: Span,
}

/// A session, ready for statements: what is asked through the client must be driven.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(super) conversation: Mutex<Conversation>,
    /// When what was asked is answered.
    pub(crate) arrivals: Arc<Arrivals>,
    /// Who keeps its statements from writing.
    pub(crate) promise: Promise,
    /// What it really uses.
    pub(crate) transport: Option<Transport>,
    pub(crate) encrypted: bool,
    /// Version of the server, as it says.
    pub(crate) version: String,
}

impl Session {
    /// Carries out `work`, which asks through the client.
    pub(crate) async fn drive<T>(&self, work: impl Future<Output = T>) -> T {
        self.conversation.lock().await.drive(work).await
    }

    /// Whether its transactions are read-only unless they say otherwise, as the server last reported;
    /// `None` when it does not report that. Nothing is asked: the server reports each change with the
    /// answer to the statement that made it.
    pub(crate) fn reports_read_only(&self) -> Option<bool> {
        let conversation = self.conversation.try_lock().ok()?; // nobody asks meanwhile
        conversation.parameter(READ_ONLY).map(|value| value == "on")
    }

    /// False when it was read-only and is not any more.
    pub(crate) fn keeps_its_promise(&self) -> bool {
        match self.promise {
            Promise::Session => self.reports_read_only() != Some(false),
            Promise::Call(_) => true,
        }
    }
}

/// Why a session could not be opened.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// The transport.
    Socket(io::Error),
    /// TLS or the login.
    Driver(tokio_postgres::Error),
    /// It took too long; the transport stood by then or did not.
    TimedOut { stood: bool },
    /// It was to be read-only, and the server reports that it is not.
    Writable,
}

impl Door {
    /// The door to `endpoint` for `login`, whose sessions keep `promise`; one must be open within
    /// `patience`.
    ///
    /// # Errors
    /// [`DbError`] when certificates cannot be used.
    pub(crate) fn new(
        endpoint: Endpoint,
        login: &Login,
        promise: Promise,
        patience: Span,
    ) -> Result<Self, DbError> {
        let mut config = Config::new();
        config
            .user(&login.user)
            .dbname(&login.database)
            .application_name(&login.application)
            .ssl_mode(mode_of(match endpoint {
                Endpoint::Tcp(_) | Endpoint::Smc(_) | Endpoint::Udp(_) => login.ssl,
                Endpoint::Unix(_) | Endpoint::Own => SslMode::Disable,
            }));
        if let Some(password) = &login.password {
            config.password(password.reveal());
        }
        if promise == Promise::Session {
            config.options(format!("-c {READ_ONLY}=on"));
        }
        Ok(Self {
            endpoint,
            server: login.server(),
            promise,
            config,
            tls: Tls::of(login)?,
            traffic: Arc::default(),
            patience,
        })
    }

    /// True when every log-on begins with the question whether the server would have TLS.
    pub(crate) fn asks_for_tls(&self) -> bool {
        self.config.get_ssl_mode() != mode_of(SslMode::Disable)
    }

    /// The same with a count of its own of what is carried.
    pub(crate) fn counting(&self, traffic: &Arc<Traffic>) -> Self {
        Self { traffic: Arc::clone(traffic), ..self.clone() }
    }

    /// Opens a session that keeps the promise.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub(crate) async fn open(&self) -> Result<(Session, Opened), NotOpened> {
        let (session, opened) = self.enter().await?;
        let is_doubtful =
            self.promise == Promise::Session && session.reports_read_only() != Some(true);
        if is_doubtful { Err(NotOpened::Writable) } else { Ok((session, opened)) }
    }

    /// Opens a session, whatever the server reports of it.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub(crate) async fn enter(&self) -> Result<(Session, Opened), NotOpened> {
        // behind a pointer: all that waits for a session would be compiled around it
        let mut stood = false;
        let login: BoxFuture<'_, Result<(Session, Opened), NotOpened>> =
            Box::pin(self.login(&mut stood));
        let opening = tokio::time::timeout(Duration::from_nanos(self.patience.ns()), login);
        opening.await.map_err(|_| NotOpened::TimedOut { stood })?
    }

    async fn login(&self, stood: &mut bool) -> Result<(Session, Opened), NotOpened> {
        let began_ns = MonotonicClock.now_ns();
        let wire = Wire::connect(&self.endpoint, Arc::clone(&self.traffic))
            .await
            .map_err(NotOpened::Socket)?;
        *stood = true;
        let connected_ns = MonotonicClock.now_ns();
        let transport = wire.transport().ok(); // who is gone already says so at the login
        let (tls, arrivals) = (self.tls.for_one(), wire.arrivals());
        let (client, connection) =
            self.config.connect_raw(wire, tls.clone()).await.map_err(NotOpened::Driver)?;
        let transport = transport.map(|it| Transport { tls: tls.proof(), ..it });
        transport.iter().for_each(|it| self.traffic.stands(it));
        let opened = Opened {
            transport_ns: Some(connected_ns.saturating_sub(began_ns)),
            tls_ns: tls.taken_ns(),
            total_ns: MonotonicClock.now_ns().saturating_sub(began_ns),
        };
        let version = connection.parameter("server_version").unwrap_or("unknown").to_owned();
        let conversation = Mutex::new(Conversation::of(connection, Arc::clone(&arrivals)));
        let encrypted = opened.tls_ns.is_some();
        let promise = self.promise;
        let session =
            Session { client, conversation, arrivals, promise, transport, encrypted, version };
        Ok((session, opened))
    }

    /// Tells the server to give up what `session` asked for, and ends the session.
    pub(crate) async fn abandon(&self, session: Session) {
        let token = session.client.cancel_token();
        session.conversation.lock().await.cut();
        let cancelling = async {
            let wire = Wire::connect(&self.endpoint, Arc::default()).await.ok()?;
            token.cancel_query_raw(wire, self.tls.for_one()).await.ok()
        };
        // best effort: a server that does not hear it is in worse trouble already
        let _ = tokio::time::timeout(Duration::from_nanos(self.patience.ns()), cancelling).await;
    }

    /// Why there is no session, in words.
    pub(crate) fn explain(&self, login: &Login, trouble: &NotOpened) -> DbError {
        let server = self.server.clone();
        match trouble {
            NotOpened::Socket(error) => EngineError::connect(server, error).into(),
            NotOpened::TimedOut { stood } => {
                EngineError::log_on_within(server, *stood, self.patience).into()
            }
            NotOpened::Writable => DbError::Writable { server },
            NotOpened::Driver(error) => match error.as_db_error() {
                Some(said) => DbError::Login {
                    server,
                    cause: said.message().to_owned(),
                    remedy: remedy(said),
                },
                None if login.password.is_none() && whole(error).contains("password missing") => {
                    DbError::NoPassword {
                        server,
                        remedy: login.product.keeps_passwords(),
                        user: login.user.clone(),
                        ignored: login
                            .ignored
                            .as_ref()
                            .map_or_else(String::new, |reason| format!("; {reason}")),
                    }
                }
                None if is_tls(error) => DbError::from(LoginError::Tls {
                    server,
                    cause: refusal_of_certificate(whole(error)),
                    remedy: "check the certificate of the server and sslmode, sslrootcert",
                }),
                None => DbError::Login {
                    server,
                    cause: whole(error),
                    remedy: "is there a PostgreSQL server behind that port?",
                },
            },
        }
    }
}

impl NotOpened {
    /// The same as data.
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            Self::TimedOut { .. } => FailureKind::ConnectTimedOut,
            Self::Socket(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                FailureKind::ConnectRefused
            }
            Self::Driver(error) if is_tls(error) => FailureKind::HandshakeFailed,
            Self::Socket(_) | Self::Driver(_) | Self::Writable => FailureKind::ConnectFailed,
        }
    }
}

/// The kind of failure that an error of the driver is.
pub(crate) fn failure(error: &tokio_postgres::Error) -> FailureKind {
    if let Some(said) = error.as_db_error() {
        return if ends_session(said) { FailureKind::Closed } else { FailureKind::Refused };
    }
    let mut cause = error.source();
    while let Some(deeper) = cause {
        if let Some(io) = deeper.downcast_ref::<io::Error>() {
            return match io.kind() {
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => FailureKind::Reset,
                io::ErrorKind::UnexpectedEof => FailureKind::Closed,
                _ => FailureKind::Garbled,
            };
        }
        cause = deeper.source();
    }
    if error.is_closed() { FailureKind::Closed } else { FailureKind::Garbled }
}

/// True when the server, or a pooler, says that it ends the session.
///
/// # Source
/// PostgreSQL's documentation, "Message Severity Levels". A pooler writes the severity as servers before
/// version 9.6 do, in one field alone.
fn ends_session(said: &tokio_postgres::error::DbError) -> bool {
    match said.parsed_severity() {
        Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
        None => ["FATAL", "PANIC"].contains(&said.severity()),
    }
}

fn remedy(said: &tokio_postgres::error::DbError) -> &'static str {
    match *said.code() {
        SqlState::INVALID_PASSWORD => {
            "check user and password: PGPASSWORD and ~/.pgpass are where it is looked for"
        }
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "check the user, sslmode, and pg_hba.conf of the server"
        }
        SqlState::INVALID_CATALOG_NAME => "check the name behind the last / (psql -l lists them)",
        SqlState::TOO_MANY_CONNECTIONS => too_many(said.routine(), said.message()),
        SqlState::CANNOT_CONNECT_NOW => "the server starts or stops: try again",
        _ => "see the log of the server",
    }
}

/// What to do about a server that takes no more connections: of a role, of a database, or at all. The
/// message is in the language of the server, the `routine` that found it is not.
fn too_many(routine: Option<&str>, message: &str) -> &'static str {
    let is_of = |of: &str, whose: &str| routine == Some(of) || message.contains(whose);
    if is_of("InitializeSessionUserId", "for role") {
        "make fewer connections (--pool, or --connections of a replay), or raise the role's limit: \
         ALTER ROLE ... CONNECTION LIMIT"
    } else if is_of("CheckMyDatabase", "for database") {
        "make fewer connections (--pool, or --connections of a replay), or raise the database's limit: \
         ALTER DATABASE ... CONNECTION LIMIT"
    } else {
        TOO_MANY
    }
}

fn is_tls(error: &tokio_postgres::Error) -> bool {
    error.to_string().contains("TLS")
}

/// Why a certificate is not taken, in words where the library has none.
fn refusal_of_certificate(cause: String) -> String {
    if cause.contains("CaUsedAsEndEntity") {
        "the server's certificate is its own authority, and sslrootcert does not hold it".into()
    } else if cause.contains("InvalidPurpose") {
        "the server's certificate is not for servers (its key usage says so)".into()
    } else {
        cause
    }
}

/// An error with everything behind it, in one line.
pub(crate) fn whole(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().replace('\n', " ");
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let said = deeper.to_string();
        if !text.contains(&said) {
            text += &format!(": {said}");
        }
        cause = deeper.source();
    }
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_are_too_many_name_the_limit_that_was_reached() {
        let role = "ALTER ROLE ... CONNECTION LIMIT";
        assert!(too_many(None, "too many connections for role \"erp\"").ends_with(role));
        let said = "zu viele Verbindungen für Rolle »erp«";
        assert!(too_many(Some("InitializeSessionUserId"), said).ends_with(role));
        let database = too_many(None, "too many connections for database \"erp\"");
        assert!(database.ends_with("ALTER DATABASE ... CONNECTION LIMIT"));
        assert_eq!(too_many(Some("InitProcess"), "sorry, too many clients already"), TOO_MANY);
    }
}
