//! `plumb baseline check`: whether a run is worse than its baseline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_comparison::{Comparison, Contrast, Endpoint, signed};
use plumb_folder::{Baseline, Baselines, RECORD, read_record};
use plumb_lab::{Admission, Faults, SeparateRun};
use plumb_measure::{RunRecord, Share};
use plumb_page::table::escaped;
use plumb_pipeline::{Held, Verdict, deciding, interval_words, limit, undecided};
use plumb_report::{comparison, terminal};
use serde::Serialize;

use super::{RunsOptions, folder_of, latest, unknown};
use crate::compare;
use crate::experiment::{self, AdmissionOptions};
use crate::pipeline::{self, VerdictFiles};
use crate::progress::columns;
use plumb_command::{Exit, exit};
use plumb_options::{Form, FormOptions};

#[derive(Args, Clone, Debug)]
struct CheckOptions {
    /// What the baseline is called
    #[arg(value_name = "NAME")]
    name: String,

    /// The folder of the run [default: the last run of the baseline's plan in the folder of runs]
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,

    /// The run may be worse than the baseline by so much [default: what plumb baseline set said]
    #[arg(long, value_name = "PERCENT")]
    tolerance: Option<Share>,

    #[command(flatten)]
    runs: RunsOptions,

    #[command(flatten)]
    admission: AdmissionOptions,

    #[command(flatten)]
    form: FormOptions,
}

/// The command line of `plumb baseline check`.
pub(super) fn command() -> Command {
    CheckOptions::augment_args(Command::new("check"))
        .about("Compare a run with a baseline, and fail when it is worse")
        .long_about(
            "Compares a run with a baseline as plumb compare does. The primary figure, the median \
             response time or the throughput, may be worse by --tolerance; so may a throughput, or at a rate and \
             of users of a scenario the mean, beside a median that hides it. That is a limit, no \
             test: runs that were taken one after another hold whatever changed between them, too, \
             so choose it wider than equal runs differ. The run is within it, or worse, where all of \
             the interval of the change is; where the tolerance lies in the interval, and without an \
             interval, nobody can tell: measure longer, and keep intervals.hlog of both runs. \
             Whether a change helped is for plumb ab to say.",
        )
        .after_help(
            "Exit codes: 0 the run is within the tolerance; 1 it is worse, or its figures are not \
             valid; 2 refused; 3 nobody can tell: no tolerance was given, it lies in the interval \
             of the change, there is no interval, a throughput is a lower bound, something was not \
             checked, or no figure of both can be compared.",
        )
}

/// Compares what `words` name.
pub(super) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = CheckOptions::from_arg_matches(words)?;
    let files = VerdictFiles::of(words)?;
    let runs = &options.runs.folder;
    let all = Baselines::read(runs)?;
    let baseline = all.find(&options.name).ok_or_else(|| unknown(&all, &options.name, runs))?;
    baseline.verify(runs)?;
    let of_baseline = baseline.path(runs);
    let (path, record) = match &options.run {
        Some(path) => (folder_of(path), read_record(path)?),
        None => latest::of_plan(runs, &read_record(&of_baseline)?, &of_baseline)?,
    };
    let faults = Faults::from(options.admission);
    if let Some(exit) = spoiled(&record, faults) {
        let sentence = plumb_report::sentence(&record);
        files.write(|| pipeline::of_run(&record, &path))?;
        exit::note(&format!("{} is not compared: {sentence}", path.display()));
        return Ok(exit);
    }
    // a baseline that was accepted when it was set stays one
    let of_both = Faults { invalid: Admission::Accept, unchecked: Admission::Accept };
    let name = baseline.name.clone();
    let record_of_baseline = read_record(&of_baseline)?;
    let second = name_of(&path, &name);
    let first = SeparateRun { name, record: record_of_baseline, folder: of_baseline };
    let second = SeparateRun { name: second, record, folder: path.clone() };
    let compared = compare::compared(&[first, second], of_both)?;
    let tolerance = options.tolerance.map(Share::of_one).or(baseline.tolerance);
    files.write(|| {
        let title = format!("baseline {}: {}", baseline.name, baseline.plan);
        let everything = comparison::markdown(&compared);
        Verdict::of_baseline(&compared, tolerance, title, everything)
            .recorded(path.join(RECORD).display().to_string())
    })?;
    match Form::from(options.form) {
        Form::Json => exit::print(&Checked::of(&compared, baseline, tolerance).to_json())?,
        Form::Text => {
            say(&compared, baseline, tolerance)?;
            experiment::print(&compared, Form::Text, None)?;
        }
        Form::Markdown => {
            let said = decisions(&compared, tolerance);
            let said: String = said.iter().map(|line| format!("- {}\n", escaped(line))).collect();
            exit::print(&format!("## Baseline {}\n\n{said}\n", escaped(&baseline.name)))?;
            experiment::print(&compared, Form::Markdown, None)?;
        }
    }
    Ok(exit(&compared, tolerance))
}

