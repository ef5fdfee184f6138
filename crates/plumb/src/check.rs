//! `plumb check`: do the figures of a table agree with each other?

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Arg, ArgMatches, Command, value_parser};
use plumb_host::check::{self, Report};
use plumb_host::nmon::{self, Options};

use crate::exit::Exit;

/// The command line of `plumb check`.
pub(crate) fn command() -> Command {
    Command::new("check")
        .about("Find figures of a table that cannot be true beside the others")
        .long_about(
            "Find figures of a table that cannot be true beside the others: shares that do not add \
             up, totals that are not rate times time, separators read the wrong way, improvements \
             relative to the wrong side. The head of a CSV or JSON file says what its columns mean; \
             a recording of nmon needs no head. Rounding never raises an alarm.",
        )
        .after_help(
            "Exit codes: 0 nothing was found; 1 a figure cannot be true; 2 a file cannot be read.",
        )
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .help("CSV, JSON, or a recording that ends with .nmon or .nmon.gz")
                .value_parser(value_parser!(PathBuf))
                .num_args(1..)
                .required(true),
        )
}

/// Checks the files that `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let mut exit = Exit::Ran;
    for path in words.get_many::<PathBuf>("file").into_iter().flatten() {
        for report in reports(path).with_context(|| path.display().to_string())? {
            if !report.findings().is_empty() {
                exit = Exit::Finding;
            }
            show(path, &report)?;
        }
    }
    Ok(exit)
}

/// One report for a table, one a host for a recording.
fn reports(path: &Path) -> anyhow::Result<Vec<Report>> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    if name.ends_with(".nmon") || name.ends_with(".nmon.gz") {
        let read = nmon::open(path, &Options::default())?;
        return Ok(read.recordings.iter().map(check::of_nmon).collect());
    }
    Ok(vec![check::open(path)?.check()])
}

fn show(path: &Path, report: &Report) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let path = path.display();
    for finding in report.findings() {
        writeln!(out, "{path}: {finding}")?;
    }
    if report.left_out() > 0 {
        writeln!(out, "{path}: and {} more findings", report.left_out())?;
    }
    let findings = report.findings().len() as u64 + report.left_out();
    match (report.checks(), findings) {
        (0, 0) => writeln!(
            out,
            "{path}: nothing was checked: say what the columns mean in lines such as \
             `# column: idle, unit = %, part-of = 100`"
        ),
        (checks, 0) => writeln!(out, "{path}: {checks} comparisons, nothing found"),
        (checks, findings) => writeln!(out, "{path}: {checks} comparisons, {findings} findings"),
    }
}
