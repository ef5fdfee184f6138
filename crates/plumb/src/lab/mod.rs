//! `plumb lab`: experiments, and what this machine can show.

mod calibrate;
mod ladder;
mod run;

use clap::{ArgMatches, Command};
use plumb_command::Exit;

/// The command line of `plumb lab`.
pub(crate) fn command() -> Command {
    Command::new("lab")
        .about("Experiments: variants in turns, and what this machine can show")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(run::command())
        .subcommand(calibrate::command())
}

/// Does what `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    match words.subcommand() {
        Some(("run", words)) => run::run(words),
        Some(("calibrate", words)) => calibrate::run(words),
        _ => Ok(Exit::DidNotRun),
    }
}
