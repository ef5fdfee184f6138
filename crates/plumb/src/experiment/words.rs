//! The words of a command line of ours, as an experiment uses them.

use anyhow::anyhow;
use clap::ArgMatches;
use plumb_command::exit;
use plumb_wire::secret::{in_commands, masked};

use crate::commands;
use crate::job::told;

/// The text of a command as records have it.
pub(crate) fn without_secrets(text: &str) -> String {
    masked(text, &in_commands(text))
}

/// A command as the shell would take it apart, without a leading `plumb`.
pub(crate) fn split(command: &str) -> anyhow::Result<Vec<String>> {
    let words = shlex::split(command).ok_or_else(|| anyhow!("a quote is not closed"))?;
    Ok(match words.split_first() {
        Some((first, rest)) if first == "plumb" => rest.to_vec(),
        _ => words,
    })
}

/// The number of words that name the command, its layer first; the options stand behind them.
pub(super) fn depth(of_layer: &ArgMatches) -> usize {
    1 + of_layer.subcommand().map_or(0, |(_, inner)| depth(inner))
}

/// Why `words` are no command line of ours, with what to do where they may be one of the shell: they
/// begin with a word that resembles no command.
pub(super) fn or_of_shell(error: anyhow::Error, words: &[String]) -> anyhow::Error {
    let all = commands::all();
    let is_ours = words.first().is_none_or(|first| all.find_subcommand(first).is_some());
    let said = exit::said(&error);
    if is_ours || !said.starts_with("unrecognized subcommand") || said.contains("tip:") {
        return error;
    }
    anyhow!(
        "{said}; a command of the shell is measured with --exec, in a file with `exec` in the place \
         of `run`"
    )
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
