//! `plumb report`: the page of a run, of the check of a path, of a checkup, or of many runs, made
//! again from their records.

mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plumb_checkup::Checkup;
use plumb_command::{Exit, colour, exit};
use plumb_diagnostics::checkup::CheckupRun;
use plumb_diagnostics::{checkup, path_check};
use plumb_folder::{
    Found, Unread, is_check, is_checkup, is_experiment, read_check, read_checkup, read_host_tracks,
    read_record,
};
use plumb_lab::Faults;
use plumb_measure::RunRecord;
use plumb_pipeline::Verdict;
use plumb_report::collection::{self, Collection};
use plumb_report::{comparison, html, markdown, terminal};

use crate::compare;
use crate::pipeline::{self, VerdictFiles};
use crate::progress;

/// The command line of `plumb report`.
pub(crate) fn command() -> Command {
    Command::new("report")
        .about("Show stored runs: one, a folder of them, or an experiment; write their page")
        .long_about(
            "Shows a stored run again, or many on one page: folders of runs, run.json files, \
             experiments and folders that hold any of these. The verdicts of all come first; runs \
             of one plan are summed up as repetitions of each other, runs of different plans stand \
             beside each other, and what is not valid is marked and has no part in any figure \
             but the counts of operations and failures. Records that cannot be read are named with their place and what to do.",
        )
        .after_help(
            "Exit codes: 0 shown; 1 shown, but something in the folders could not be; 2 refused.",
        )
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .help("Folders of runs, experiments, checks or checkups; run.json files; folders of these")
                .value_parser(value_parser!(PathBuf))
                .num_args(1..)
                .required(true),
        )
        .arg(
            Arg::new("out")
                .long("out")
                .visible_alias("html")
                .value_name("FILE")
                .help("Write the page to FILE: one file that needs nothing else")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .help("Print one JSON document, and nothing else")
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("markdown")
                .long("markdown")
                .help("Print Markdown, to paste into a ticket")
                .conflicts_with("json")
                .action(ArgAction::SetTrue),
        )
        // what the short form of a run names is no mistake here, where everything is printed anyway
        .arg(Arg::new("full").long("full").hide(true).action(ArgAction::SetTrue))
        .arg(
            Arg::new("hgrm")
                .long("hgrm")
                .value_name("DIR")
                .help("Write HdrHistogram's table of the response times into DIR, a file for each row")
                .value_parser(value_parser!(PathBuf)),
        )
}

/// What is printed.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Markdown,
    Json,
}

/// What a report says in the form asked for, and its page.
struct Shown {
    text: String,
    page: Option<String>,
    /// What lies there and is not shown, and why.
    notes: Vec<String>,
    exit: Exit,
}

/// Shows the runs that `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let paths: Vec<PathBuf> =
        words.get_many::<PathBuf>("run").into_iter().flatten().cloned().collect();
    let form = match (words.get_flag("json"), words.get_flag("markdown")) {
        (true, _) => Form::Json,
        (false, true) => Form::Markdown,
        (false, false) => Form::Text,
    };
    let files = VerdictFiles::of(words)?;
    if !files.is_empty() {
        let verdict = verdict_of(&paths)?;
        files.write(|| verdict)?;
    }
    if let Some(folder) = words.get_one::<PathBuf>("hgrm") {
        write_tables(&paths, folder)?;
    }
    let out = words.get_one::<PathBuf>("out");
    let shown = shown(&paths, form, out.is_some())?;
    shown.notes.iter().for_each(|note| exit::note(note));
    let text = match form {
        Form::Text => colour::for_stdout(&shown.text),
        Form::Markdown | Form::Json => shown.text.as_str().into(),
    };
    exit::print(&text)?;
    if let (Some(file), Some(page)) = (out, shown.page) {
        std::fs::write(file, page).with_context(|| {
            format!("cannot write {}; name a file in a folder you may write to", file.display())
        })?;
    }
    Ok(shown.exit)
}

/// The page of what lies at `path`.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn page(path: &Path) -> anyhow::Result<String> {
    if is_experiment(path) {
        return Ok(comparison::html(&compare::stored_experiment(path, Faults::default())?));
    }
    shown(&[path.to_path_buf()], Form::Json, true)?.page.context("there is no page of it")
}

