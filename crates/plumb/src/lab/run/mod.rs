//! `plumb lab run`: the experiment of a file, variants x factors x probes in interleaved rounds.

mod order;
mod prediction;
mod stored;
mod view;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, ensure};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_engine::options::HostOptions;
use plumb_experiment::{ExperimentFile, is_ladder};
use plumb_folder::ExperimentFolder;
use plumb_measure::counted;
use plumb_wire::document;

use crate::experiment::{self, AdmissionOptions, FailOn, Overrides, Plan, Rounds};
use crate::lab::ladder;
use crate::pipeline::VerdictFiles;
use plumb_command::{Exit, signals};
use plumb_options::FormOptions;
use prediction::Prediction;
use view::View;

#[derive(Args, Clone, Debug)]
struct RunOptions {
    /// The experiment: variants, factors, probes, servers
    #[arg(value_name = "EXPERIMENT", required_unless_present = "resume")]
    file: Option<PathBuf>,

    /// Show the order and the predicted time, and measure nothing
    #[arg(long, conflicts_with = "resume")]
    dry_run: bool,

    /// Go on with the experiment in this folder; blocks that are measured already are not repeated
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "rounds"])]
    resume: Option<PathBuf>,

    /// Number of complete rounds, in place of the file's
    #[arg(long, value_name = "N")]
    rounds: Option<u64>,

    #[command(flatten)]
    admission: AdmissionOptions,

    /// Exit with 1 when a candidate is worse in any cell, with 3 when a cell cannot be judged
    #[arg(long, value_name = "WHAT")]
    fail_on: Option<FailOn>,

    /// Folder for the experiment [default: plumb-runs/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    form: FormOptions,

    #[command(flatten)]
    host: HostOptions,
}

/// The command line of `plumb lab run`.
pub(super) fn command() -> Command {
    RunOptions::augment_args(Command::new("run"))
        .about("Run the experiment of a file: variants, factors and probes in interleaved rounds")
        .long_about(
            "Measures every variant with every probe at every combination of the levels of all \
             factors, once a round, in an order drawn from a seed. The blocks of one cell stand next \
             to each other in time, and each candidate is compared with the baseline cell by cell. A file \
             with a [ladder] puts one landscape under more and more load, for `plumb size`. \
             docs/lab.md describes both.",
        )
        .after_help(
            "Examples:\n  \
             plumb lab run nagle.toml --dry-run\n  \
             plumb lab run nagle.toml --out nagle\n  \
             plumb lab run --resume nagle\n  \
             plumb compare nagle\n\n\
             Exit codes: 0 it ran and there is a verdict everywhere; 1 --fail-on was met; 2 it did not \
             run; 3 there is no verdict somewhere, or a difference cannot be tested; 130 interrupted: \
             go on with --resume DIR.",
        )
}

/// Runs what `words` name.
pub(super) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = RunOptions::from_arg_matches(words)?;
    let files = VerdictFiles::of(words)?;
    if let Some(file) = &options.file
        && options.resume.is_none()
    {
        let text = stored::text_of(file)?;
        if is_ladder(&text) {
            ensure!(
                files.is_empty(),
                "--junit, --sarif and --summary hold a verdict, and a ladder gives none: leave them out"
            );
            return options.climb((file, &text));
        }
    }
    if options.dry_run {
        let asked = Asked::read(&options.path()?, options.overrides())?;
        order::show(&asked.name, &asked.plan, options.form.into())?;
        return Ok(Exit::Ran);
    }
    let stop = signals::stop()?;
    signals::end_with_starter()?;
    match &options.resume {
        Some(path) => {
            let folder = stored::open(path)?;
            let stored = stored::read(&folder, options.file.as_deref(), options.overrides())?;
            let rounds = Rounds::again(&stored.asked.plan, &folder, stored.order)?;
            finish(&options, &files, &stored.asked, &folder, rounds, &stop)
        }
        None => {
            let asked = Asked::read(&options.path()?, options.overrides())?;
            asked.plan.can_fill(options.out.as_deref())?;
            let folder = experiment::open_folder(options.out.as_deref(), &asked.name)?;
            let done = Rounds::new(&asked.plan, &folder, &asked.text)
                .and_then(|rounds| finish(&options, &files, &asked, &folder, rounds, &stop));
            if done.is_err() {
                folder.discard(); // it stays when there is a block in it
            }
            done
        }
    }
}

