//! Why there is no record.

use std::io;

use plumb_measure::{FailureKind, Span};
use plumb_netlink::smc;

use crate::interrupted::Interrupted;
use crate::tls_error::TlsError;

/// Why a load could not begin, or a server could not serve. Each message names the place, the
/// cause and what to try.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is no address.
    #[error("`{text}` is not an address: expected {expected}")]
    Address {
        /// As given.
        text: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The host has no usable address.
    #[error("cannot find host `{host}`: {cause}; check the name, or give the address as a number")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        cause: String,
    },
    /// The first connections could not be made.
    #[error("cannot connect to {address}: {cause}; {remedy}")]
    Connect {
        /// Where to.
        address: String,
        /// What happened.
        cause: String,
        /// What to try.
        remedy: &'static str,
        /// The same as data.
        kind: FailureKind,
    },
    /// Whoever starts the load from outside gave it up.
    #[error("the load was not started: {cause}; start it again")]
    NotStarted {
        /// Why.
        cause: String,
    },
    /// The other side was reached but does not answer as the protocol demands.
    #[error("{address} {complaint}")]
    Greeting {
        /// Who.
        address: String,
        /// What the protocol says of it, with what to try.
        complaint: String,
        /// The same as data.
        kind: FailureKind,
    },
    /// The server cannot listen there.
    #[error("cannot listen on {address}: {cause}; {remedy}")]
    Listen {
        /// Where.
        address: String,
        /// What the kernel said.
        cause: String,
        /// What to try.
        remedy: &'static str,
    },
    /// Certificates, keys or names do not serve.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Options contradict each other or ask for the impossible.
    #[error("{0}")]
    Plan(String),
    /// Somebody asked to stop before the other side had answered.
    #[error("{0}")]
    Interrupted(#[from] Interrupted),
    /// The kernel refused a service that every run needs.
    #[error("cannot {what}: {cause}{}", remedy_of(cause))]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
}

impl Error {
    /// What a call of the system that failed was to do.
    pub fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::System { what, cause }
    }

    /// The error of a connection that could not be made.
    #[must_use]
    pub fn connect(address: String, error: &io::Error) -> Self {
        let kind = connect_failure(error);
        let remedy = match kind {
            _ if smc::is_missing(error) => smc::REMEDY,
            _ if out_of_descriptors(error) => {
                "raise the limit of open files (ulimit -n), or use fewer --connections"
            }
            FailureKind::ConnectRefused => "is the server started, and is the port right?",
            _ if error.kind() == io::ErrorKind::NotFound => {
                "is the server started, and is the path right?"
            }
            FailureKind::ConnectTimedOut => "is a firewall in between, and is the address right?",
            _ => "check the address and the route to it",
        };
        Self::Connect { address, cause: plain(error), remedy, kind }
    }

    /// The error of a connection that could not be made within `limit`.
    #[must_use]
    pub fn connect_within(address: String, error: &io::Error, limit: Span) -> Self {
        let mut failure = Self::connect(address, error);
        if let Self::Connect { cause, kind: FailureKind::ConnectTimedOut, .. } = &mut failure {
            *cause = format!("no answer within {limit}");
        }
        failure
    }

    /// The error of a log-on that was not done within `limit`, whose connection stood by then or did not.
    #[must_use]
    pub fn log_on_within(address: String, stood: bool, limit: Span) -> Self {
        let kind = FailureKind::ConnectTimedOut;
        if !stood {
            return Self::connect_within(address, &io::ErrorKind::TimedOut.into(), limit);
        }
        let complaint = format!(
            "accepted the connection, but the log-on was not done within {limit}; is the server stopped or \
             busy, or a pooler without a free place, and is the port right?"
        );
        Self::Greeting { address, complaint, kind }
    }

    /// The error of several addresses of which none takes a connection: each with its cause, and
    /// what to try about the last.
    pub(crate) fn none_connects(failures: Vec<Self>) -> Self {
        let mut causes = Vec::new();
        let mut last = None;
        for failure in failures {
            if let Self::Connect { address, cause, remedy, kind } = failure {
                causes.push((address, cause));
                last = Some((remedy, kind));
            }
        }
        let (Some((remedy, kind)), Some((address, cause))) = (last, causes.first()) else {
            return Self::Plan("no address to connect to".into());
        };
        let others = causes[1..].iter().map(|(other, cause)| format!(", and to {other}: {cause}"));
        let cause = others.fold(cause.clone(), |all, other| all + &other);
        Self::Connect { address: address.clone(), cause, remedy, kind }
    }

    /// The error of a listener that could not be made.
    #[must_use]
    pub fn listen(address: String, error: &io::Error) -> Self {
        let remedy = match error.kind() {
            _ if smc::is_missing(error) => smc::REMEDY,
            io::ErrorKind::AddrInUse => "another server is there: choose another port, or port 0",
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need privileges, a socket file needs a writable folder: \
                 choose another"
            }
            io::ErrorKind::AddrNotAvailable => "this machine does not have that address",
            _ => "choose another address",
        };
        Self::Listen { address, cause: plain(error), remedy }
    }
}

fn out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// What to try about an error of the system that is known.
fn remedy_of(error: &io::Error) -> &'static str {
    match out_of_descriptors(error) {
        true => {
            "; raise the limit of open files (ulimit -n 1024, or more), or take fewer connections"
        }
        false => "",
    }
}

/// The message of the kernel without the number that std adds.
fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".into(),
        io::ErrorKind::TimedOut => "timed out".into(),
        io::ErrorKind::NotFound => "no such socket file".into(),
        _ => {
            let text = error.to_string();
            match text.find(" (os error") {
                Some(end) => text[..end].to_owned(),
                None => text,
            }
        }
    }
}

/// The kind of failure that an error of `connect` is.
#[must_use]
pub fn connect_failure(error: &io::Error) -> FailureKind {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => FailureKind::ConnectRefused,
        io::ErrorKind::TimedOut => FailureKind::ConnectTimedOut,
        _ => FailureKind::ConnectFailed,
    }
}
