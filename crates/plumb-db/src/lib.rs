//! The database layer: where the time of a statement goes, from the caller to the server and back.
//!
//! [`Db`] is the layer as the program sees it, [`Ping`] its one verb. It is driven by
//! `tokio-postgres` on a runtime of one thread, a second driver behind the records of the engine:
//! its floor is its own, and its name stands with its figures.
//!
//! | module | question |
//! |---|---|
//! | `url`, `login`, `ssl_mode`, `tls`, `certificate` | where, as whom, how encrypted? |
//! | `session`, `conversation`, `stream` | how is a connection made, and what does it carry? |
//! | `promise`, `first_session`, `process_id`, `block` | what keeps a statement from writing? |
//! | `statement`, `exchange`, `answer` | what is asked, and what does a call tell that is looked into? |
//! | `pool`, `caller`, `alarm`, `patience`, `drive` | when, over which connection? |
//! | `ledger` | what is written down? |
//! | `trial`, `readings`, `round_trip`, `floor` | what is found out beside the load? |
//! | `attribution` | where did the time go? |
//!
//! A driver of another database would stand beside `session` and `exchange`: everything else knows
//! connections only as something that is opened, asked, and asked between two clock readings.

mod alarm;
mod answer;
mod attribution;
mod block;
mod caller;
mod certificate;
mod conversation;
mod drive;
mod error;
mod exchange;
mod first_session;
mod floor;
mod ledger;
mod login;
mod looks;
mod options;
mod patience;
mod ping;
mod pool;
mod process_id;
mod promise;
mod readings;
mod round_trip;
mod session;
mod ssl_mode;
mod statement;
mod stream;
mod tls;
mod trial;
mod url;

use clap::{ArgMatches, Command, FromArgMatches as _};
use plumb_engine::layer::{Job, JobError, Layer};

pub use error::DbError;
pub use options::PingOptions;
pub use ping::Ping;
pub use statement::{Over, Which};

/// The database layer.
#[derive(Clone, Copy, Debug)]
pub struct Db;

impl Layer for Db {
    fn command(&self) -> Command {
        let ping = PingOptions::command()
            .about("Measure statements against PostgreSQL: is it the network or the database?");
        Command::new("db")
            .about("The database: where the time of a statement goes")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(ping)
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("ping", words)) => {
                Ok(Job::Measure(Box::new(Ping::new(PingOptions::from_arg_matches(words)?)?)))
            }
            _ => Err(DbError::NoVerb.into()),
        }
    }
}
