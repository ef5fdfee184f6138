//! Why a target and what this machine knows of it make no login. No message carries a password.

use std::path::PathBuf;

use plumb_engine::EngineError;

/// Why there is no login, or no encrypted connection. Each message says what to try.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// An address or TLS of the engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The text is no target.
    #[error(
        "this is no target: {complaint}; write postgres://[USER@]HOST[:PORT][/DATABASE], mysql:// for MariaDB and MySQL, mssql:// for SQL Server, hana:// for SAP HANA, or odbc:DATA-SOURCE"
    )]
    Url {
        /// What was expected where.
        complaint: String,
    },
    /// The program was built without drivers of ODBC.
    #[error(
        "this program was built without ODBC, whose drivers a static program cannot load: build one with \
         cargo build --release -p plumb --features odbc"
    )]
    NoOdbc,
    /// A password stands where others can read it.
    #[error(
        "a password in the URL can be read by everybody on this machine: leave it out and {remedy}"
    )]
    PasswordInUrl {
        /// Where to keep it instead.
        remedy: &'static str,
    },
    /// A file that was named cannot be used.
    #[error("{}: {complaint}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, and what to do.
        complaint: String,
    },
    /// The encrypted connection could not be made.
    #[error("no encrypted connection to {server}: {cause}; {remedy}")]
    Tls {
        /// Host and port.
        server: String,
        /// What happened.
        cause: String,
        /// What to try.
        remedy: &'static str,
    },
    /// Whoever started this process has not allowed it.
    #[error(transparent)]
    Unbound(#[from] std::io::Error),
    /// The options of the transport contradict the target.
    #[error("{0}")]
    Transport(&'static str),
}
