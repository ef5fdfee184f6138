//! Why the database layer did not run. No message carries a password.

use std::io;
use std::path::PathBuf;

use plumb_db_login::LoginError;
use plumb_engine::EngineError;
use plumb_sql_log::UnreadableLog;

/// Why there is no measurement. Each message says what to try.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The engine could not begin.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The target makes no login, or nothing encrypts the way to it.
    #[error(transparent)]
    Target(#[from] LoginError),
    /// A log of statements cannot be read.
    #[error(transparent)]
    Log(#[from] UnreadableLog),
    /// A file that was named cannot be used.
    #[error("{}: {complaint}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, and what to do.
        complaint: String,
    },
    /// The server asks for a password and there is none.
    #[error("{server} asks for a password of user `{user}`, and there is none: {remedy}{ignored}")]
    NoPassword {
        /// Host and port.
        server: String,
        /// User.
        user: String,
        /// Where to keep it.
        remedy: &'static str,
        /// Why the password file did not help; empty when there is nothing to say.
        ignored: String,
    },
    /// The server was reached and let nobody in.
    #[error("{server} refuses the connection: {cause}; {remedy}")]
    Login {
        /// Host and port.
        server: String,
        /// What the server said.
        cause: String,
        /// What to try.
        remedy: &'static str,
    },
    /// The statement cannot be measured.
    #[error("the {statement} statement {complaint}")]
    Statement {
        /// Which of the statements.
        statement: &'static str,
        /// What is wrong with it, and what to do.
        complaint: String,
    },
    /// What a statement changed stays, although it was rolled back.
    #[error(
        "{statement} changes what is not rolled back, by the server's own word (warning 1196): a table whose \
         engine has no transactions, such as MyISAM or Aria. What it did stays (in a temporary table: until its \
         session ends), and it is not asked again: try it where nothing can be lost, or with tables of an engine \
         that has them (InnoDB)"
    )]
    Stays {
        /// Which statement.
        statement: String,
    },
    /// No transaction of the server is read-only.
    #[error(
        "{server} says that BEGIN READ ONLY begins a transaction that may write, so nothing keeps a \
         statement from writing: --ask own --allow-writes rolls each call back"
    )]
    NeverReadOnly {
        /// Host and port.
        server: String,
    },
    /// A session that was to be read-only is not, although the one before was.
    #[error(
        "{server} opened a session that may write where the one before was read-only: name one server \
         and no group of several, or measure as a user that may only read"
    )]
    Writable {
        /// Host and port.
        server: String,
    },
    /// The server went away before there was anything to record.
    #[error("{server} ended the conversation before the first measurement: {cause}")]
    Gone {
        /// Host and port.
        server: String,
        /// What happened.
        cause: String,
    },
    /// Options contradict each other.
    #[error("{0}")]
    Options(String),
    /// No verb was named.
    #[error("name a verb: ping, replay")]
    NoVerb,
    /// The kernel refused a service that every run needs.
    #[error("cannot {what}: {cause}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
}

impl DbError {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::System { what, cause }
    }
}
