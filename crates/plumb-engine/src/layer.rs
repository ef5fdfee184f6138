//! The door between a layer and the program: generic behind it, erased once here.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use clap::{ArgMatches, Command};
use plumb_link::tls::TrustOptions;
use plumb_measure::{Floor, RemoteSelector, ResultRecord, Span, Transport};
use plumb_socket::{Listener, Stop};
use serde_json::Value;

use crate::clock;
use crate::gate::Gate;
use crate::load::{LoadResult, Sampler};
use crate::options::OutputOptions;
use crate::plan::LoadPlan;
use crate::result::Lengths;

/// Why a job did not run. The message is one line with cause and remedy.
pub type JobError = Box<dyn Error + Send + Sync>;

/// Where a server writes: standard output, or its log.
pub type Output<'a> = &'a mut (dyn Write + Send);

/// A layer of the landscape.
pub trait Layer: Sync {
    /// Its command, with one subcommand a verb.
    fn command(&self) -> Command;

    /// What the words of the command line ask for.
    ///
    /// # Errors
    /// When the words contradict each other; see [`JobError`].
    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError>;

    /// True when `matches` say how long a measurement lasts, although they hold neither `--for` nor
    /// `--count`: a file that they name does.
    ///
    /// # Errors
    /// When that file cannot be read.
    fn says_length(&self, matches: &ArgMatches) -> Result<bool, JobError> {
        let _ = matches;
        Ok(false)
    }
}

/// What a verb does.
pub enum Job {
    /// Measures something and leaves a run.
    Measure(Box<dyn Measure>),
    /// Does something else: serves until it is told to stop, writes a file, shows what is there.
    Verb(Box<dyn Verb>),
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Measure(_) => "Measure",
            Self::Verb(_) => "Verb",
        })
    }
}

/// What a measurement is going to do, for the run record.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Layer, for example `net`.
    pub layer: &'static str,
    /// Verb, for example `ping`.
    pub verb: &'static str,
    /// Every option with the value in force.
    pub options: BTreeMap<String, Value>,
    /// True when work is due at a rate.
    pub open: bool,
    /// Seed of the random order.
    pub seed: u64,
    /// The target as the user named it.
    pub target: String,
    /// The processors the load is pinned to.
    pub pin: Vec<usize>,
    /// Number of results that are to come.
    pub points: usize,
    /// How long all of them take together, warm-ups included, as far as that does not depend on the
    /// target; see [`LoadPlan::takes_all`](crate::LoadPlan::takes_all).
    pub takes: Option<Span>,
}

/// A verb that measures.
pub trait Measure {
    /// What it is going to do.
    fn outline(&self) -> Outline;

    /// Where its results go.
    fn output(&self) -> &OutputOptions;

    /// The controller's side of it, when remotes can drive its loads.
    ///
    /// # Errors
    /// When they cannot: why, and what to do instead.
    fn spread(&mut self) -> Result<&mut dyn Spread, JobError> {
        Err("this measurement is not made by remotes: leave --remotes out".into())
    }

    /// Files that the words of the command name, for remotes that do not have them, whether or not its
    /// loads can be divided; never those that hold secrets.
    fn files(&self) -> Vec<NamedFile> {
        Vec::new()
    }

    /// The remotes that are to drive them; `None`: this process.
    fn remotes(&self) -> Option<&RemoteSelector> {
        None
    }

    /// Where its figures are to be shown while it runs, HOST:PORT.
    fn metrics(&self) -> Option<&str> {
        None
    }

    /// Measures, handing over each result as it comes.
    ///
    /// # Errors
    /// When the measurement could not begin, or `watch` could not keep a result.
    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError>;
}

/// A measurement whose loads remotes can drive, as the controller sees it: each remote measures its
/// part of each point as if it were alone, and the parts are put together.
pub trait Spread {
    /// The points, in the order in which everybody measures them.
    fn points(&self) -> Vec<SpreadPoint>;

    /// What the rows of the results are called, in their order; one without a name is not shown.
    fn rows(&self) -> Vec<String> {
        Vec::new()
    }

    /// Words that every remote is told behind the command: what this process has drawn.
    fn words(&self) -> Vec<String> {
        Vec::new()
    }

    /// Point `number` is about to be measured.
    fn before(&mut self, number: usize, stop: &Stop) {
        let _ = (number, stop);
    }

    /// Adds to `result` of point `number` what only this layer can tell of `parts`.
    fn conclude(&mut self, number: usize, result: &mut ResultRecord, parts: &SpreadParts<'_>) {
        let _ = (number, result, parts);
    }
}

/// A file, or a folder of files, that the words of a command name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The word.
    pub word: String,
    /// Where it lies.
    pub path: PathBuf,
    /// The files that it names itself, relative to its folder.
    pub beside: Vec<PathBuf>,
}

