//! `plumb watch`: one measurement every few minutes, for as long as wanted, and what changed meanwhile.

mod entry;
mod folder;
mod summary;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_command::{Exit, exit, signals};
use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::{Clock as _, RemoteSelector, Span};
use plumb_wire::secret;

use crate::experiment::words_of;
use crate::job::{self, measurement};
use crate::measure::{Run, measure};
use crate::metrics::Receivers;
use crate::remote::measure_there;
use folder::WatchFolder;
use summary::Summary;

/// Options that belong to one measurement alone.
const OF_ONE: [&str; 7] = ["out", "json", "markdown", "junit", "sarif", "summary", "jtl"];

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
             failures, or why there is none. What cannot be measured is counted, and the watch goes on; \
             a line for which there is no room is written as soon as there is. At the end, and in \
             `plumb ui`, the figures over time show where their level changed.",
        )
        .after_help(
            "Exit codes: 0 every measurement was made, valid and within its thresholds; 1 one was not, or \
             a level changed; 2 it did not run, or what it measured could not be written down.",
        )
}

/// Measures again and again.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let mut options = WatchOptions::from_arg_matches(words)?;
    if options.every.ns() == 0 {
        bail!("--every 0s never ends: write for example --every 5m");
    }
    let stop = signals::stop()?;
    if let [line] = &options.words[..]
        && line.contains(char::is_whitespace)
    {
        options.words = words_of(line)?; // one in quotation marks, as `plumb ab` takes it
    }
    // what cannot be watched is said before anybody waits
    options.words = job::with_options(&options.words)?;
    job::into_folder(&options.out)?;
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
    let mut watch = WatchFolder::open(&options.out, &watched(words, &options.words))?;
    let began_ns = MonotonicClock.now_ns();
    let until_ns = options.for_time.map_or(u64::MAX, |time| began_ns.saturating_add(time.ns()));
    let mut due_ns = began_ns;
    while due_ns < until_ns && !stop.asked() {
        if !stop.wait_until(due_ns)? {
            let at = clock::utc(clock::wall_ns());
            let run = watch.next_run(&at);
            let measured = options.measure(&watch.path(&run), &receivers, &stop);
            let measured = measured.and_then(Run::kept);
            match stop.asked() {
                true => watch.discard(&run), // half a measurement is none
                false => watch.keep((at, run), measured, options.keep),
            }
        }
        // what was due meanwhile is left out: two at once would measure each other
        let now_ns = MonotonicClock.now_ns();
        let behind = now_ns.saturating_sub(due_ns) / options.every.ns();
        due_ns = due_ns.saturating_add((behind + 1).saturating_mul(options.every.ns()));
    }
    let written = watch.end();
    let summary = Summary::of(watch.entries());
    exit::print(&summary.shown(watch.entries()))?;
    written?;
    Ok(if summary.is_quiet() { Exit::Ran } else { Exit::Finding })
}

impl WatchOptions {
    /// Measures once, into the folder `out`.
    fn measure(&self, out: &Path, receivers: &Receivers, stop: &Stop) -> anyhow::Result<Run> {
        let words = job::with_further(&self.words, &[job::into_folder(out)?]);
        let mut job = measurement(&words)?;
        if let Some(remote) = &self.on {
            return measure_there(remote, job.as_mut(), &words, stop);
        }
        let command: Vec<String> = std::iter::once("plumb".to_owned()).chain(words).collect();
        measure(job.as_mut(), &command, "", receivers, stop)
    }
}

/// The command of `words`, and where it runs, in a line without what is secret in it.
fn watched(words: &ArgMatches, command: &[String]) -> String {
    let on = words.get_raw("on").into_iter().flatten();
    let on = on.flat_map(|remote| ["on".to_owned(), remote.to_string_lossy().into_owned()]);
    let all = secret::masked_words(&on.chain(command.iter().cloned()).collect::<Vec<_>>());
    shlex::try_join(all.iter().map(String::as_str)).unwrap_or_else(|_| all.join(" "))
}
