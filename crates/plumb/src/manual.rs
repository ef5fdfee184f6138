//! Manual pages and completions, made from the command line's own definition.

use std::io::{self, Write as _};

use anyhow::anyhow;
use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use crate::exit::Exit;

/// The command lines of `plumb man` and `plumb complete`.
pub(crate) fn commands() -> [Command; 2] {
    let man = Command::new("man")
        .about("Print the manual page of a command (read it with man -l -)")
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .help("Words of the command, for example: net ping")
                .num_args(0..),
        );
    let complete = Command::new("complete").about("Print completions for a shell").arg(
        Arg::new("shell").value_name("SHELL").value_parser(value_parser!(Shell)).required(true),
    );
    [man, complete]
}

/// Prints the manual page of one of `all` commands.
pub(crate) fn man(mut all: Command, words: &ArgMatches) -> anyhow::Result<Exit> {
    all.build(); // so that subcommands know their full names
    let mut command = &all;
    for word in words.get_many::<String>("command").into_iter().flatten() {
        command = command.find_subcommand(word).ok_or_else(|| {
            anyhow!("there is no command `{word}` here; `plumb help` lists the commands")
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    io::stdout().write_all(&page)?;
    Ok(Exit::Ran)
}

/// Prints completions of `all` commands.
pub(crate) fn complete(mut all: Command, words: &ArgMatches) -> anyhow::Result<Exit> {
    if let Some(shell) = words.get_one::<Shell>("shell") {
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut all, "plumb", &mut script);
        io::stdout().write_all(&script)?;
    }
    Ok(Exit::Ran)
}