/// How the check ends when the run alone forbids a comparison.
fn spoiled(record: &RunRecord, faults: Faults) -> Option<Exit> {
    let validity = &record.validity;
    match (validity.valid, validity.is_checked()) {
        (true, _) => None,
        (false, true) => matches!(faults.invalid, Admission::Refuse).then_some(Exit::Finding),
        (false, false) => matches!(faults.unchecked, Admission::Refuse).then_some(Exit::Unanswered),
    }
}

/// What a run is called in tables: as its folder, unless the baseline is called so.
fn name_of(path: &Path, baseline: &str) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| name != baseline).unwrap_or_else(|| path.display().to_string())
}

/// A comparison, and what was decided by the tolerance.
#[derive(Serialize)]
struct Checked<'a> {
    #[serde(flatten)]
    compared: &'a Comparison,
    baseline: Decided<'a>,
}

/// How a run stands to its baseline.
#[derive(Serialize)]
struct Decided<'a> {
    name: &'a str,
    /// A share of the baseline from 0 to 1.
    tolerance: Option<f64>,
    points: Vec<DecidedPoint<'a>>,
}

/// How one point stands to that of the baseline. Changes are improvements in percent.
#[derive(Serialize)]
struct DecidedPoint<'a> {
    labels: &'a BTreeMap<String, String>,
    /// The key of the figure that decides.
    figure: Option<&'a str>,
    change_pct: Option<f64>,
    /// Its 95 % interval, the worse end first.
    interval_pct: Option<(f64, f64)>,
    decided: &'static str,
    /// Why it is neither within the tolerance nor worse.
    why: Option<&'static str>,
}

impl<'a> Checked<'a> {
    fn of(compared: &'a Comparison, baseline: &'a Baseline, tolerance: Option<f64>) -> Self {
        let point = |contrast: &'a Contrast| {
            let found = deciding(contrast, tolerance);
            let change = found.and_then(|it| Some(it.improvement(it.ratio?)));
            let (decided, why) = match Held::of(contrast, tolerance) {
                Held::Within => ("within", None),
                Held::Beyond => ("worse", None),
                Held::Undecided(doubt) => ("undecided", Some(doubt.name())),
                Held::Unknown if tolerance.is_none() => ("unknown", Some("no-tolerance")),
                Held::Unknown => ("unknown", Some("not-comparable")),
            };
            DecidedPoint {
                labels: &contrast.labels,
                figure: found.map(|it| it.key.as_str()),
                change_pct: change.filter(|it| it.is_finite()),
                interval_pct: found.and_then(Endpoint::improvement_interval),
                decided,
                why,
            }
        };
        let points = compared.contrasts.iter().map(point).collect();
        Self { compared, baseline: Decided { name: &baseline.name, tolerance, points } }
    }

    fn to_json(&self) -> String {
        match serde_json::to_string_pretty(self) {
            Ok(text) => text + "\n",
            Err(error) => unreachable!("a comparison is made of plain values: {error}"),
        }
    }
}

/// How each figure stands to its tolerance: that comes first.
fn say(compared: &Comparison, baseline: &Baseline, tolerance: Option<f64>) -> anyhow::Result<()> {
    let lines = decisions(compared, tolerance).into_iter();
    let text: String = lines
        .map(|line| terminal::paragraph(&format!("baseline {}: {line}", baseline.name), columns()))
        .collect();
    exit::print(&(text + "\n"))
}

/// How the figure that decides stands to its tolerance at each point, in words.
fn decisions(compared: &Comparison, tolerance: Option<f64>) -> Vec<String> {
    let decision = |contrast: &Contrast| {
        let found = deciding(contrast, tolerance);
        let figure = found.map_or("figures", |it| it.name.as_str());
        let change = found.and_then(|it| signed(it.improvement(it.ratio?)));
        let interval = found.filter(|_| change.is_some()).map_or_else(String::new, interval_words);
        let change = change.unwrap_or_else(|| "-".into());
        let limit = limit(tolerance);
        let said = match Held::of(contrast, tolerance) {
            Held::Within => format!("within the tolerance of {limit}"),
            Held::Beyond => format!("WORSE than the tolerance of {limit}"),
            Held::Undecided(doubt) => undecided(tolerance, doubt),
            Held::Unknown if tolerance.is_some() => "nothing can be compared".into(),
            Held::Unknown => "no verdict: give --tolerance".into(),
        };
        let point = contrast.name();
        let point = if point.is_empty() { String::new() } else { format!("{point}: ") };
        let accepted = compared.accepted_load.map(|it| format!("; {}", it.words()));
        let accepted = accepted.unwrap_or_default();
        format!("{point}{figure} {change} %{interval}, {said}{accepted}")
    };
    compared.contrasts.iter().map(decision).collect()
}

fn exit(compared: &Comparison, tolerance: Option<f64>) -> Exit {
    let held: Vec<Held> = compared.contrasts.iter().map(|it| Held::of(it, tolerance)).collect();
    if held.contains(&Held::Beyond) {
        Exit::Finding
    } else if held.is_empty() || held.iter().any(|it| *it != Held::Within) {
        Exit::Unanswered
    } else {
        Exit::Ran
    }
}
