//! The database layer: where the time of a statement goes, from the caller to the server and back.
//!
//! [`Db`] is the layer as the program sees it, [`Ping`] and [`Replay`] its verbs. It is driven on a tokio runtime of
//! one thread, a second driver behind the records of the engine, by `tokio-postgres` or by clients of
//! the protocols of MySQL, SQL Server and SAP HANA: the floor of each is its own, and its name stands with its figures.
//!
//! | module | question |
//! |---|---|
//! | `database` | what is a database, to everything else? |
//! | `postgres`, `mysql`, `mssql`, `hana`, `odbc` | how is this one asked, and what keeps a statement from writing? |
//! | `stream`, `alone` | over which socket, and when did bytes come? Where, as whom and how encrypted says `plumb-db-login` |
//! | `client` | what do clients of our own share? |
//! | `statement`, `answer` | what is asked, and how much may come? |
//! | `pool`, `caller`, `alarm`, `patience`, `rest`, `drive` | when, over which connection? |
//! | `looks` | which calls are looked into? |
//! | `ledger`, `complaints` | what is written down, and what is told of failures? |
//! | `round_trip`, `beside` | what is found out beside the load, and how long may that take? |
//! | `attribution` | where did the time go? |
//! | `replay` | what does a recorded day take? |

mod alarm;
mod alone;
mod answer;
mod attribution;
mod beside;
mod caller;
mod client;
mod complaints;
mod database;
mod drive;
mod error;
mod hana;
mod ledger;
mod looks;
mod mssql;
mod mysql;
#[cfg(feature = "odbc")]
mod odbc;
mod options;
mod patience;
mod ping;
mod pool;
mod postgres;
mod replay;
mod rest;
mod round_trip;
mod statement;
mod stream;
mod trial;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use plumb_engine::layer::{Job, JobError, Layer};

pub use error::DbError;
pub use options::PingOptions;
pub use ping::Ping;
pub use plumb_sql_log::LogFormat;
pub use replay::{Replay, ReplayOptions, Speed};
pub use statement::{Over, Which};

/// The database layer.
#[derive(Clone, Copy, Debug)]
pub struct Db;

impl Layer for Db {
    fn command(&self) -> Command {
        let ping = PingOptions::command()
            .about("Measure statements against a database: is it the network, or the database?");
        let replay = ReplayOptions::augment_args(Command::new("replay"))
            .about("Ask the statements of a log again, at their own pace or faster");
        Command::new("db")
            .about("The database: where the time of a statement goes")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(ping)
            .subcommand(replay)
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("ping", words)) => {
                Ok(Job::Measure(Box::new(Ping::new(PingOptions::from_arg_matches(words)?)?)))
            }
            Some(("replay", words)) => {
                let options = ReplayOptions::from_arg_matches(words)?;
                Ok(Job::Measure(Box::new(Replay::new(options)?)))
            }
            _ => Err(DbError::NoVerb.into()),
        }
    }
}
