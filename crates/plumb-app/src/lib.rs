//! The application server: pages, flights and dialog steps on work processes.
//!
//! A request comes in at the front (`front`): connections, limits, the cache. Its path is read once,
//! in the one place that knows all of them (`route`). What the front does not answer waits in the
//! queue of the dispatcher (`dispatcher`) for a work process, which has its own database session
//! (`database`) and does one step at a time (`dialog`): it logs on, rolls the session in
//! (`session`), gets its program from the buffer or compiles it (`program`), reads, renders, rolls
//! out. A `step` is what such work has at hand, `services` what all steps share. [`App`] is the
//! layer as the program sees it.

mod answer;
mod asked;
mod backend;
mod cache;
mod config;
mod database;
mod dialog;
mod dispatcher;
mod error;
mod flights;
mod front;
mod generate;
mod instance;
mod locks;
mod log_ons;
mod options;
mod pages;
mod priority;
mod production;
mod program;
mod records;
mod route;
mod runs;
mod sales;
mod serve;
mod services;
mod session;
mod status;
mod step;
mod text;
mod url;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use plumb_engine::layer::{Job, JobError, Layer};

pub use error::AppError;
pub use generate::Generate;
pub use options::{GenerateOptions, PoolOptions, ServeOptions};
pub use serve::Serve;

/// The port on which the server listens unless told otherwise.
pub const PORT: u16 = 8000;

/// The application layer.
#[derive(Clone, Copy, Debug)]
pub struct App;

impl Layer for App {
    fn command(&self) -> Command {
        // the words for people come last: the options bring words of their own
        let serve = ServeOptions::augment_args(Command::new("serve")).about(
            "Serve pages, flights and dialog steps on work processes, to be measured and tuned",
        );
        let generate = GenerateOptions::augment_args(Command::new("generate"))
            .about("Compile every program over several work processes: a load of its own");
        Command::new("app")
            .about("The application server: pages, flights, dialog steps, and their tuning")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(serve)
            .subcommand(generate)
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("serve", words)) => {
                Ok(Job::Verb(Box::new(Serve::new(&ServeOptions::from_arg_matches(words)?)?)))
            }
            Some(("generate", words)) => {
                Ok(Job::Verb(Box::new(Generate::new(&GenerateOptions::from_arg_matches(words)?)?)))
            }
            _ => Err(AppError::NoVerb.into()),
        }
    }
}
