//! `plumb host record`: samples written down as CSV and as an nmon file.

mod column;
mod csv;
mod files;
mod folder;
mod followed;
mod kept;
mod lines;
mod recorder;
mod row;
mod sections;
mod ticker;
mod unit;

use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;

use clap::Args;
use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_measure::{Clock as _, Span, counted, show_ns};
use serde_json::json;

pub(crate) use files::{Files, FilesPlan, stem};
pub(crate) use kept::{Kept, lock};
pub(crate) use recorder::sees;
pub use recorder::{Recorded, Recorder, RecorderPlan};
pub(crate) use ticker::Ticker;

use crate::HostError;
use crate::facts::HostFacts;
use crate::options::WatchedOptions;
use crate::subject::not_watched;

/// Name and version of `host.json`.
pub const SCHEMA: &str = "plumb.host/1";
/// Time between two lines of progress.
const PROGRESS_NS: u64 = 1_000_000_000;

/// What is recorded, and where to.
#[derive(Args, Clone, Debug)]
pub struct RecordOptions {
    /// What is watched, and how often.
    #[command(flatten)]
    pub watched: WatchedOptions,

    /// Length of the recording [default: until it is stopped with Ctrl-C]
    ///
    /// Stopped before that, the recording is complete as far as it goes, and the exit code is 130.
    #[arg(long = "for", value_name = "TIME")]
    pub length: Option<Span>,

    /// Folder for the recording [default: plumb-runs/TIME-host-record]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// A recording as a job.
#[derive(Debug)]
pub struct Record {
    options: RecordOptions,
    interrupted: bool,
}

impl Record {
    /// Checks the options.
    ///
    /// # Errors
    /// [`HostError`] when they ask for the impossible.
    pub fn new(options: RecordOptions) -> Result<Self, HostError> {
        options.watched.plan()?;
        let every = options.watched.every;
        match options.length {
            Some(length) if length < every => Err(HostError::TooShort { length, every }),
            _ => Ok(Self { options, interrupted: false }),
        }
    }

    fn record(
        &mut self,
        out: &mut dyn Write,
        log: &mut dyn Write,
        stop: &Stop,
    ) -> Result<(), HostError> {
        let monitor = self.options.watched.plan()?;
        let folder = folder::create(self.options.out.as_deref(), clock::wall_ns())?;
        let plan = RecorderPlan {
            monitor,
            every: self.options.watched.every,
            folder: Some(folder.path().to_path_buf()),
            command: "plumb host record".into(),
        };
        let recorder = match Recorder::start(&plan) {
            Ok(recorder) => recorder,
            Err(error) => {
                folder.discard(&[]);
                return Err(error);
            }
        };
        writeln!(out, "recording into {}", folder.path().display())?;
        out.flush()?;
        let facts = recorder.facts().clone();
        let asked = self.wait(&recorder, log, stop);
        let recorded = recorder.stop()?;
        self.interrupted = asked? && self.options.length.is_some();
        let path = folder.path().join("host.json");
        let text = summary(&self.options, &facts, &recorded);
        std::fs::write(&path, text).map_err(HostError::write(&path))?;
        say(out, &facts, &recorded)
    }

    /// Waits for the end, and shows what is seen meanwhile to whoever looks; true when it was
    /// asked to stop.
    fn wait(
        &self,
        recorder: &Recorder,
        log: &mut dyn Write,
        stop: &Stop,
    ) -> Result<bool, HostError> {
        let began_ns = MonotonicClock.now_ns();
        let end_ns = self.options.length.map_or(u64::MAX, |length| began_ns + length.ns());
        let shown = std::io::stderr().is_terminal();
        let interrupted = loop {
            let now_ns = MonotonicClock.now_ns();
            let asked = stop.wait_until(end_ns.min(now_ns + PROGRESS_NS));
            let asked = asked.map_err(HostError::system("wait"))?;
            let now_ns = MonotonicClock.now_ns();
            if asked || now_ns >= end_ns || recorder.has_ended() {
                break asked;
            }
            if let Some(sample) = recorder.latest().filter(|_| shown) {
                let seconds = (now_ns - began_ns) / 1_000_000_000;
                // progress is a courtesy
                let _ = write!(log, "\r\x1b[K{seconds} s: {}", crate::view::line(&sample));
            }
        };
        if shown {
            let _ = write!(log, "\r\x1b[K");
        }
        Ok(interrupted)
    }
}

impl Verb for Record {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.record(out, log, stop)?)
    }

    fn was_interrupted(&self) -> bool {
        self.interrupted
    }
}

/// `host.json`: what the machine is, what became of every sampler, and everything summed up.
fn summary(options: &RecordOptions, facts: &HostFacts, recorded: &Recorded) -> String {
    let samplers: serde_json::Map<String, serde_json::Value> = recorded
        .states
        .iter()
        .map(|(subject, state)| (subject.to_string(), json!(state)))
        .collect();
    let costs: serde_json::Map<String, serde_json::Value> =
        recorded.costs.iter().map(|cost| (cost.subject.to_string(), json!(cost.cpu_ns))).collect();
    let receive = recorded.usage.receive();
    let document = json!({
        "schema": SCHEMA,
        "plumb": env!("CARGO_PKG_VERSION"),
        "host": facts,
        "every": options.watched.every,
        "missed": recorded.missed,
        "left_out": recorded.left_out,
        "unseen": recorded.unseen,
        "samplers": samplers,
        "cost_ns": costs,
        "usage": recorded.usage,
        "receive": receive,
    });
    format!("{document:#}\n")
}

/// What was recorded, in some lines.
fn say(out: &mut dyn Write, facts: &HostFacts, recorded: &Recorded) -> Result<(), HostError> {
    let usage = &recorded.usage;
    let seconds = usage.covered_ns / 1_000_000_000;
    writeln!(
        out,
        "{} over {seconds} s; sampling used {:.3} % of one processor",
        counted(usage.samples, "sample"),
        usage.own_cost_pct
    )?;
    if recorded.missed > 0 {
        let missed = counted(recorded.missed, "due sample");
        writeln!(out, "{missed} could not be taken in time")?;
    }
    for lacking in not_watched(&recorded.states) {
        writeln!(out, "not watched: {lacking}")?;
    }
    let mut costs = recorded.costs.clone();
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.cpu_ns));
    let costs: Vec<String> =
        costs.iter().map(|cost| format!("{} {}", cost.subject, show_ns(cost.cpu_ns))).collect();
    writeln!(out, "a reading takes: {}", costs.join(", "))?;
    let queues = usage.busiest_interface().and_then(|name| facts.receive_queues(name));
    for finding in usage.receive().iter().flat_map(|receive| receive.findings(queues)) {
        writeln!(out, "finding: {finding}")?;
    }
    for (reason, count) in &usage.smc_fallback_reasons {
        writeln!(out, "finding: connections that fell back from SMC to TCP: {count}, {reason}")?;
    }
    if !recorded.left_out.is_empty() {
        let devices = recorded.left_out.join(", ");
        writeln!(out, "appeared while it ran, and has no columns in either file: {devices}")?;
    }
    for name in &recorded.unseen {
        writeln!(
            out,
            "no process named {name:?} was seen: names are those of `ps -e`, which of a script shows \
             its interpreter; follow it by its number"
        )?;
    }
    for file in &recorded.files {
        writeln!(out, "{}", file.display())?;
    }
    Ok(())
}
