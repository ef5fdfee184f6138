//! `plumb report`: the page of a run, of the check of a path or of a checkup, made again from its
//! record.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plumb_report::{
    checkup, html, is_check, is_checkup, markdown, path_check, read_check, read_checkup,
    read_record, terminal,
};

use crate::exit::Exit;
use crate::progress;

/// The command line of `plumb report`.
pub(crate) fn command() -> Command {
    Command::new("report")
        .about("Show a stored run, and write its page again")
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .help("Folder of a run, of a check or of a checkup, or a run.json")
                .value_parser(value_parser!(PathBuf))
                .required(true),
        )
        .arg(
            Arg::new("markdown")
                .long("markdown")
                .help("Print Markdown, to paste into a ticket")
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("html")
                .long("html")
                .value_name("FILE")
                .help("Write the page to FILE")
                .value_parser(value_parser!(PathBuf)),
        )
}

/// Shows the run that `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let Some(path) = words.get_one::<PathBuf>("run") else {
        return Ok(Exit::DidNotRun);
    };
    let ticket = words.get_flag("markdown");
    let (text, page) = if is_check(path) {
        let check = read_check(path)?;
        let text = if ticket { path_check::markdown(&check) } else { path_check::terminal(&check) };
        (text, path_check::html(&check))
    } else if is_checkup(path) {
        let found = read_checkup(path)?;
        let text = if ticket {
            checkup::markdown(&found)
        } else {
            checkup::terminal(&found, progress::columns())
        };
        (text, checkup::html(&found))
    } else {
        let record = read_record(path)?;
        let text = if ticket { markdown::render(&record) } else { terminal::render(&record) };
        (text, html::render(&record))
    };
    write!(io::stdout(), "{text}")?;
    if let Some(file) = words.get_one::<PathBuf>("html") {
        std::fs::write(file, page).with_context(|| {
            format!("cannot write {}; name a file in a folder you may write to", file.display())
        })?;
    }
    Ok(Exit::Ran)
}
