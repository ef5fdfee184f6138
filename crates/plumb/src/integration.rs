//! The verbs of `plumb flow`: the runtime, and the agents that feed it, are crates of their own.

use clap::{ArgMatches, Command};
use plumb_engine::layer::{Job, JobError, Layer};
use plumb_flow::Flow;

/// The integration layer with all of its verbs.
#[derive(Debug)]
pub(crate) struct Integration;

impl Layer for Integration {
    fn command(&self) -> Command {
        Flow.command().subcommand(plumb_agent::command())
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("agent", words)) => plumb_agent::job(words),
            _ => Flow.job(matches),
        }
    }

    fn says_length(&self, matches: &ArgMatches) -> Result<bool, JobError> {
        Flow.says_length(matches)
    }
}
