//! The lock layer: a lock server with the semantics of SAP's enqueue server, for clients that
//! speak RESP.
//!
//! [`table`] says who may have what, [`journal`] what outlives the server, [`LockServer`] serves
//! both as a [`plumb_engine::Service`]. [`Locks`] is the layer as the program sees it.

mod error;
pub mod journal;
mod journal_verbs;
mod serve;
mod server;
pub mod table;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _, Subcommand as _};
use plumb_engine::layer::{Job, JobError, Layer};

pub use error::LockError;
pub use journal_verbs::{Folder, JournalJob, JournalVerb};
pub use serve::{JournalPolicy, Serve, ServeOptions};
pub use server::{Event, LockServer, ServerPlan};

/// The port of a lock server when none is named; that of the original's first instance.
pub const PORT: u16 = 3200;

/// The lock layer.
#[derive(Clone, Copy, Debug)]
pub struct Locks;

impl Layer for Locks {
    fn command(&self) -> Command {
        // the words for people come last: the options bring words of their own
        let serve = ServeOptions::augment_args(Command::new("serve"))
            .about("Run a lock server, for clients that speak RESP");
        let journal = JournalVerb::augment_subcommands(Command::new("journal"))
            .about("Look at the journal of a lock server, and mend it")
            .subcommand_required(true)
            .arg_required_else_help(true);
        Command::new("lock")
            .about("Locks: a server with the semantics of SAP's enqueue server")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(serve)
            .subcommand(journal)
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("serve", words)) => {
                Ok(Job::Serve(Box::new(Serve::new(ServeOptions::from_arg_matches(words)?))))
            }
            Some(("journal", words)) => {
                Ok(Job::Serve(Box::new(JournalJob::new(JournalVerb::from_arg_matches(words)?))))
            }
            _ => Err(LockError::NoVerb.into()),
        }
    }
}
