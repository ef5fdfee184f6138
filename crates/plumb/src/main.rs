//! `plumb`: finds which layer of a business system is slow.
//!
//! Words become a [`Command`](clap::Command), a command becomes a job of one layer, a job becomes
//! a run. Nothing else happens here.

mod ab;
mod baseline;
mod check;
mod checkup;
mod commands;
mod compare;
mod experiment;
mod far;
mod host;
mod host_idle;
mod host_record;
mod host_watch;
mod integration;
mod job;
mod lab;
mod layers;
mod loopback;
mod manual;
mod measure;
mod metrics;
mod net_check;
mod open_files;
mod pages;
mod pipeline;
mod progress;
mod remote;
mod report;
mod show;
mod smc;
mod tips;
mod ui;
mod watch;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use plumb_command::{Exit, exit};
use plumb_compat::{enqt, niping};
use plumb_wire::secret;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let called_as = words.first().map(Path::new).and_then(Path::file_name);
    if called_as.is_some_and(|name| name == "niping") {
        return niping::main(&words).into();
    }
    if called_as.is_some_and(|name| name == "enqt") {
        return enqt::main(&words).into();
    }
    match run(&words) {
        Ok(exit) => exit.into(),
        Err(error) if exit::pipe_was_closed(&error) => Exit::Ran.into(),
        Err(error) => {
            if let Some(help) = exit::help(&error) {
                return help.print().map_or(Exit::DidNotRun, |()| Exit::Ran).into();
            }
            if experiment::was_interrupted(&error) {
                exit::note(&error.root_cause().to_string());
                return Exit::Interrupted.into();
            }
            exit::note(&exit::said(&error));
            Exit::DidNotRun.into()
        }
    }
}

fn run(words: &[OsString]) -> anyhow::Result<Exit> {
    let mut all = commands::all();
    let expanded = plumb_options::expand(&all, words)?;
    let matches = match all.try_get_matches_from_mut(expanded) {
        Ok(matches) => matches,
        Err(message) => {
            let message = tips::with_tips(message, &all, words);
            let printed = message.print();
            if message.use_stderr() {
                return Ok(Exit::DidNotRun); // with standard error gone there is nobody left to tell
            }
            printed?;
            return Ok(Exit::Ran);
        }
    };
    if let Some(text) = plumb_options::in_force(&all, &matches)? {
        write!(io::stdout(), "{text}")?;
        return Ok(Exit::Ran);
    }
    let command: Vec<String> =
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let masked = || secret::masked_words(&command); // it stands in records
    if let Some(("host", words)) = matches.subcommand()
        && let Some(("show", words)) = words.subcommand()
    {
        return show::run(words);
    }
    if let Some(("host", words)) = matches.subcommand()
        && let Some(("idle", words)) = words.subcommand()
    {
        return host_idle::run(words);
    }
    if let Some(("net", words)) = matches.subcommand()
        && let Some(("check", words)) = words.subcommand()
    {
        return net_check::run(words);
    }
    match matches.subcommand() {
        Some(("checkup", words)) => checkup::run(words, masked()),
        Some(("ab", words)) => ab::run(words),
        Some(("compare", words)) => compare::run(words),
        Some(("baseline", words)) => baseline::run(words),
        Some(("lab", words)) => lab::run(words),
        Some(("report", words)) => report::run(words),
        Some(("check", words)) => check::run(words),
        Some(("size", words)) => capacity(words, &masked()),
        Some(("smc", words)) => smc::run(words),
        Some(("ui", words)) => ui::run(words),
        Some(("remote", words)) => remote::run(words),
        Some(("on", words)) => remote::run_on(words),
        Some(("paths", words)) => remote::run_paths(words),
        Some(("watch", words)) => watch::run(words),
        Some(("man", words)) => manual::man(commands::all(), words),
        Some(("complete", words)) => manual::complete(commands::all(), words),
        Some((layer, words)) => measure::run_layer(layer, words, &command),
        None => Ok(Exit::DidNotRun),
    }
}

/// Sizes what `words` name.
fn capacity(words: &ArgMatches, command: &[String]) -> anyhow::Result<Exit> {
    let answered = plumb_capacity::run(words, command, progress::columns())?;
    exit::print(&answered.text)?;
    Ok(if answered.refused { Exit::Unanswered } else { Exit::Ran })
}
