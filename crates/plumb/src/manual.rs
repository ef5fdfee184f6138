//! Manual pages and completions, made from the command line's own definition.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use clap_mangen::Man;
use plumb_command::Exit;

/// The command lines of `plumb man` and `plumb complete`.
pub(crate) fn commands() -> [Command; 2] {
    let man = Command::new("man")
        .about("Print the manual page of a command (read it with man -l -)")
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .help("Words of the command, for example: net ping")
                .num_args(0..),
        )
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("command")
                .help("Write the pages of all commands into this folder instead"),
        );
    let complete = Command::new("complete").about("Print completions for a shell").arg(
        Arg::new("shell").value_name("SHELL").value_parser(value_parser!(Shell)).required(true),
    );
    [man, complete]
}

/// Prints the manual page of one of `all` commands, or writes those of all.
pub(crate) fn man(all: Command, words: &ArgMatches) -> anyhow::Result<Exit> {
    let mut all = all.disable_help_subcommand(true); // it has no page
    all.build(); // so that subcommands know their full names
    if let Some(folder) = words.get_one::<PathBuf>("out") {
        fs::create_dir_all(folder)
            .and_then(|()| write_pages(&all, folder))
            .with_context(|| format!("cannot write manual pages into {}", folder.display()))?;
        return Ok(Exit::Ran);
    }
    let mut command = &all;
    for word in words.get_many::<String>("command").into_iter().flatten() {
        command = command.find_subcommand(word).ok_or_else(|| {
            anyhow!("there is no command `{word}` here; `plumb help` lists the commands")
        })?;
    }
    page(command).render(&mut io::stdout().lock())?;
    Ok(Exit::Ran)
}

/// Writes the pages of `command` and of all below it into `folder`.
fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    page(command).generate_to(folder)?;
    let shown = |command: &&Command| !command.is_hide_set();
    command.get_subcommands().filter(shown).try_for_each(|each| write_pages(each, folder))
}

/// The manual page of a command that knows its full name.
fn page(command: &Command) -> Man {
    let source = concat!("plumb ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).source(source).manual("Plumbline")
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
