//! `plumb report`: the page of a run, of the check of a path or of a checkup, made again from its
//! record.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plumb_measure::{RunRecord, hdr, hgrm};
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
        .arg(
            Arg::new("hgrm")
                .long("hgrm")
                .value_name("DIR")
                .help("Write HdrHistogram's table of the response times into DIR, a file for each row")
                .value_parser(value_parser!(PathBuf)),
        )
}

/// Shows the run that `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let Some(path) = words.get_one::<PathBuf>("run") else {
        return Ok(Exit::DidNotRun);
    };
    let ticket = words.get_flag("markdown");
    let tables = words.get_one::<PathBuf>("hgrm");
    let (text, page) = if is_check(path) {
        if tables.is_some() {
            bail!("--hgrm: a check has no rows of its own; name one of the runs in its folder");
        }
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
        if let Some(folder) = tables {
            write_tables(&record, folder)?;
        }
        let text = if ticket { markdown::render(&record) } else { terminal::render(&record) };
        (text, html::render(&record))
    };
    write!(io::stdout(), "{text}")?;
    if let Some(file) = words.get_one::<PathBuf>("html") {
        fs::write(file, page).with_context(|| {
            format!("cannot write {}; name a file in a folder you may write to", file.display())
        })?;
    }
    Ok(Exit::Ran)
}

/// Writes the response times of each result, and of each part of one, as a table of its own.
fn write_tables(record: &RunRecord, folder: &Path) -> anyhow::Result<()> {
    let failed = |path: &Path| format!("cannot write {}; name a folder of yours", path.display());
    fs::create_dir_all(folder).with_context(|| failed(folder))?;
    for (number, result) in (1..).zip(&record.results) {
        let whole = (result.name(), &result.response_ns);
        let parts = result.parts.iter().map(|part| (part.name.clone(), &part.response_ns));
        for (place, (name, times)) in std::iter::once(whole).chain(parts).enumerate() {
            let Some(times) = times else { continue }; // nothing succeeded
            let part = if place == 0 { String::new() } else { format!("-{place}") };
            let path = folder.join(format!("{number}{part}-{}.hgrm", file_name(&name)));
            let histogram = hdr::decode(&times.histogram)
                .with_context(|| format!("the response times of {name} cannot be read"))?;
            fs::write(&path, hgrm::table(&histogram)).with_context(|| failed(&path))?;
        }
    }
    Ok(())
}

/// `name` as far as every file system takes it.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let text: String = name.chars().take(80).map(plain).collect();
    text.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}
