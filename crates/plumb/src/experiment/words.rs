//! The words of a command line of ours, as an experiment uses them.

use std::ffi::OsString;

use anyhow::{anyhow, bail};
use clap::ArgMatches;
use plumb_engine::layer::{Job, Measure};

use crate::measure::plain;
use crate::{commands, layers, options_file};

/// A command as the shell would take it apart, without a leading `plumb`.
pub(super) fn split(command: &str) -> anyhow::Result<Vec<String>> {
    let words = shlex::split(command).ok_or_else(|| anyhow!("a quote is not closed"))?;
    Ok(match words.split_first() {
        Some((first, rest)) if first == "plumb" => rest.to_vec(),
        _ => words,
    })
}

/// `words` with the options of the file that they name, which is read only now: what is in it
/// later changes nothing.
pub(super) fn with_options(words: &[String]) -> anyhow::Result<Vec<String>> {
    let line: Vec<OsString> =
        std::iter::once("plumb").chain(words.iter().map(String::as_str)).map(Into::into).collect();
    let line = options_file::expand(&commands::all(), &line)?;
    let words = line.into_iter().skip(1).map(OsString::into_string);
    words.collect::<Result<_, _>>().map_err(|word| anyhow!("{} is not UTF-8", word.display()))
}

/// The number of words that name the command, its layer first; the options stand behind them.
pub(super) fn depth(of_layer: &ArgMatches) -> usize {
    1 + of_layer.subcommand().map_or(0, |(_, inner)| depth(inner))
}

/// The layer and the options that `words` name.
pub(super) fn parse(words: &[String]) -> anyhow::Result<(String, ArgMatches)> {
    let line = std::iter::once("plumb").chain(words.iter().map(String::as_str));
    let matches = commands::all().try_get_matches_from(line).map_err(|error| told(&error))?;
    match matches.subcommand() {
        Some((layer, matches)) if layers::find(layer).is_some() => {
            Ok((layer.to_owned(), matches.clone()))
        }
        _ => bail!("only commands that measure can be compared, for example `net ping HOST`"),
    }
}

/// The measurement that `words` ask for.
pub(super) fn job(words: &[String]) -> anyhow::Result<Box<dyn Measure>> {
    let (name, matches) = parse(words)?;
    let layer = layers::find(&name).ok_or_else(|| anyhow!("there is no layer `{name}`"))?;
    match layer.job(&matches).map_err(plain)? {
        Job::Measure(job) => Ok(job),
        Job::Serve(_) => {
            bail!("a server measures nothing: start it yourself and compare commands that drive it")
        }
    }
}

/// Refuses what is no command line of ours. Names that are left open in it may stand for anything.
pub(super) fn is_command(command: &str) -> anyhow::Result<()> {
    let words = split(command).map_err(|error| anyhow!("`{command}`: {error}"))?;
    if command.contains("${") {
        return Ok(()); // it is looked at when it is started
    }
    let line = std::iter::once("plumb".to_owned()).chain(words);
    let known = commands::all().try_get_matches_from(line);
    known.map(drop).map_err(|error| anyhow!("`{command}`: {}", told(&error)))
}

/// What is wrong with a command line, on one line: the usage of a command inside an experiment
/// helps nobody.
fn told(error: &clap::Error) -> anyhow::Error {
    let text = error.to_string();
    let about = ["Usage:", "For more information"];
    let parts: Vec<String> = text
        .trim_start_matches("error: ")
        .split("\n\n")
        .filter(|part| !about.iter().any(|about| part.trim_start().starts_with(about)))
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty())
        .collect();
    anyhow!("{}", parts.join("; "))
}

/// The options of the innermost command.
pub(super) fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf(inner))
}
