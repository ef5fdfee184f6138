//! The words of a command line of ours, as an experiment uses them.

use std::collections::BTreeSet;
use std::ffi::OsString;

use anyhow::anyhow;
use clap::{ArgMatches, Command};
use plumb_wire::secret::{in_commands, masked};

use crate::commands;
use crate::job::told;

/// The text of a command, or of a file of commands, as records have it.
pub(crate) fn without_secrets(text: &str) -> String {
    masked(text, &in_commands(text))
}

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
    let line = plumb_options::expand(&commands::all(), &line)?;
    let words = line.into_iter().skip(1).map(OsString::into_string);
    words.collect::<Result<_, _>>().map_err(|word| anyhow!("{} is not UTF-8", word.display()))
}

/// The number of words that name the command, its layer first; the options stand behind them.
pub(super) fn depth(of_layer: &ArgMatches) -> usize {
    1 + of_layer.subcommand().map_or(0, |(_, inner)| depth(inner))
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

/// The options of the innermost command.
pub(super) fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf(inner))
}

/// The options that the innermost command of `layer` takes, by their names in its definition: what
/// was given says nothing of those that were not.
pub(super) fn known(layer: &str, of_layer: &ArgMatches) -> BTreeSet<String> {
    fn innermost<'a>(command: &'a Command, matches: &ArgMatches) -> Option<&'a Command> {
        match matches.subcommand() {
            Some((name, inner)) => innermost(command.find_subcommand(name)?, inner),
            None => Some(command),
        }
    }
    let all = commands::all();
    let command = all.find_subcommand(layer).and_then(|command| innermost(command, of_layer));
    command.map_or_else(BTreeSet::new, |command| {
        command.get_arguments().map(|option| option.get_id().to_string()).collect()
    })
}
