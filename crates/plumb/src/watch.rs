//! `plumb watch`: one measurement every few minutes, for as long as wanted, and what changed meanwhile.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::statistics::{CHANGE_SIDE_MIN, change_points};
use plumb_measure::{Clock as _, RemoteSelector, RunRecord, Span, counted, real};
use plumb_wire::secret;
use serde::{Deserialize, Serialize};

use crate::exit::{self, Exit};
use crate::job::{self, measurement};
use crate::measure::{Run, measure};
use crate::metrics::Receivers;
use crate::remote::measure_there;
use crate::signals;

/// The log of a watch: a line a measurement.
const LOG: &str = "watch.jsonl";
/// The command that is watched.
const COMMAND: &str = "command.txt";
/// Where its runs lie.
const RUNS: &str = "runs";
/// Options that belong to one measurement alone.
const OF_ONE: [&str; 7] = ["out", "json", "markdown", "junit", "sarif", "summary", "jtl"];
/// Lines of a log that are read at most: ten years of one every five minutes.
const LINES_MAX: usize = 1_100_000;

#[derive(Args, Clone, Debug)]
struct WatchOptions {
    /// Begin a measurement so often; one that takes longer leaves the next ones out
    #[arg(long, value_name = "TIME", default_value = "5m")]
    every: Span,

    /// End after this time [default: when it is stopped with Ctrl-C]
    #[arg(long = "for", value_name = "TIME")]
    for_time: Option<Span>,

    /// Keep the folders of so many runs, the last ones; the log keeps the figures of all
    #[arg(long, value_name = "N", default_value = "1000")]
    keep: usize,

    /// Have a remote measure, from where the users are: NAME, or nats://HOST:PORT/NAME
    #[arg(long, value_name = "REMOTE")]
    on: Option<RemoteSelector>,

    /// Folder of the watch; one that is there goes on
    #[arg(long, value_name = "DIR", default_value = "plumb-watch")]
    out: PathBuf,

    /// The measurement: words behind `plumb`, such as http load SCENARIO
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
}

/// The command line of `plumb watch`.
pub(crate) fn command() -> Command {
    WatchOptions::augment_args(Command::new("watch"))
        .about("Measure every few minutes, for weeks, and say when something changed")
        .long_about(
            "Measure every few minutes, for weeks, and say when something changed.\n\nEach measurement \
             leaves a run, and a line in watch.jsonl that stays: its median and 95th percentile, its \
             failures, or why there is none. What cannot be measured is counted, and the watch goes on. \
             At the end, and in `plumb ui`, the figures over time show where their level changed.",
        )
        .after_help(
            "Exit codes: 0 every measurement was made and valid; 1 one was not, or a level changed; 2 it \
             did not run.",
        )
}

/// One measurement of a watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    /// When it began, RFC 3339 in UTC.
    at: String,
    /// The folder of its run, below that of the watch; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    run: Option<String>,
    /// Correct answers.
    #[serde(default)]
    operations: u64,
    /// Failures.
    #[serde(default)]
    failures: u64,
    /// Median and 95th percentile of the response, nanoseconds; absent without correct answers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    p95_ns: Option<u64>,
    /// Whether its figures may be used.
    valid: bool,
    /// Why there are none, or what speaks against them first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    problem: Option<String>,
}

