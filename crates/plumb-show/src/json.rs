//! Recordings as one JSON document, `plumb.show/1`.

use crate::recording::SCHEMA;
use plumb_check::{Check, Unread};
use plumb_nmon::Stat;
use serde::Serialize;

use crate::{Shown, figures};

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    files: Vec<File<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unread: &'a [Unread],
}

#[derive(Debug, Serialize)]
struct File<'a> {
    path: String,
    recordings: Vec<Recording<'a>>,
    troubles: Vec<Trouble>,
    troubles_left_out: u64,
}

#[derive(Debug, Serialize)]
struct Trouble {
    line: u64,
    text: String,
}

#[derive(Debug, Serialize)]
struct Recording<'a> {
    /// The first line of it in the file.
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    system: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorder: Option<String>,
    facts: Vec<Fact<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    snapshots: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_s: Option<u32>,
    duration_s: f64,
    counters: Vec<Counter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cores_busy: Option<CoresBusy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<Traffic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rdma: Option<Traffic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disks: Option<Traffic>,
    commands: Vec<Command<'a>>,
    check: Check,
}

#[derive(Debug, Serialize)]
struct Fact<'a> {
    key: &'a str,
    value: &'a str,
}

/// Average over time, extremes, and how many figures there were.
#[derive(Debug, Serialize)]
struct Figures {
    #[serde(skip_serializing_if = "Option::is_none")]
    average: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum: Option<f64>,
    count: u64,
    missing: u64,
}

#[derive(Debug, Serialize)]
struct Counter {
    counter: String,
    unit: &'static str,
    #[serde(flatten)]
    figures: Figures,
    source: String,
}

#[derive(Debug, Serialize)]
struct CoresBusy {
    rule: String,
    cpu_s: f64,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Debug, Serialize)]
struct Traffic {
    read_bytes: f64,
    write_bytes: f64,
    counted: Vec<String>,
    left_out: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Command<'a> {
    command: &'a str,
    cpu_s: f64,
    cpu_max_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    resident_max_kib: Option<f64>,
}

/// All files as one document, with those that could not be read.
///
/// # Errors
/// When a figure has no form in JSON.
pub fn of(shown: &[Shown], unread: &[Unread]) -> serde_json::Result<String> {
    let files = shown.iter().map(|one| File {
        path: one.path.display().to_string(),
        recordings: one.recordings().map(Recording::of).collect(),
        troubles: one.read.troubles.list().iter().map(Trouble::of).collect(),
        troubles_left_out: one.read.troubles.left_out(),
    });
    let files = files.collect();
    serde_json::to_string_pretty(&Document { schema: SCHEMA, files, unread })
}

impl Trouble {
    fn of(trouble: &plumb_nmon::Trouble) -> Self {
        Self { line: trouble.line, text: trouble.kind.to_string() }
    }
}

impl<'a> Recording<'a> {
    fn of((recording, checked): (&'a plumb_nmon::Recording, &plumb_check::Report)) -> Self {
        let facts = recording.facts.entries().map(|(key, value)| Fact { key, value });
        let [first, last] = figures::ends(recording).map_or([None, None], |ends| ends.map(Some));
        Self {
            line: recording.line,
            host: recording.facts.host(),
            system: recording.system().to_string(),
            recorder: recording.facts.recorder(),
            facts: facts.collect(),
            first,
            last,
            snapshots: recording.timeline.stamps().len(),
            interval_s: recording.timeline.interval_s(),
            duration_s: recording.timeline.duration_s(),
            counters: recording.summary().into_iter().map(Counter::of).collect(),
            cores_busy: recording.cores_busy().map(|busy| CoresBusy {
                rule: busy.rule.to_string(),
                cpu_s: busy.cpu_s(),
                figures: Figures::of(&busy.stat),
            }),
            network: recording.network().map(Traffic::of),
            rdma: recording.rdma().map(Traffic::of),
            disks: recording.disks().map(Traffic::of),
            commands: recording.processes.iter().map(Command::of).collect(),
            check: Check::of(checked),
        }
    }
}

impl Figures {
    fn of(stat: &Stat) -> Self {
        Self {
            average: stat.average(),
            minimum: stat.min(),
            maximum: stat.max(),
            count: stat.count(),
            missing: stat.missing(),
        }
    }
}

impl Counter {
    fn of(row: plumb_nmon::Row) -> Self {
        let figures = Figures::of(&row.stat);
        Self { counter: row.counter, unit: row.unit, figures, source: row.source }
    }
}

impl Traffic {
    fn of(traffic: plumb_nmon::Traffic) -> Self {
        let (read_bytes, write_bytes) = (traffic.read_bytes(), traffic.write_bytes());
        Self { read_bytes, write_bytes, counted: traffic.counted, left_out: traffic.left_out }
    }
}

impl<'a> Command<'a> {
    fn of(process: &'a plumb_nmon::Process) -> Self {
        Self {
            command: &process.command,
            cpu_s: process.cpu_s,
            cpu_max_percent: process.cpu_max_percent,
            resident_max_kib: process.resident_max_kib,
        }
    }
}
