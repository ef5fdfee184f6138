//! The verbs of `plumb http`: what measures, what imports and what records are crates of their own.

use clap::{ArgMatches, Command, FromArgMatches as _};
use plumb_engine::Stop;
use plumb_engine::layer::{Job, JobError, Layer, Output, Verb};
use plumb_http::Http;
use plumb_import::{Import, ImportOptions};
use plumb_record::{Record, RecordOptions};

/// The HTTP layer with all of its verbs.
#[derive(Debug)]
pub(crate) struct Pages;

impl Layer for Pages {
    fn command(&self) -> Command {
        Http.command().subcommand(plumb_import::command()).subcommand(plumb_record::command())
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("import", words)) => {
                let import = Import::new(ImportOptions::from_arg_matches(words)?);
                Ok(Job::Verb(Box::new(Importing(import))))
            }
            Some(("record", words)) => {
                Ok(Job::Verb(Box::new(Record::new(RecordOptions::from_arg_matches(words)?)?)))
            }
            _ => Http.job(matches),
        }
    }

    fn says_length(&self, matches: &ArgMatches) -> Result<bool, JobError> {
        Http.says_length(matches)
    }
}

/// An import knows nothing of the engine; it is over before anybody could stop it.
struct Importing(Import);

impl Verb for Importing {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, _stop: &Stop) -> Result<(), JobError> {
        Ok(self.0.run(out, log)?)
    }

    fn has_findings(&self) -> bool {
        self.0.has_findings()
    }
}
