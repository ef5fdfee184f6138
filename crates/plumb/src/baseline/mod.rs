//! `plumb baseline`: runs with names, with which later runs of the same plan are compared.

mod check;
mod latest;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, ensure};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_command::Exit;
use plumb_engine::clock;
use plumb_folder::{Baseline, Baselines, baseline_name, read_record, record_digest};
use plumb_measure::{RunRecord, Share, Status, written};

/// The folder of runs.
#[derive(Args, Clone, Debug)]
struct RunsOptions {
    /// The folder of runs, in which the baselines are kept, too
    #[arg(long = "folder", value_name = "DIR", default_value = "plumb-runs")]
    folder: PathBuf,
}

#[derive(Args, Clone, Debug)]
struct SetOptions {
    /// What the baseline is called
    #[arg(value_name = "NAME", value_parser = baseline_name)]
    name: String,

    /// The folder of the run [default: the last run in the folder of runs]
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,

    /// Later runs may be worse by so much; plumb baseline check may name another
    #[arg(long, value_name = "PERCENT")]
    tolerance: Option<Share>,

    /// Take a run whose figures are not valid, or not checked
    #[arg(long)]
    accept_invalid: bool,

    #[command(flatten)]
    runs: RunsOptions,
}

#[derive(Args, Clone, Debug)]
struct RemoveOptions {
    /// What the baseline is called
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    runs: RunsOptions,
}

#[derive(Args, Clone, Debug)]
struct ListOptions {
    /// Print one JSON document, and nothing else
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    runs: RunsOptions,
}

/// The command line of `plumb baseline`.
pub(crate) fn command() -> Command {
    let set = SetOptions::augment_args(Command::new("set"))
        .about("Make a run the baseline of its plan")
        .after_help("Exit codes: 0 set; 2 refused.");
    let list = ListOptions::augment_args(Command::new("list")).about("Show the baselines");
    let remove = RemoveOptions::augment_args(Command::new("remove"))
        .about("Forget a baseline; its run stays");
    Command::new("baseline")
        .about("Runs with names, with which later runs of the same plan are compared")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(set)
        .subcommand(check::command())
        .subcommand(list)
        .subcommand(remove)
}

/// Does what `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    match words.subcommand() {
        Some(("set", words)) => set(&SetOptions::from_arg_matches(words)?),
        Some(("check", words)) => check::run(words),
        Some(("list", words)) => list(&ListOptions::from_arg_matches(words)?),
        Some(("remove", words)) => remove(&RemoveOptions::from_arg_matches(words)?),
        _ => Ok(Exit::DidNotRun),
    }
}

fn set(options: &SetOptions) -> anyhow::Result<Exit> {
    let runs = &options.runs.folder;
    let (path, record) = match &options.run {
        Some(path) => (folder_of(path), read_record(path)?),
        None => latest::of_any(runs)?,
    };
    ensure!(
        record.status == Status::Complete,
        "{} is no baseline: its measurement did not come to its end; measure again",
        path.display()
    );
    if !options.accept_invalid {
        let reason = record.validity.reasons.first().map_or("", |it| it.text.as_str());
        ensure!(
            record.validity.valid,
            "{} is no baseline: its figures are not valid ({reason}); measure again, or say \
             --accept-invalid",
            path.display()
        );
    }
    let baseline = Baseline {
        name: options.name.clone(),
        run: within(&path, runs),
        record: record_digest(&path)?,
        set: clock::utc(clock::wall_ns()),
        plan: plan_of(&record),
        tolerance: options.tolerance.map(Share::of_one),
    };
    let said = format!("baseline {} is {} ({})", baseline.name, path.display(), baseline.plan);
    fs::create_dir_all(runs)?;
    let before = Baselines::alter(runs, |all| anyhow::Ok(all.set(baseline)))?;
    match before {
        Some(before) => writeln!(io::stdout(), "{said}; before it was {}", before.run)?,
        None => writeln!(io::stdout(), "{said}")?,
    }
    Ok(Exit::Ran)
}

fn list(options: &ListOptions) -> anyhow::Result<Exit> {
    let all = Baselines::read(&options.runs.folder)?;
    let mut out = io::stdout();
    if options.json {
        write!(out, "{}", written(&all))?;
        return Ok(Exit::Ran);
    }
    if all.baselines.is_empty() {
        writeln!(out, "no baselines in {}", options.runs.folder.display())?;
    }
    for it in &all.baselines {
        let tolerance = it.tolerance.map(|it| format!(", tolerance {} %", it * 100.0));
        let tolerance = tolerance.unwrap_or_default();
        writeln!(out, "{}: {} ({}), set {}{tolerance}", it.name, it.run, it.plan, it.set)?;
    }
    Ok(Exit::Ran)
}

fn remove(options: &RemoveOptions) -> anyhow::Result<Exit> {
    let runs = &options.runs.folder;
    let removed = Baselines::alter(runs, |all| {
        all.remove(&options.name).ok_or_else(|| unknown(all, &options.name, runs))
    })?;
    writeln!(
        io::stdout(),
        "baseline {} is forgotten; its run stays: {}",
        removed.name,
        removed.run
    )?;
    Ok(Exit::Ran)
}

/// There is no baseline called `name` among `all` of the folder `runs`.
fn unknown(all: &Baselines, name: &str, runs: &Path) -> anyhow::Error {
    let names: Vec<&str> = all.baselines.iter().map(|it| it.name.as_str()).collect();
    let there = if names.is_empty() { "there is none".into() } else { names.join(", ") };
    anyhow!(
        "no baseline `{name}` in {}: {there}; plumb baseline set {name} RUN makes one",
        runs.display()
    )
}

/// What a run measures, in words.
fn plan_of(record: &RunRecord) -> String {
    format!("{} {} {}", record.plan.layer, record.plan.verb, record.target.address)
}

/// The folder of a run whose folder or record is `path`.
fn folder_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.into() } else { path.parent().unwrap_or(path).into() }
}

/// `path` as seen from the folder `runs`, where it lies in it; otherwise from everywhere.
fn within(path: &Path, runs: &Path) -> String {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
    let (path, runs) = (whole(path), whole(runs));
    path.strip_prefix(&runs).unwrap_or(&path).display().to_string()
}