/// Measures again and again.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let mut options = WatchOptions::from_arg_matches(words)?;
    if options.every.ns() == 0 {
        bail!("--every 0s never ends: write for example --every 5m");
    }
    let stop = signals::stop()?;
    // what cannot be watched is said before anybody waits
    options.words = job::with_options(&options.words)?;
    let points = measurement(&options.words)?.outline().points;
    if points > 1 {
        bail!("{points} results a measurement: watch one, in a folder of its own");
    }
    job::refuse(&options.words, &OF_ONE)?;
    let receivers = match &options.on {
        None => job::receivers(&options.words)?,
        Some(_) => {
            job::refuse(&options.words, &["otlp", "remote_write", "metrics"])?;
            Receivers::default()
        }
    };
    let mut watch = Watch::open(&options.out, &watched(words, &options.words))?;
    let began_ns = MonotonicClock.now_ns();
    let until_ns = options.for_time.map_or(u64::MAX, |time| began_ns.saturating_add(time.ns()));
    let mut due_ns = began_ns;
    while due_ns < until_ns && !stop.asked() {
        if !stop.wait_until(due_ns)? {
            watch.measure(&options, &receivers, &stop)?;
        }
        // what was due meanwhile is left out: two at once would measure each other
        let now_ns = MonotonicClock.now_ns();
        let behind = now_ns.saturating_sub(due_ns) / options.every.ns();
        due_ns = due_ns.saturating_add((behind + 1).saturating_mul(options.every.ns()));
    }
    let summary = Summary::of(&watch.entries);
    exit::print(&summary.shown(&watch.entries))?;
    Ok(if summary.is_quiet() { Exit::Ran } else { Exit::Finding })
}

/// The command of `words`, and where it runs, in a line without what is secret in it.
fn watched(words: &ArgMatches, command: &[String]) -> String {
    let on = words.get_raw("on").into_iter().flatten();
    let on = on.flat_map(|remote| ["on".to_owned(), remote.to_string_lossy().into_owned()]);
    let all = secret::masked_words(&on.chain(command.iter().cloned()).collect::<Vec<_>>());
    shlex::try_join(all.iter().map(String::as_str)).unwrap_or_else(|_| all.join(" "))
}

/// A folder with what was measured so far.
struct Watch {
    folder: PathBuf,
    entries: Vec<Entry>,
    /// So many of its runs have gone.
    forgotten: usize,
}

impl Watch {
    /// Opens the watch of `command` in `folder`, or begins one.
    fn open(folder: &Path, command: &str) -> anyhow::Result<Self> {
        let (log, name) = (folder.join(LOG), folder.join(COMMAND));
        let text = read(&log)?;
        let watched = read(&name)?.filter(|it| !it.is_empty()); // empty, it was cut by a power failure
        if let Some(other) = watched.as_ref().filter(|it| it.trim_end() != command) {
            let other = other.trim_end();
            bail!("{} watches `{other}`: name another --out", folder.display());
        }
        let is_new = text.is_none() && !name.exists();
        if is_new && folder.is_dir() && fs::read_dir(folder)?.next().is_some() {
            bail!("{} holds something else: name another --out", folder.display());
        }
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        if watched.is_none() {
            // a file that is there stays whole when the disk is full
            let new = folder.join("command.txt.new");
            fs::write(&new, format!("{command}\n"))
                .and_then(|()| fs::rename(&new, &name))
                .inspect_err(|_| drop(fs::remove_file(&new)))
                .with_context(|| name.display().to_string())?;
        }
        fs::create_dir_all(folder.join(RUNS)).with_context(|| folder.display().to_string())?;
        let mut text = text.unwrap_or_default();
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            // the disk was full, or the machine stopped: its run is there without a line
            OpenOptions::new().write(true).open(&log)?.set_len(whole as u64)?;
            text.truncate(whole);
        }
        let mut entries = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if number > LINES_MAX {
                bail!("{} has more than {LINES_MAX} lines: name another --out", log.display());
            }
            let entry = serde_json::from_str(line)
                .with_context(|| format!("{}, line {number} is no measurement", log.display()))?;
            entries.push(entry);
        }
        Ok(Self { folder: folder.to_owned(), entries, forgotten: 0 })
    }

    /// Measures once, and writes down what came of it.
    fn measure(
        &mut self,
        options: &WatchOptions,
        receivers: &Receivers,
        stop: &Stop,
    ) -> anyhow::Result<()> {
        let at = clock::utc(clock::wall_ns());
        // several may begin within a second
        let name = format!("{RUNS}/{}-{}", at.replace(':', ""), self.entries.len() + 1);
        let out = self.folder.join(&name);
        let words = job::with_further(&options.words, &[format!("--out={}", out.display())]);
        let measured = measurement(&words).and_then(|mut job| match &options.on {
            Some(remote) => measure_there(remote, job.as_mut(), &words, stop),
            None => {
                let command: Vec<String> =
                    std::iter::once("plumb".to_owned()).chain(words.iter().cloned()).collect();
                measure(job.as_mut(), &command, "", receivers, stop)
            }
        });
        if stop.asked() {
            let _ = fs::remove_dir_all(&out); // half a measurement is none
            return Ok(());
        }
        let entry = match measured {
            Ok(run) => Entry::of(at, name, &run),
            Err(error) => Entry::none(at, format!("{error:#}")),
        };
        let mut log = OpenOptions::new().create(true).append(true).open(self.folder.join(LOG))?;
        // in one piece: a line is there or not
        log.write_all(format!("{}\n", serde_json::to_string(&entry)?).as_bytes())?;
        exit::print(&format!("{}\n", entry.shown()))?;
        self.entries.push(entry);
        self.forget(options.keep)
    }

    /// Removes the folders of the runs that are too many.
    fn forget(&mut self, keep: usize) -> anyhow::Result<()> {
        let runs: Vec<&String> =
            self.entries.iter().filter_map(|entry| entry.run.as_ref()).collect();
        let old = runs.len().saturating_sub(keep);
        for run in runs[..old].iter().skip(self.forgotten) {
            let folder = self.folder.join(run);
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| folder.display().to_string());
                }
                _ => {} // somebody may have removed it
            }
        }
        self.forgotten = old;
        Ok(())
    }
}

