//! `plumb check`: do the figures of a table agree with each other?

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plumb_check::{Check, Report, Unread};
use plumb_command::{Exit, exit};
use plumb_measure::counted;
use plumb_nmon::Options;
use serde::Serialize;

/// The name of the JSON form.
const SCHEMA: &str = "plumb.table-check/1";

/// The command line of `plumb check`.
pub(crate) fn command() -> Command {
    Command::new("check")
        .about("Find figures of a table that cannot be true beside the others")
        .long_about(
            "Find figures of a table that cannot be true beside the others: shares that do not add \
             up, totals that are not rate times time, separators read the wrong way, improvements \
             relative to the wrong side. The head of a CSV or JSON file says what its columns mean; \
             a recording of nmon needs no head. Rounding alone is never reported.",
        )
        .after_help(
            "Exit codes: 0 nothing was found; 1 a figure cannot be true; 2 a file cannot be read \
             (the others are checked all the same); 3 where nothing of a file could be compared.",
        )
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .help("CSV, JSON, or a recording that ends with .nmon or .nmon.gz")
                .value_parser(value_parser!(PathBuf))
                .num_args(1..)
                .required(true),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .help("Print one JSON document, and nothing else")
                .action(ArgAction::SetTrue),
        )
}

/// Checks the files that `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let (mut checked, mut unread) = (Vec::new(), Vec::new());
    for path in words.get_many::<PathBuf>("file").into_iter().flatten() {
        match check_file(path) {
            Ok(file) => checked.push(file),
            Err(error) => unread.push(Unread::of(path, &*error)),
        }
    }
    for one in &unread {
        exit::note(&one.words());
    }
    if words.get_flag("json") {
        let files = checked.iter().map(Checked::document).collect();
        let document = Document { schema: SCHEMA, files, unread: &unread };
        exit::print(&format!("{}\n", serde_json::to_string_pretty(&document)?))?;
    } else {
        exit::unless_closed(checked.iter().try_for_each(show))?;
    }
    let mut reports = checked.iter().flat_map(|file| &file.reports);
    Ok(if !unread.is_empty() {
        Exit::DidNotRun
    } else if reports.any(|report| !report.findings().is_empty()) {
        Exit::Finding
    } else if checked.iter().any(Checked::is_without_comparison) {
        Exit::Unanswered
    } else {
        Exit::Ran
    })
}

/// A file, and what checking it gave.
struct Checked {
    path: PathBuf,
    /// One for a table, one a host for a recording.
    reports: Vec<Report>,
    /// What is to be said about a recording beside its figures.
    remarks: u64,
    /// What to do where nothing could be compared.
    lacking: &'static str,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    files: Vec<File>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unread: &'a [Unread],
}

#[derive(Serialize)]
struct File {
    path: String,
    checks: Vec<Check>,
    remarks: u64,
}

fn check_file(path: &Path) -> Result<Checked, Box<dyn std::error::Error>> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let path = path.to_path_buf();
    if name.ends_with(".nmon") || name.ends_with(".nmon.gz") {
        let read = plumb_nmon::open(&path, &Options::default())?;
        let remarks = read.troubles.list().len() as u64 + read.troubles.left_out();
        let lacking = "no snapshot has figures that another one of it gives";
        return Ok(Checked { path, reports: plumb_check::of_file(&read), remarks, lacking });
    }
    let reports = vec![plumb_check::open(&path)?.check()];
    let lacking =
        "say what the columns mean in lines such as `# column: idle, unit = %, part-of = 100`";
    Ok(Checked { path, reports, remarks: 0, lacking })
}

impl Checked {
    fn is_without_comparison(&self) -> bool {
        self.reports.iter().all(|report| report.checks() == 0)
    }

    fn document(&self) -> File {
        File {
            path: self.path.display().to_string(),
            checks: self.reports.iter().map(Check::of).collect(),
            remarks: self.remarks,
        }
    }
}

fn show(file: &Checked) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let path = file.path.display();
    for report in &file.reports {
        for finding in report.findings() {
            writeln!(out, "{path}: {finding}")?;
        }
        if report.left_out() > 0 {
            writeln!(out, "{path}: and {}", counted(report.left_out(), "more finding"))?;
        }
        let findings = report.findings().len() as u64 + report.left_out();
        match (report.checks(), findings) {
            (0, 0) => writeln!(out, "{path}: nothing was checked: {}", file.lacking)?,
            (checks, findings) => {
                let checks = counted(checks, "comparison");
                let findings = match findings {
                    0 => "nothing found".to_owned(),
                    some => counted(some, "finding"),
                };
                writeln!(out, "{path}: {checks}, {findings}")?;
            }
        }
    }
    match file.remarks {
        0 => Ok(()),
        1 => writeln!(out, "{path}: 1 remark on the file itself: see plumb host show {path}"),
        more => {
            writeln!(out, "{path}: {more} remarks on the file itself: see plumb host show {path}")
        }
    }
}
