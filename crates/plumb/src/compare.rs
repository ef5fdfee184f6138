//! `plumb compare`: what stored runs, or a stored experiment, say.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_comparison::Comparison;
use plumb_engine::clock;
use plumb_folder::{is_experiment, read_order, read_record};
use plumb_lab::{
    Experiment, Faults, OrderRecord, SeparateRun, VariantBlocks, interleaved, separate,
};
use plumb_report::comparison;

use crate::experiment::{self, AdmissionOptions, FailOn};
use crate::pipeline::VerdictFiles;
use plumb_command::Exit;
use plumb_options::FormOptions;

#[derive(Args, Clone, Debug)]
struct CompareOptions {
    /// Folders of runs, the first is the baseline; or of one experiment
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,

    #[command(flatten)]
    admission: AdmissionOptions,

    /// Exit with 1 when a candidate is worse, with 3 when that cannot be told
    #[arg(long, value_name = "WHAT")]
    fail_on: Option<FailOn>,

    /// Write the page to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    form: FormOptions,
}

/// The command line of `plumb compare`.
pub(crate) fn command() -> Command {
    CompareOptions::augment_args(Command::new("compare"))
        .about("Compare stored runs, or evaluate a stored experiment again")
        .long_about(
            "Compares stored runs with the first of them, or evaluates the pairs of a stored \
             experiment again. Runs that were not taken in turns get no verdict: nothing can tell \
             the change from whatever else changed between them.",
        )
        .after_help(
            "Exit codes: 0 compared; 1 --fail-on was met; 2 refused; 3 --fail-on was given, and there \
             is no verdict, or a difference cannot be tested.",
        )
}

/// Compares what `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = CompareOptions::from_arg_matches(words)?;
    let files = VerdictFiles::of(words)?;
    let faults = Faults::from(options.admission);
    let compared = match options.runs.as_slice() {
        [only] => {
            ensure!(
                is_experiment(only),
                "{} is no experiment: name two runs or more, or the folder of one experiment",
                only.display()
            );
            stored_experiment(only, faults)?
        }
        runs => separate_runs(runs, faults)?,
    };
    if let Some(file) = &options.html {
        std::fs::write(file, comparison::html(&compared)).with_context(|| {
            format!("cannot write {}; name a file in a folder you may write to", file.display())
        })?;
    }
    files.write(|| experiment::verdict(&compared, options.runs.last().map(PathBuf::as_path)))?;
    experiment::print(&compared, options.form.into(), None)?;
    Ok(match options.fail_on {
        None => Exit::Ran,
        Some(fail_on) => experiment::exit(&compared, Some(fail_on)),
    })
}

/// The page of the comparison of `runs`, the first of which is the baseline.
///
/// # Errors
/// When they cannot be compared.
pub(crate) fn page(runs: &[PathBuf]) -> anyhow::Result<String> {
    Ok(comparison::html(&separate_runs(runs, Faults::default())?))
}

/// Reads the blocks of an experiment and compares them anew.
pub(crate) fn stored_experiment(folder: &Path, faults: Faults) -> anyhow::Result<Comparison> {
    let order = OrderRecord::from_json(&read_order(folder)?)
        .with_context(|| format!("{}", folder.display()))?;
    let variants = VariantBlocks::read(&order, folder)?;
    let now = clock::utc(clock::wall_ns());
    Ok(interleaved(&experiment::program(), now, &Experiment::of(&order, faults), &variants)?)
}

/// Reads runs that were taken one after another and compares them with the first.
fn separate_runs(folders: &[PathBuf], faults: Faults) -> anyhow::Result<Comparison> {
    let runs = folders.iter().map(|folder| {
        ensure!(
            !is_experiment(folder),
            "{} is an experiment: its pairs are compared by naming it alone",
            folder.display()
        );
        let (name, record) = (folder.display().to_string(), read_record(folder)?);
        Ok(SeparateRun { name, record, folder: folder.clone() })
    });
    compared(&runs.collect::<anyhow::Result<Vec<_>>>()?, faults)
}

/// Compares runs that were taken one after another with the first of them.
pub(crate) fn compared(runs: &[SeparateRun], faults: Faults) -> anyhow::Result<Comparison> {
    Ok(separate(&experiment::program(), clock::utc(clock::wall_ns()), runs, faults)?)
}