/// The text of a file, where there is one.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).with_context(|| path.display().to_string()),
    }
}

impl Entry {
    fn of(at: String, run: String, measured: &Run) -> Self {
        let record: &RunRecord = &measured.record;
        let results = &record.results;
        let times = results.first().and_then(|result| result.response_ns.as_ref());
        Self {
            at,
            run: Some(run),
            operations: results.iter().map(|result| result.operations).sum(),
            failures: results.iter().flat_map(|result| result.failures.values()).sum(),
            p50_ns: times.map(|times| times.p50),
            p95_ns: times.map(|times| times.p95),
            valid: record.validity.valid,
            problem: record.validity.reasons.first().map(|found| found.text.clone()),
        }
    }

    fn none(at: String, problem: String) -> Self {
        let problem = Some(problem);
        Self {
            at,
            run: None,
            operations: 0,
            failures: 0,
            p50_ns: None,
            p95_ns: None,
            valid: false,
            problem,
        }
    }

    fn shown(&self) -> String {
        let time = |ns: Option<u64>| ns.map_or("-".into(), |ns| Span::from_ns(ns).to_string());
        let problem = self.problem.as_ref().filter(|_| !self.valid);
        let problem = problem.map_or_else(String::new, |text| format!("; {text}"));
        format!(
            "{}: p50 {}, p95 {}, {} failed{problem}",
            self.at,
            time(self.p50_ns),
            time(self.p95_ns),
            self.failures
        )
    }
}

/// What a watch has seen.
#[derive(Clone, Debug, PartialEq)]
struct Summary {
    all: usize,
    /// Those of which there are no figures.
    missing: usize,
    /// Those whose figures may not be used.
    invalid: usize,
    /// The first measurement at another level of the median, its level and the one before.
    changes: Vec<(String, Span, Span)>,
}

impl Summary {
    fn of(entries: &[Entry]) -> Self {
        let valid: Vec<(&Entry, f64)> = entries
            .iter()
            .filter(|entry| entry.valid)
            .filter_map(|entry| Some((entry, real(entry.p50_ns?))))
            .collect();
        let series: Vec<f64> = valid.iter().map(|(_, ns)| *ns).collect();
        let changes = change_points(&series).into_iter().filter_map(|change| {
            let (entry, _) = valid.get(change.at)?;
            Some((entry.at.clone(), span(change.before), span(change.after)))
        });
        let unusable = entries.iter().filter(|entry| !entry.valid);
        let missing = unusable.clone().filter(|entry| entry.p50_ns.is_none()).count();
        let invalid = unusable.count() - missing;
        Self { all: entries.len(), missing, invalid, changes: changes.collect() }
    }

