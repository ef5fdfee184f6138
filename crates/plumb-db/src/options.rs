//! The options of `plumb db ping`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Command};
use plumb_engine::options::{LoadOptions, OutputOptions, TransportOptions};
use plumb_measure::ByteSize;

use crate::DbError;
use crate::statement::{Over, Which};

/// What is asked of which database, and how often.
#[derive(Args, Clone, Debug)]
pub struct PingOptions {
    /// The database, as a URL.
    #[arg(
        value_name = "URL",
        help = "The database: postgres://[USER@]HOST[:PORT][/DATABASE][?sslmode=MODE&...], mysql:// \
                for MariaDB and MySQL, mssql:// for SQL Server, hana:// for SAP HANA, or odbc:DATA-SOURCE",
        long_help = "The database: postgres://[USER@]HOST[:PORT][/DATABASE][?sslmode=MODE&...], or \
                     mysql://[USER@]HOST[:PORT][/DATABASE][?ssl-mode=MODE&...] for MariaDB and MySQL, \
                     mssql://[USER@]HOST[:PORT][/DATABASE][?encrypt=yes|no&...] for SQL Server, \
                     hana://[USER@]HOST[:PORT][/SCHEMA][?encrypt=true|false&...] for SAP HANA; \
                     odbc:DATA-SOURCE or odbc:KEY=VALUE;... in a program that was built with ODBC\n\n\
                     What is left out comes from PGHOST, PGPORT, PGUSER, PGDATABASE, PGSERVICE and \
                     PGSSLMODE; the password from PGPASSWORD, PGPASSFILE or ~/.pgpass, or is asked \
                     for at the terminal. For MariaDB and MySQL it comes from MYSQL_HOST, \
                     MYSQL_TCP_PORT, MYSQL_UNIX_PORT and ~/.my.cnf; the password from MYSQL_PWD or \
                     ~/.my.cnf. For SQL Server it comes from SQLCMDSERVER, SQLCMDUSER and \
                     SQLCMDDBNAME; the password from SQLCMDPASSWORD; for SAP HANA from \
                     HDB_PASSWORD, over ODBC from ODBC_PASSWORD."
    )]
    pub url: String,

    /// Measure this statement, too
    #[arg(long, value_name = "SQL", conflicts_with = "file")]
    pub statement: Option<String>,

    /// Measure the statement in FILE, too
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Which statements: trivial (SELECT 1), sized (prepared, some 400 B out and 1.2 kB back), own
    /// [default: all there are]
    #[arg(long, value_name = "WHICH,...", value_delimiter = ',')]
    pub ask: Vec<Which>,

    /// Over what: kept (one connection), pool (shared by callers), connect (one a call)
    #[arg(
        long,
        value_name = "WHAT,...",
        value_delimiter = ',',
        default_value = "kept,pool,connect"
    )]
    pub over: Vec<Over>,

    /// Connections of the pool
    #[arg(long, value_name = "N", default_value = "4")]
    pub pool: NonZeroUsize,

    /// Callers that share the pool
    #[arg(long, value_name = "N", default_value = "8")]
    pub callers: NonZeroUsize,

    /// The most rows that an answer may hold
    #[arg(long, value_name = "N", default_value = "10000")]
    pub rows: NonZeroU64,

    /// The most that the rows of an answer may hold
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    pub size: ByteSize,

    /// Measure a statement that writes: each call is rolled back
    ///
    /// What a transaction cannot take back, such as numbers taken from a sequence, is not taken back. A
    /// table without transactions (MyISAM, Aria) keeps what one call writes: then nothing more is asked.
    /// Without this option all sessions are read-only by the server's own word, and each statement is
    /// tried inside BEGIN READ ONLY. The server does not refuse everything there: not large objects
    /// (before version 16), other sessions (dblink), files and functions of administrators. Measure as
    /// a user that lacks the right to them.
    #[arg(long)]
    pub allow_writes: bool,

    /// Run the own statement under EXPLAIN (ANALYZE) five times first, and roll it back
    #[arg(long)]
    pub explain: bool,

    /// Also measure round trips to the NI echo server (plumb net serve) at HOST:PORT
    #[arg(long, value_name = "HOST:PORT")]
    pub echo: Option<String>,

    /// How the server is reached.
    #[command(flatten)]
    pub transport: TransportOptions,

    /// How much load, and how it is driven.
    #[command(flatten)]
    pub load: LoadOptions,

    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Options of the load that mean nothing to a driver with one thread and one call a connection,
/// which sends every call at once.
pub(crate) const FOREIGN: [&str; 4] = ["depth", "threads", "spin", "nagle"];

impl PingOptions {
    /// The command line, without the options of a load that this driver does not have.
    pub(crate) fn command() -> Command {
        let command = Self::augment_args(Command::new("ping"));
        let command = command.mut_arg("quick_ack", |it| it.hide(true)); // refused, and in no record
        FOREIGN.into_iter().fold(command, |command, name| command.mut_arg(name, |it| it.hide(true)))
    }

    /// Checks what no single option can know.
    ///
    /// # Errors
    /// [`DbError::Options`] names the options and what to write instead.
    pub(crate) fn check(&self) -> Result<(), DbError> {
        let load = &self.load;
        let (one, wrong) = (NonZeroUsize::MIN, |text: &str| Err(DbError::Options(text.into())));
        if load.depth != one || load.threads != one || load.spin {
            return wrong(
                "--depth, --threads and --spin are not for databases: a session answers one call \
                 at a time, and one thread drives them all; use --pool and --callers",
            );
        }
        if load.driver.nagle {
            return wrong("--nagle is not for databases: every statement is sent at once");
        }
        if load.driver.quick_ack {
            return wrong("--quick-ack is not for databases: their drivers acknowledge as they do");
        }
        load.driver.confirm_tick("a database server", None)?;
        let own = self.statement.is_some() || self.file.is_some();
        if self.ask.contains(&Which::Own) && !own {
            return wrong("--ask own needs a statement: write --statement SQL or --file FILE");
        }
        if self.explain && !own {
            return wrong("--explain needs a statement: write --statement SQL or --file FILE");
        }
        if self.allow_writes && !own {
            return wrong("--allow-writes needs a statement: write --statement SQL or --file FILE");
        }
        if self.over.contains(&Over::Pool) && self.pool.get() > 1_000 {
            return wrong("a --pool of more than 1000 connections is more than a server bears");
        }
        if self.callers.get() > 10_000 {
            return wrong("more than 10000 --callers would measure themselves");
        }
        Ok(())
    }
}