impl RunOptions {
    /// Takes the ladder of a file.
    fn climb(&self, (file, text): (&Path, &str)) -> anyhow::Result<Exit> {
        ensure!(
            self.rounds.is_none() && self.fail_on.is_none() && !self.admission.is_given(),
            "--rounds, --fail-on and --accept-... belong to variants, and a ladder has none: leave \
             them out"
        );
        if self.dry_run {
            return ladder::show((file, text), self.form.into());
        }
        let stop = signals::stop()?;
        signals::end_with_starter()?;
        ladder::run((file, text), self.out.as_deref(), (self.form.into(), &self.host), &stop)
    }

    fn path(&self) -> anyhow::Result<PathBuf> {
        self.file.clone().ok_or_else(|| anyhow!("name the experiment file"))
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            rounds: self.rounds,
            seed: None,
            faults: self.admission.into(),
            host: self.host.clone(),
        }
    }
}

/// Takes the blocks that are lacking, and tells what they say.
fn finish(
    options: &RunOptions,
    files: &VerdictFiles,
    asked: &Asked,
    folder: &ExperimentFolder,
    mut rounds: Rounds<'_>,
    stop: &plumb_engine::Stop,
) -> anyhow::Result<Exit> {
    let prediction = Prediction::of(&asked.plan);
    let done = match rounds.taken() {
        0 => String::new(),
        1 => "1 block is there; in all ".into(),
        done => format!("{} are there; in all ", counted(done as u64, "block")),
    };
    let words = prediction.words(asked.plan.extent);
    let into = folder.path().display();
    // nobody may be there to read it
    let _ = writeln!(io::stderr(), "{}: {done}{words}; folder {into}", asked.name);
    rounds.run(stop, &mut View::new(prediction, asked.plan.extent))?;
    let compared = rounds.compare()?;
    drop(rounds); // its servers have nothing more to do
    experiment::keep(&compared, folder)?;
    let printed = experiment::print(&compared, options.form.into(), Some(folder.path()));
    files.write(|| {
        let verdict = experiment::verdict(&compared, Some(folder.path()));
        if stop.asked() { verdict.interrupted() } else { verdict }
    })?;
    printed?;
    let go_on = stored::goes_on_by(folder.path(), options.file.as_deref());
    if stop.asked() {
        let _ = writeln!(io::stderr(), "interrupted; go on with: {go_on}");
        return Ok(Exit::Interrupted);
    }
    if let Some(reason) = &compared.design.cut_short {
        let _ = writeln!(
            io::stderr(),
            "it ended early: {reason}; when that is mended go on with: {go_on}"
        );
    }
    Ok(experiment::exit(&compared, options.fail_on))
}

/// An experiment file and what it asks for.
struct Asked {
    text: String,
    name: String,
    plan: Plan,
}

impl Asked {
    /// Reads the file at `path`, whose name is that of an experiment that gives itself none.
    fn read(path: &Path, overrides: Overrides) -> anyhow::Result<Self> {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Self::of(path, stored::text_of(path)?, stem.unwrap_or_default(), overrides)
    }

    fn of(path: &Path, text: String, stem: String, overrides: Overrides) -> anyhow::Result<Self> {
        let file: ExperimentFile =
            document::read(&text).map_err(|wrong| anyhow!("{}, {wrong}", path.display()))?;
        let plan = Plan::of(&file, overrides).map_err(|fault| match fault.placed(&text) {
            Some(wrong) => anyhow!("{}, {wrong}", path.display()),
            None => anyhow!("{}: {fault}", path.display()),
        })?;
        let name = file.name.map_or(stem, |name| name.into_inner());
        let safe = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let name: String = name.chars().map(safe).collect();
        let name = name.trim_matches(['-', '.']).to_owned();
        let name = if name.is_empty() { "experiment".into() } else { name };
        Ok(Self { text, name, plan })
    }
}
