//! What clients of protocols that are spoken here share: why there is no answer, and why a session could
//! not be opened; sockets, doors and floors.

mod door;
pub(crate) mod floor;
mod pipe;

use std::io;

use plumb_db_login::{Login, LoginError};
use plumb_engine::{Endpoint, EngineError};
use plumb_measure::{FailureKind, Span};

pub(crate) use door::{Door, LoggedOn, Reached};
pub(crate) use pipe::Pipe;
pub(crate) use plumb_sql::Refusal;

use crate::DbError;
use crate::answer::Failure;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The connection.
    Socket(io::Error),
    /// The server refuses.
    Refused(Refusal),
    /// What came is no message that was expected.
    Garbled,
    /// A message is longer than an answer may be.
    TooLong,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

impl Trouble {
    /// In one line; `product` is who should have answered.
    pub(crate) fn whole(&self, product: &str) -> String {
        match self {
            Self::Socket(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                "the server ended the connection".into()
            }
            Self::Socket(error) => error.to_string(),
            Self::Refused(refusal) => refusal.words(),
            Self::Garbled => format!("what came is no message of {product}"),
            Self::TooLong => "a message is longer than an answer may be".into(),
        }
    }

    /// The connection has come to its end.
    pub(crate) fn ended() -> Self {
        Self::Socket(io::ErrorKind::UnexpectedEof.into())
    }

    /// There is no connection to send anything over.
    pub(crate) fn gone() -> Self {
        Self::Socket(io::ErrorKind::NotConnected.into())
    }
}

impl Failure for Trouble {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Refused(refusal) if refusal.is_fatal => FailureKind::Closed,
            Self::Refused(_) => FailureKind::Refused,
            Self::Socket(error) => match error.kind() {
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => FailureKind::Reset,
                io::ErrorKind::UnexpectedEof => FailureKind::Closed,
                _ => FailureKind::Garbled,
            },
            Self::Garbled | Self::TooLong => FailureKind::Garbled,
        }
    }

    fn reason(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => Some(format!("error {}", refusal.number)),
            Self::TooLong => Some("the answer is longer than it may be".into()),
            Self::Socket(_) | Self::Garbled => None,
        }
    }

    fn words(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => Some(refusal.words()),
            Self::TooLong | Self::Socket(_) | Self::Garbled => None,
        }
    }
}

/// Why a session could not be opened.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// The transport.
    Socket(io::Error),
    /// The handshake of TLS.
    Tls(io::Error),
    /// TLS is asked for, and the server does not offer it.
    NoTls,
    /// The password would go where others can read it.
    Readable,
    /// The server wants a proof that cannot be given: what, and what to do.
    Method(String),
    /// There is no password.
    NoPassword,
    /// The server does not prove that it knows the password.
    Unproven,
    /// The log-on.
    LogOn(Trouble),
    /// It took longer than `limit`; the transport stood by then or did not.
    TimedOut { stood: bool, limit: Span },
}

impl From<Trouble> for NotOpened {
    fn from(trouble: Trouble) -> Self {
        Self::LogOn(trouble)
    }
}

impl Failure for NotOpened {
    fn kind(&self) -> FailureKind {
        match self {
            Self::TimedOut { .. } => FailureKind::ConnectTimedOut,
            Self::Socket(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                FailureKind::ConnectRefused
            }
            Self::Tls(_) | Self::NoTls => FailureKind::HandshakeFailed,
            Self::Socket(_)
            | Self::Readable
            | Self::Method(_)
            | Self::NoPassword
            | Self::Unproven
            | Self::LogOn(_) => FailureKind::ConnectFailed,
        }
    }
}

/// What to do about sessions that are not opened, for one kind of server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remedies {
    /// The server, as messages name it.
    pub(crate) product: &'static str,
    /// About a handshake that failed.
    pub(crate) tls: &'static str,
    /// About a server that does not offer TLS.
    pub(crate) no_tls: &'static str,
    /// About a log-on that the server refuses with this error.
    pub(crate) log_on: fn(i32) -> &'static str,
    /// About whatever is no such server.
    pub(crate) another: &'static str,
}

impl Remedies {
    /// Those for a product whose URLs have `encrypt`.
    pub(crate) const fn of_encrypt(
        product: &'static str,
        tls: &'static str,
        log_on: fn(i32) -> &'static str,
    ) -> Self {
        Self {
            product,
            tls,
            no_tls: "leave encrypt out to measure without it where the server is on this machine",
            log_on,
            another: "is there such a server behind that port?",
        }
    }

    /// Why `server` opens no session for `login`, in words.
    pub(crate) fn explain(&self, trouble: &NotOpened, server: &str, login: &Login) -> DbError {
        let no_tls = |cause: String, remedy| {
            DbError::from(LoginError::Tls { server: server.into(), cause, remedy })
        };
        let refused = |cause, remedy| DbError::Login { server: server.into(), cause, remedy };
        match trouble {
            NotOpened::Socket(error) => EngineError::connect(server.to_owned(), error).into(),
            NotOpened::TimedOut { stood, limit } => {
                EngineError::log_on_within(server.to_owned(), *stood, *limit).into()
            }
            NotOpened::Tls(error) => no_tls(error.to_string(), self.tls),
            NotOpened::NoTls => no_tls("the server does not offer TLS".into(), self.no_tls),
            NotOpened::Readable => refused(
                "a password goes over an encrypted connection only, and the server offers none"
                    .into(),
                "have it offer TLS, or measure on its own machine",
            ),
            NotOpened::NoPassword => DbError::NoPassword {
                server: server.into(),
                user: login.user.clone(),
                remedy: login.product.keeps_passwords(),
                ignored: (login.ignored.as_ref())
                    .map_or_else(String::new, |reason| format!("; {reason}")),
            },
            NotOpened::Method(cause) => refused(cause.clone(), "or measure as another user"),
            NotOpened::Unproven => refused(
                "it does not prove that it knows the password of this user".into(),
                "is it the server that was meant?",
            ),
            NotOpened::LogOn(trouble @ Trouble::Refused(refusal)) => {
                refused(trouble.whole(self.product), (self.log_on)(refusal.number))
            }
            NotOpened::LogOn(trouble) => refused(trouble.whole(self.product), self.another),
        }
    }
}

/// True when nobody else can read what goes to `endpoint`.
pub(crate) fn is_near(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Tcp(address) | Endpoint::Smc(address) | Endpoint::Udp(address) => {
            address.ip().is_loopback()
        }
        Endpoint::Unix(_) | Endpoint::Own => true,
    }
}
