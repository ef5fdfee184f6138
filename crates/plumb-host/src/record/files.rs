//! The files of a recording: `HOST.csv` with every sample, `HOST.nmon` with one line a second or
//! more.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use plumb_engine::clock;
use plumb_measure::Span;

use super::csv::Columns;
use super::lines;
use crate::HostError;
use crate::facts::HostFacts;
use crate::nmon::{Host, Writer};
use crate::process::Wanted;
use crate::sample::Sample;
use crate::snapshot::Snapshot;

const SECOND_NS: u64 = 1_000_000_000;
/// Names of devices without a column that are kept.
const LEFT_OUT_MAX: usize = 100;

/// The open files of a recording.
#[derive(Debug)]
pub(crate) struct Files {
    csv_path: PathBuf,
    csv: File,
    followed: Vec<Wanted>,
    columns: Option<Columns>,
    row: String,
    left_out: Vec<String>,
    nmon_path: PathBuf,
    nmon: Writer<File>,
    zone: TimeZone,
    /// Time between two lines of the nmon file: whole seconds.
    line_every_ns: u64,
    /// Where the next line begins.
    line_from: Option<Snapshot>,
}

/// Which files to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilesPlan<'a> {
    pub(crate) folder: &'a Path,
    /// Their name without its end.
    pub(crate) stem: &'a str,
    /// What is recorded.
    pub(crate) facts: &'a HostFacts,
    /// Time between two samples.
    pub(crate) every: Span,
    /// The command that records.
    pub(crate) command: &'a str,
    /// The processes that have columns, if they are known beforehand.
    pub(crate) followed: &'a [Wanted],
}

impl Files {
    /// Makes the files `STEM.csv` and `STEM.nmon`, which must not be there.
    pub(crate) fn create(plan: &FilesPlan<'_>) -> Result<Self, HostError> {
        let FilesPlan { folder, stem, facts, every, command, followed } = *plan;
        let zone = TimeZone::system();
        // an nmon file has no finer time than a second
        let line_every_s = every.ns().div_ceil(SECOND_NS).max(1);
        let csv_path = folder.join(format!("{stem}.csv"));
        let nmon_path = folder.join(format!("{stem}.nmon"));
        let csv = create_new(&csv_path)?;
        let host = Host {
            name: facts.name.clone(),
            system: facts.system.clone(),
            command: command.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            started: lines::local(clock::wall_ns(), &zone),
            interval_s: u32::try_from(line_every_s).unwrap_or(u32::MAX),
            snapshots: None,
            cpus: facts.cpus_online,
            notes: vec![("facts".into(), facts.lines())],
        };
        let nmon =
            Writer::new(create_new(&nmon_path)?, host).map_err(HostError::nmon(&nmon_path))?;
        Ok(Self {
            csv_path,
            csv,
            followed: followed.to_vec(),
            columns: None,
            row: String::new(),
            left_out: Vec::new(),
            nmon_path,
            nmon,
            zone,
            line_every_ns: line_every_s * SECOND_NS,
            line_from: None,
        })
    }

    /// Writes a sample into the CSV file.
    pub(crate) fn write(&mut self, sample: &Sample) -> Result<(), HostError> {
        self.row.clear();
        let columns = match &self.columns {
            Some(columns) => columns,
            None => {
                let columns = Columns::of(sample, &self.followed);
                self.row += &columns.header();
                self.columns.insert(columns)
            }
        };
        columns.row(sample, &mut self.row);
        for name in columns.missing(sample) {
            if self.left_out.len() < LEFT_OUT_MAX && !self.left_out.contains(&name) {
                self.left_out.push(name);
            }
        }
        // one call a line: an interruption leaves whole lines
        self.csv.write_all(self.row.as_bytes()).map_err(HostError::write(&self.csv_path))
    }

    /// Writes a line into the nmon file, if it is time: over everything since the last one.
    pub(crate) fn write_line(&mut self, now: &Snapshot) -> Result<(), HostError> {
        let Some(from) = &self.line_from else {
            self.line_from = Some(now.clone());
            return Ok(());
        };
        if !self.is_line_due(now.at_ns.saturating_sub(from.at_ns)) {
            return Ok(());
        }
        let sample = Sample::between(from, now);
        self.line_from = Some(now.clone());
        self.write_whole(&sample)
    }

    /// True when a line of the nmon file is due, `since_ns` after the last one.
    pub(crate) fn is_line_due(&self, since_ns: u64) -> bool {
        // a sample that comes a moment early still ends its second
        let early_ns = self.line_every_ns / 100;
        since_ns.saturating_add(early_ns) >= self.line_every_ns
    }

    /// Writes a sample into the nmon file that reaches back to the last such sample.
    pub(crate) fn write_whole(&mut self, sample: &Sample) -> Result<(), HostError> {
        let line = lines::snapshot(sample, &self.zone);
        self.nmon.snapshot(&line).map_err(HostError::nmon(&self.nmon_path))
    }

    /// Ends both files.
    pub(crate) fn finish(self) -> Result<(), HostError> {
        self.nmon.finish().map_err(HostError::nmon(&self.nmon_path))?;
        Ok(())
    }

    /// Devices that appeared too late for a column.
    pub(crate) fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }

    /// Where the files are.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        vec![self.csv_path.clone(), self.nmon_path.clone()]
    }
}

fn create_new(path: &Path) -> Result<File, HostError> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(HostError::write(path))
}