    /// True when nothing is to be looked at.
    fn is_quiet(&self) -> bool {
        self.missing == 0 && self.invalid == 0 && self.changes.is_empty()
    }

    fn shown(&self, entries: &[Entry]) -> String {
        let Self { all, missing, invalid, changes } = self;
        let mut text = counted(*all as u64, "measurement");
        if *missing > 0 {
            text += &format!(", {missing} without an answer");
        }
        if *invalid > 0 {
            text += &format!(", {invalid} not valid");
        }
        text.push('\n');
        for (at, before, after) in changes {
            text += &format!(
                "the median changed with the measurement of {at}: {before} before, {after} since\n"
            );
        }
        let used = entries.iter().filter(|entry| entry.valid && entry.p50_ns.is_some()).count();
        if used == 0 && entries.iter().any(|entry| entry.valid) {
            text += "without response times no change can be looked for\n";
        } else if changes.is_empty() {
            text += &match used >= 2 * CHANGE_SIDE_MIN {
                true => "no change of the median was found\n".to_owned(),
                false => format!(
                    "too few to look for changes: {used} valid ones, {} are needed\n",
                    2 * CHANGE_SIDE_MIN
                ),
            };
        }
        text
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time that was measured; a cast to an integer saturates"
)]
fn span(ns: f64) -> Span {
    Span::from_ns(ns.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize, ns: Option<u64>, valid: bool) -> Entry {
        Entry { p50_ns: ns, valid, ..Entry::none(format!("t{number}"), "nobody answers".into()) }
    }

    /// Medians that scatter a little around `ns`.
    fn around(ns: u64, count: usize) -> impl Iterator<Item = u64> {
        (0..count as u64).map(move |n| ns + n * 7_919 % 1_000)
    }

    #[test]
    fn a_level_that_changed_is_named_with_its_first_measurement() {
        let times = around(100_000, 30).chain(around(150_000, 30));
        let entries: Vec<Entry> =
            times.enumerate().map(|(number, ns)| entry(number, Some(ns), true)).collect();
        let summary = Summary::of(&entries);
        assert_eq!(summary.changes.len(), 1, "{summary:?}");
        assert_eq!(summary.changes[0].0, "t30");
        assert!(!summary.is_quiet());
        assert!(summary.shown(&entries).contains("measurement of t30: 100"), "{summary:?}");
        let even = Summary::of(&entries[..30]);
        assert!(even.is_quiet(), "{even:?}");
        assert!(even.shown(&entries[..30]).contains("no change of the median"));
    }

    #[test]
    fn what_is_missing_or_not_valid_is_counted_and_makes_no_level() {
        let mut entries: Vec<Entry> = around(100_000, 30)
            .enumerate()
            .map(|(number, ns)| entry(number, Some(ns), true))
            .collect();
        entries.extend((30..60).map(|number| entry(number, Some(900_000), false)));
        entries.push(entry(60, None, false));
        let summary = Summary::of(&entries);
        assert_eq!((summary.all, summary.missing, summary.invalid), (61, 1, 30));
        assert_eq!(summary.changes, []);
        let invalid = &entries[30..33];
        let shown = Summary::of(invalid).shown(invalid);
        assert!(shown.contains("too few to look for changes: 0 valid ones"), "{shown}");
        let without = [entry(1, None, true)];
        let shown = Summary::of(&without).shown(&without);
        assert!(shown.contains("without response times"), "{shown}");
        let few = Summary::of(&entries[..3]).shown(&entries[..3]);
        assert!(few.contains("too few to look for changes: 3 valid ones"), "{few}");
    }
}