impl NamedFile {
    /// A file that names no others.
    #[must_use]
    pub fn lone(path: &Path) -> Self {
        Self { word: path.display().to_string(), path: path.into(), beside: Vec::new() }
    }

    /// The file of authorities, for remotes that do not have it; a key stays where it is.
    #[must_use]
    pub fn authorities(trust: &TrustOptions) -> Vec<Self> {
        trust.ca.iter().map(|path| Self::lone(path)).collect()
    }
}

/// A point that remotes measure together.
#[derive(Clone, Debug)]
pub struct SpreadPoint {
    /// What distinguishes it from the others.
    pub labels: BTreeMap<String, String>,
    /// The load of all remotes together.
    pub plan: LoadPlan,
    /// Whether its answers are of one length.
    pub lengths: Lengths,
}

/// What remotes have measured of one point.
#[derive(Debug)]
pub struct SpreadParts<'a> {
    /// The load that each has driven; never none.
    pub loads: &'a [LoadResult<()>],
    /// What each that was not lost makes of it.
    pub results: &'a [&'a ResultRecord],
    /// All loads as one.
    pub whole: &'a LoadResult<()>,
    /// How many remotes were lost, and with them some of what they did.
    pub lost: usize,
}

/// What came of a remote's part of a load.
#[derive(Clone, Debug)]
pub struct RemoteLoad {
    /// The remote.
    pub name: String,
    /// The load, its beginning on the monotonic clock of this process; of a remote that was lost
    /// as far as it told, absent when it told nothing.
    pub load: Option<LoadResult<()>>,
    /// When the last of its threads really began, on the same clock as far as the remote's is known;
    /// absent of one that was lost.
    pub started_ns: Option<u64>,
    /// What the remote makes of it: its own verdict, its own machine; absent of one that was lost.
    pub result: Option<ResultRecord>,
    /// Why it did not come to its end.
    pub lost: Option<String>,
}

/// Whoever looks on at a measurement and keeps its results.
pub trait Watch {
    /// What the tool itself costs.
    fn floor(&mut self, floor: Floor);

    /// What the connections really used.
    fn reached(&mut self, transport: Transport);

    /// What is known of the other side, in words.
    fn server(&mut self, words: String);

    /// What the rows of the results to come are called, in their order; one without a name is
    /// not shown.
    fn rows(&mut self, names: &[String]) {
        let _ = names;
    }

    /// A result is about to be measured; what looks on meanwhile.
    fn point(&mut self, labels: &BTreeMap<String, String>) -> &mut dyn Sampler;

    /// The gate at which the next load waits until somebody outside begins it; `None`: it begins
    /// once its connections stand.
    fn gate(&mut self) -> Option<Arc<Gate>> {
        None
    }

    /// The load behind the next result is over.
    fn loaded(&mut self, load: &LoadResult<()>) {
        let _ = load;
    }

    /// A result, whose recorded part began at `began_ns` on the monotonic clock.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn result(&mut self, result: ResultRecord, began_ns: u64) -> Result<(), JobError>;
}

/// A verb that leaves no run: it serves, or does a thing of its own.
pub trait Verb {
    /// Does what it is for; a server, until `stop` is asked. `out` is standard output, of a server
    /// for `listening on ADDRESS`; `log` is standard error.
    ///
    /// # Errors
    /// When it cannot begin or cannot go on.
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError>;

    /// True when it was to end by itself, and was asked to stop before it did.
    fn was_interrupted(&self) -> bool {
        false
    }

    /// True when it did what it was asked, and found something that wants attention.
    fn has_findings(&self) -> bool {
        false
    }
}

/// Says on `out` where `listeners` listen, a line each: whoever started the server waits for them.
///
/// # Errors
/// When they cannot be written.
pub fn announce(listeners: &[Listener], out: &mut dyn Write) -> io::Result<()> {
    for listener in listeners {
        writeln!(out, "listening on {}", listener.local())?;
    }
    out.flush()
}

/// Writes what happened just now into the log of a service, behind the time. A log that cannot be
/// written does not end the service. An event is one line, whatever of it comes from the other side.
pub fn note(log: &mut dyn Write, event: impl Display) {
    let event = event.to_string().replace(char::is_control, " ");
    let _ = writeln!(log, "{} {event}", clock::utc(clock::wall_ns()));
}

/// [`note`]s events as they come, until everybody who could tell one is gone.
pub fn note_all(events: &Receiver<String>, log: &mut dyn Write) {
    while let Ok(event) = events.recv() {
        note(log, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_and_steers_no_terminal() {
        let mut log = Vec::new();
        note(&mut log, "topic \u{1b}[2Jx\n2026-01-01 forged\u{9b}1m");
        let log = String::from_utf8(log).unwrap();
        assert!(log.ends_with(" topic  [2Jx 2026-01-01 forged 1m\n"), "{log:?}");
    }
}
