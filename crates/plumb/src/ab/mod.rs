//! `plumb ab`: did the change help? Variants in interleaved pairs, and one sentence.

mod options;
mod rounds;
mod shell;
mod variant;

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use plumb_engine::clock;
use plumb_engine::options::OutputOptions;
use plumb_measure::{Comparison, Program, Verdict};
use plumb_report::{ExperimentFolder, comparison};

use options::AbOptions;
pub(crate) use options::FailOn;
pub(crate) use rounds::{Plan, Rounds};
pub(crate) use variant::Variant;

use crate::exit::Exit;
use crate::signals;

/// The command line of `plumb ab`.
pub(crate) fn command() -> Command {
    AbOptions::augment_args(Command::new("ab"))
        .about("Did the change help? Compare commands in interleaved pairs")
        .long_about(
            "Measures two or more commands in turns, in random order within each round, and says \
             whether the candidates are better or worse than the first, by an exact rank test of \
             the pairs. What changes on the machine meanwhile falls on all alike.",
        )
        .after_help(
            "Examples:\n  \
             plumb ab \"net ping db1\" \"net ping db1 --transport unix:/run/echo\"\n  \
             plumb ab --exec --pairs 12 \"./old.sh\" \"./new.sh\"\n  \
             plumb ab --before-a ./off.sh --before-b ./on.sh \"net ping db1\" \"net ping db1\"\n\n\
             A shell command that exits with 75 could not measure now: its pair is taken again.\n\n\
             Exit codes: 0 it ran; 1 there is no verdict, or --fail-on was met; 2 it did not run; \
             130 interrupted.",
        )
}

/// Compares what `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = AbOptions::from_arg_matches(words)?;
    let plan = options.plan()?;
    let stop = signals::stop()?;
    let folder = open_folder(&options.output, "ab")?;
    let mut rounds = Rounds::new(&plan, &folder)?;
    if let Err(error) = rounds.run(&stop) {
        drop(rounds);
        folder.discard();
        return Err(error);
    }
    let compared = rounds.compare()?;
    keep(&compared, &folder)?;
    print(&compared, &options.output, Some(folder.path()))?;
    Ok(if stop.asked() { Exit::Interrupted } else { exit(&compared, options.fail_on) })
}

/// The program that compares, for the record.
pub(crate) fn program() -> Program {
    Program { version: env!("CARGO_PKG_VERSION").into() }
}

/// The folder of an experiment called `name`, where `output` wants it.
pub(crate) fn open_folder(output: &OutputOptions, name: &str) -> anyhow::Result<ExperimentFolder> {
    Ok(match &output.out {
        Some(path) => ExperimentFolder::create_new(path)?,
        None => {
            let time = clock::utc(clock::wall_ns()).replace(':', "");
            ExperimentFolder::create_in(Path::new("plumb-runs"), &format!("{time}-{name}"))?
        }
    })
}

/// Leaves the comparison and its page in the folder.
pub(crate) fn keep(compared: &Comparison, folder: &ExperimentFolder) -> anyhow::Result<()> {
    folder.write_comparison(compared)?;
    folder.write_report(&comparison::html(compared))?;
    Ok(())
}

/// Prints a comparison in the form asked for.
pub(crate) fn print(
    compared: &Comparison,
    output: &OutputOptions,
    folder: Option<&Path>,
) -> anyhow::Result<()> {
    let mut out = io::stdout();
    if output.json {
        write!(out, "{}", compared.to_json())?;
    } else if output.markdown {
        write!(out, "{}", comparison::markdown(compared))?;
    } else {
        write!(out, "{}", comparison::terminal(compared))?;
        if let Some(folder) = folder {
            writeln!(out, "report: {}", folder.join("report.html").display())?;
        }
    }
    out.flush().context("standard output cannot be written")
}

/// What a comparison means for whoever called.
pub(crate) fn exit(compared: &Comparison, fail_on: Option<FailOn>) -> Exit {
    let primary = || {
        compared.contrasts.iter().map(|contrast| {
            contrast
                .endpoints
                .first()
                .and_then(|endpoint| endpoint.verdict)
                .unwrap_or(Verdict::None)
        })
    };
    let undecided = compared.contrasts.is_empty() || primary().any(|it| it == Verdict::None);
    let worse = fail_on == Some(FailOn::Worse) && primary().any(|it| it == Verdict::Worse);
    if undecided || worse { Exit::Finding } else { Exit::Ran }
}
