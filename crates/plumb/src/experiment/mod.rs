//! Experiments: variants in interleaved rounds, as `plumb ab`, `plumb lab run` and `plumb lab
//! calibrate` take them.
//!
//! An [`ExperimentFile`] says what is asked for, a [`Plan`] is that file checked, [`Rounds`] carry
//! it out and leave a folder that `plumb compare` reads.

mod admission;
mod block_plan;
mod cells;
mod of_shell;
mod outcome;
mod plan;
mod probe;
mod probe_section;
mod rounds;
mod rounds_needed;
mod servers;
mod surroundings;
mod words;

use std::io::{self, Write as _};
use std::path::Path;

use clap::ValueEnum;
use plumb_comparison::{Comparison, Verdict};
use plumb_engine::{Stop, clock};
use plumb_experiment::ExperimentFile;
use plumb_experiment::shell::ShellError;
use plumb_folder::ExperimentFolder;
use plumb_measure::Program;
use plumb_report::comparison;

pub(crate) use admission::AdmissionOptions;
pub(crate) use block_plan::{COMMAND_TIMEOUT, Variant};
pub(crate) use plan::{Overrides, Plan, ROUNDS_MAX};
#[cfg(test)]
pub(crate) use plan::{TWO_VARIANTS, plan_of};
pub(crate) use probe::Probe;
use rounds::NoWatcher;
pub(crate) use rounds::{Rounds, Standing, Watcher};
pub(crate) use rounds_needed::remark as rounds_remark;
pub(crate) use servers::{ServerPlan, Servers};
pub(crate) use surroundings::changes as surrounding_changes;
pub(crate) use words::{split as words_of, without_secrets};

use plumb_command::{Exit, colour, exit};
use plumb_options::Form;

use crate::progress::columns;

/// An end that somebody asked for before there was anything to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted before anything was measured")]
struct Interrupted;

/// True when nothing came of a command because somebody ended it.
pub(crate) fn was_interrupted(error: &anyhow::Error) -> bool {
    error.is::<Interrupted>()
        || plumb_engine::Interrupted::is_behind(error.as_ref())
        || matches!(error.downcast_ref::<ShellError>(), Some(ShellError::Interrupted))
}

/// What makes the exit code 1, and 3 when nobody can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A candidate is worse than the baseline.
    Worse,
}

/// The program that compares, for the record.
pub(crate) fn program() -> Program {
    Program { version: env!("CARGO_PKG_VERSION").into() }
}

/// The folder of an experiment called `name`: `out`, or one of its own.
pub(crate) fn open_folder(out: Option<&Path>, name: &str) -> anyhow::Result<ExperimentFolder> {
    Ok(match out {
        Some(path) => ExperimentFolder::create_new(path)?,
        None => {
            let time = clock::utc(clock::wall_ns()).replace(':', "");
            ExperimentFolder::create_in(Path::new("plumb-runs"), &format!("{time}-{name}"))?
        }
    })
}

/// Takes all that `file` asks for, within `overrides`, into a folder `out`, or one called after `name`.
/// When that fails no folder is left that holds nothing.
pub(crate) fn take(
    file: &ExperimentFile,
    overrides: Overrides,
    (out, name): (Option<&Path>, &str),
    stop: &Stop,
) -> anyhow::Result<(Comparison, ExperimentFolder)> {
    let plan = Plan::of(file, overrides)?;
    plan.can_fill(out)?;
    if let Some(remark) = rounds_remark(&plan, None) {
        let _ = writeln!(io::stderr(), "{remark}"); // nobody may be there to read it
    }
    let folder = open_folder(out, name)?;
    let taken = Rounds::new(&plan, &folder, &toml::to_string(file)?).and_then(|mut rounds| {
        rounds.run(stop, &mut NoWatcher)?;
        rounds.compare()
    });
    let compared = match taken {
        Ok(compared) => compared,
        Err(error) => {
            folder.discard(); // it stays when there is a block in it
            return Err(error);
        }
    };
    keep(&compared, &folder)?;
    Ok((compared, folder))
}

/// Leaves the comparison and its page in the folder.
pub(crate) fn keep(compared: &Comparison, folder: &ExperimentFolder) -> anyhow::Result<()> {
    folder.write_comparison(compared)?;
    folder.write_report(&comparison::html(compared))?;
    Ok(())
}

/// Prints a comparison in `form`, as text with its `folder`.
pub(crate) fn print(
    compared: &Comparison,
    form: Form,
    folder: Option<&Path>,
) -> anyhow::Result<()> {
    let mut text = match form {
        Form::Json => compared.to_json(),
        Form::Markdown => comparison::markdown(compared),
        Form::Text => colour::for_stdout(&comparison::terminal(compared, columns())).into_owned(),
    };
    if let Some(folder) = folder.filter(|_| form == Form::Text) {
        text += &format!("report: {}\n", folder.join("report.html").display());
    }
    exit::print(&text)
}

/// The verdict as pipelines take it; `folder` is that of the experiment, or of the last run that was
/// compared.
pub(crate) fn verdict(compared: &Comparison, folder: Option<&Path>) -> plumb_pipeline::Verdict {
    let names: Vec<&str> = compared.variants.iter().map(|it| it.name.as_str()).collect();
    let title = format!("comparison of {}", names.join(", "));
    let everything = comparison::markdown(compared);
    let verdict = plumb_pipeline::Verdict::of_comparison(compared, title, everything);
    match folder {
        Some(folder) => verdict.recorded(folder.display().to_string()),
        None => verdict,
    }
}

/// What a comparison means for whoever called: a difference that was asked about stands before an
/// answer that is lacking.
pub(crate) fn exit(compared: &Comparison, fail_on: Option<FailOn>) -> Exit {
    let primary = || {
        compared.contrasts.iter().map(|contrast| {
            let endpoint = contrast.endpoints.first();
            endpoint.and_then(|endpoint| endpoint.verdict).unwrap_or(Verdict::None)
        })
    };
    if fail_on == Some(FailOn::Worse) && primary().any(|it| it == Verdict::Worse) {
        return Exit::Finding;
    }
    let answered = !compared.contrasts.is_empty() && primary().all(Verdict::is_answer);
    if answered { Exit::Ran } else { Exit::Unanswered }
}