fn shown(paths: &[PathBuf], form: Form, page: bool) -> anyhow::Result<Shown> {
    if let [only] = paths
        && is_check(only)
    {
        let check = read_check(only)?;
        let text = match form {
            Form::Text => path_check::terminal(&check, progress::columns()),
            Form::Markdown => path_check::markdown(&check),
            Form::Json => check.to_json(),
        };
        let page = Some(path_check::html(&check));
        return Ok(Shown { text, page, notes: Vec::new(), exit: Exit::Ran });
    }
    if let [only] = paths
        && is_checkup(only)
    {
        let found = read_checkup(only)?;
        let text = match form {
            Form::Text => checkup::terminal(&found, progress::columns()),
            Form::Markdown => checkup::markdown(&found),
            Form::Json => found.to_json(),
        };
        let (runs, unread) = runs_of(&found, only);
        let note = |Unread { place, reason, remedy }: &Unread| {
            format!("{place} is not shown: {reason}; {remedy}")
        };
        let notes = unread.iter().map(note).collect();
        // where it lies is not known, so its runs lie in it
        let page = page.then(|| checkup::html_with_runs(&found, &runs));
        let exit = if unread.is_empty() { Exit::Ran } else { Exit::Finding };
        return Ok(Shown { text, page, notes, exit });
    }
    let mut found = Found::at(paths)?;
    if let Some(path) = found.only_run() {
        return one_run(path, form);
    }
    for experiment in found.experiments_mut() {
        if experiment.comparison.is_none() {
            // one that cannot be evaluated is shown without, and the report says so
            experiment.comparison =
                compare::stored_experiment(&experiment.folder, Faults::default()).ok();
        }
    }
    let collection = Collection::read(found)?;
    let text = match form {
        Form::Text => collection::terminal(&collection, progress::columns()),
        Form::Markdown => collection::markdown(&collection),
        Form::Json => collection::json(&collection),
    };
    let exit = if collection.is_partial() { Exit::Finding } else { Exit::Ran };
    let page = page.then(|| collection::html(&collection));
    Ok(Shown { text, page, notes: Vec::new(), exit })
}

fn one_run(path: &Path, form: Form) -> anyhow::Result<Shown> {
    let record = read_record(path)?;
    let text = match form {
        Form::Text => terminal::render(&record, progress::columns()),
        Form::Markdown => markdown::render(&record),
        Form::Json => record.to_json(),
    };
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let page = page_of(&record, folder);
    Ok(Shown { text, page: Some(page), notes: Vec::new(), exit: Exit::Ran })
}

/// The verdict on the only thing that `paths` name.
fn verdict_of(paths: &[PathBuf]) -> anyhow::Result<Verdict> {
    if let [only] = paths {
        let folder = if only.is_dir() { only } else { only.parent().unwrap_or(only) };
        if is_check(only) {
            return Ok(pipeline::of_check(&read_check(only)?, folder));
        }
        if is_checkup(only) {
            return Ok(pipeline::of_checkup(&read_checkup(only)?, folder));
        }
        if let Some(run) = Found::at(paths)?.only_run() {
            let folder = if run.is_dir() { run } else { folder };
            return Ok(pipeline::of_run(&read_record(run)?, folder));
        }
    }
    bail!(
        "--junit, --sarif and --summary hold one verdict: name one run, check or checkup; plumb \
         compare writes that of an experiment"
    )
}

/// The runs of a checkup whose folder or file is `path`, and those that cannot be read.
fn runs_of(found: &Checkup, path: &Path) -> (Vec<CheckupRun>, Vec<Unread>) {
    let home = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let folders = found.parts.iter().filter_map(|part| part.outcome.as_ref()?.folder.clone());
    let (mut runs, mut unread) = (Vec::new(), Vec::new());
    for folder in folders {
        let at = home.join(&folder);
        match read_record(&at) {
            Ok(record) => {
                let tracks = read_host_tracks(&at, &record.started).unwrap_or_default();
                runs.push(CheckupRun { folder, record, tracks });
            }
            Err(error) => unread.push(Unread::of(&at, &error)),
        }
    }
    (runs, unread)
}

/// Writes the tables of percentiles of the only run that `paths` name.
fn write_tables(paths: &[PathBuf], folder: &Path) -> anyhow::Result<()> {
    let found = Found::at(paths)?;
    let Some(run) = found.only_run() else {
        bail!("--hgrm: name one run; each run has rows of its own");
    };
    tables::write(&read_record(run)?, folder)
}

/// The page of a run with what the machines did under the load, as far as their samples lie in its
/// folder.
pub(crate) fn page_of(record: &RunRecord, folder: &Path) -> String {
    // samples that cannot be read are missing on the page, and the run stands without them
    let tracks = read_host_tracks(folder, &record.started).unwrap_or_default();
    html::watched(record, &tracks)
}
