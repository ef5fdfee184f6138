//! The files of a recording: `HOST.csv` with every sample, `HOST.nmon` with one line a second or
//! more.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use plumb_engine::clock;

use super::RecorderPlan;
use super::csv::Columns;
use super::lines;
use crate::HostError;
use crate::facts::HostFacts;
use crate::nmon::{Host, Writer};
use crate::sample::Sample;
use crate::snapshot::Snapshot;

const SECOND_NS: u64 = 1_000_000_000;
/// Names of devices without a column that are kept.
const LEFT_OUT_MAX: usize = 100;

/// The open files of a recording.
#[derive(Debug)]
pub(super) struct Files {
    csv_path: PathBuf,
    csv: File,
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

impl Files {
    /// Makes both files, which must not be there.
    pub(super) fn create(folder: &Path, plan: &RecorderPlan) -> Result<Self, HostError> {
        let facts = HostFacts::read(&plan.monitor.root);
        let zone = TimeZone::system();
        // an nmon file has no finer time than a second
        let line_every_s = plan.every.ns().div_ceil(SECOND_NS).max(1);
        let name = facts.name.replace('/', "_");
        let csv_path = folder.join(format!("{name}.csv"));
        let nmon_path = folder.join(format!("{name}.nmon"));
        let csv = create_new(&csv_path)?;
        let host = Host {
            name: facts.name.clone(),
            system: facts.system.clone(),
            command: plan.command.clone(),
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
    pub(super) fn write(&mut self, sample: &Sample) -> Result<(), HostError> {
        self.row.clear();
        let columns = match &self.columns {
            Some(columns) => columns,
            None => {
                let columns = Columns::of(sample);
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
    pub(super) fn write_line(&mut self, now: &Snapshot) -> Result<(), HostError> {
        let Some(from) = &self.line_from else {
            self.line_from = Some(now.clone());
            return Ok(());
        };
        // a sample that comes a moment early still ends its second
        let early_ns = self.line_every_ns / 100;
        if now.at_ns.saturating_sub(from.at_ns) + early_ns < self.line_every_ns {
            return Ok(());
        }
        let sample = Sample::between(from, now);
        self.line_from = Some(now.clone());
        let line = lines::snapshot(&sample, &self.zone);
        self.nmon.snapshot(&line).map_err(HostError::nmon(&self.nmon_path))
    }

    /// Ends both files.
    pub(super) fn finish(self) -> Result<(), HostError> {
        self.nmon.finish().map_err(HostError::nmon(&self.nmon_path))?;
        Ok(())
    }

    /// Devices that appeared too late for a column.
    pub(super) fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }

    /// Where the files are.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        vec![self.csv_path.clone(), self.nmon_path.clone()]
    }
}

fn create_new(path: &Path) -> Result<File, HostError> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(HostError::write(path))
}
