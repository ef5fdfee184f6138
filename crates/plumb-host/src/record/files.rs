//! The files of a recording: `HOST.csv` with every sample, `HOST.nmon` with one line a second or
//! more.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use plumb_engine::clock;
use plumb_measure::Span;
use plumb_nmon::{Host, Writer};
use plumb_procfs::process::Wanted;

use super::csv::Columns;
use super::lines;
use crate::HostError;
use crate::facts::HostFacts;
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
    late_devices: Vec<String>,
    late_processes: Vec<String>,
    nmon_path: PathBuf,
    nmon: Writer<File>,
    zone: TimeZone,
    /// Time between two lines of the nmon file: whole seconds.
    line_every_ns: u64,
    /// Where the next line begins.
    line_from: Option<Snapshot>,
    /// When the first line began, nanoseconds on the monotonic clock: every line belongs to a step
    /// counted from there.
    steps_from_ns: Option<u64>,
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
    /// Makes the files `STEM.csv` and `STEM.nmon`, which must not be there. One that cannot be made
    /// leaves neither.
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
        let nmon = create_new(&nmon_path).inspect_err(|_| drop(fs::remove_file(&csv_path)))?;
        let nmon = Writer::new(nmon, host).map_err(HostError::nmon(&nmon_path))?;
        Ok(Self {
            csv_path,
            csv,
            followed: followed.to_vec(),
            columns: None,
            row: String::new(),
            late_devices: Vec::new(),
            late_processes: Vec::new(),
            nmon_path,
            nmon,
            zone,
            line_every_ns: line_every_s * SECOND_NS,
            line_from: None,
            steps_from_ns: None,
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
        note(&mut self.late_devices, columns.missing_devices(sample));
        note(&mut self.late_processes, columns.missing_processes(sample));
        // one call a line: an interruption leaves whole lines
        self.csv.write_all(self.row.as_bytes()).map_err(HostError::write(&self.csv_path))
    }

    /// Writes a line into the nmon file, if it is time: over everything since the last one.
    pub(crate) fn write_line(&mut self, now: &Snapshot) -> Result<(), HostError> {
        let Some(from) = &self.line_from else {
            self.line_from = Some(now.clone());
            return Ok(());
        };
        let from_ns = from.at_ns;
        if !self.is_line_due(from_ns, now.at_ns) {
            return Ok(());
        }
        let Some(from) = &self.line_from else { return Ok(()) };
        let sample = Sample::between(from, now);
        self.line_from = Some(now.clone());
        self.write_whole(&sample)
    }

    /// True when a sample that is taken at `now_ns` ends a line of the nmon file.
    pub(crate) fn ends_line(&mut self, now_ns: u64) -> bool {
        let from_ns = self.line_from.as_ref().map(|from| from.at_ns);
        from_ns.is_some_and(|from_ns| self.is_line_due(from_ns, now_ns))
    }

    /// True when a line of the nmon file is due at `now_ns` that begins at `from_ns`: one a step, also
    /// when the last one came late.
    pub(crate) fn is_line_due(&mut self, from_ns: u64, now_ns: u64) -> bool {
        let steps_from_ns = *self.steps_from_ns.get_or_insert(from_ns);
        // a sample that comes a moment early still ends its second
        let early_ns = self.line_every_ns / 100;
        let step = |ns: u64| ns.saturating_sub(steps_from_ns).saturating_add(early_ns);
        step(now_ns) / self.line_every_ns > step(from_ns) / self.line_every_ns
    }

    /// Writes a sample into the nmon file that reaches back to the last such sample.
    pub(crate) fn write_whole(&mut self, sample: &Sample) -> Result<(), HostError> {
        let line = lines::snapshot(sample, &self.zone);
        self.nmon.snapshot(&line).map_err(HostError::nmon(&self.nmon_path))
    }

    /// Ends both files. The nmon file names the devices that it does not have.
    pub(crate) fn finish(self) -> Result<(), HostError> {
        self.nmon.finish(&self.late_devices).map_err(HostError::nmon(&self.nmon_path))?;
        Ok(())
    }

    /// Devices and processes that appeared too late for a column.
    pub(crate) fn left_out(&self) -> Vec<String> {
        [&self.late_devices[..], &self.late_processes[..]].concat()
    }

    /// Where the files are.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        vec![self.csv_path.clone(), self.nmon_path.clone()]
    }
}

/// The name of the files of the host `name`: in their folder, and not hidden.
pub(crate) fn stem(name: &str) -> String {
    match name.trim_start_matches('.').replace('/', "_") {
        empty if empty.is_empty() => "host".into(),
        stem => stem,
    }
}

/// Adds those of `names` to `late` that are new there, as far as it is kept.
fn note(late: &mut Vec<String>, names: Vec<String>) {
    for name in names {
        if late.len() < LEFT_OUT_MAX && !late.contains(&name) {
            late.push(name);
        }
    }
}

fn create_new(path: &Path) -> Result<File, HostError> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(HostError::write(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_host_hides_its_files() {
        let stems = ["", "..", ".db7", "db7.example", "../evil"].map(stem);
        assert_eq!(stems, ["host", "host", "db7", "db7.example", "_evil"]);
    }

    #[test]
    fn files_that_cannot_both_be_made_are_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let facts = HostFacts::default();
        let plan = FilesPlan {
            folder: folder.path(),
            stem: "h",
            facts: &facts,
            every: Span::from_ms(1_000),
            command: "test",
            followed: &[],
        };
        let nmon = folder.path().join("h.nmon");
        fs::write(&nmon, "of somebody").unwrap();
        Files::create(&plan).unwrap_err();
        assert_eq!(fs::read(&nmon).unwrap(), b"of somebody");
        assert!(!folder.path().join("h.csv").exists());
    }

    /// The files of a recording of each second, which follows nobody.
    fn files_in(folder: &std::path::Path) -> Files {
        Files::create(&FilesPlan {
            folder,
            stem: "h",
            facts: &HostFacts::default(),
            every: Span::from_ms(1_000),
            command: "test",
            followed: &[],
        })
        .unwrap()
    }

    #[test]
    fn an_interface_that_came_later_is_named_in_the_nmon_file() {
        use crate::sample::InterfaceSample;
        let folder = tempfile::tempdir().unwrap();
        let mut files = files_in(folder.path());
        let interface = |name: &str| InterfaceSample {
            name: plumb_procfs::Label::new(name.as_bytes()),
            ..InterfaceSample::default()
        };
        for names in [&["eth0"][..], &["eth0", "wg0"], &["eth0", "wg0"]] {
            let interfaces = names.iter().copied().map(interface).collect();
            let sample = Sample { interfaces, ..Sample::default() };
            files.write(&sample).unwrap();
            files.write_whole(&sample).unwrap();
        }
        assert_eq!(files.left_out(), ["wg0"]);
        let path = files.nmon_path.clone();
        files.finish().unwrap();
        let read = plumb_nmon::read(&fs::read(path).unwrap(), &Default::default()).unwrap();
        let told: Vec<_> = read.troubles.list().iter().map(|it| &it.kind).collect();
        assert!(told.contains(&&plumb_nmon::TroubleKind::CameLater("wg0".into())), "{told:?}");
    }

    #[test]
    fn every_second_has_its_line_also_after_one_that_came_late() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files_in(folder.path());
        let at = |ms: u64| Snapshot { at_ns: ms * 1_000_000, ..Snapshot::default() };
        let mut written = Vec::new();
        for ms in [7_000, 8_000, 8_995, 10_400, 11_000, 12_900, 13_001, 13_900, 15_000] {
            let ends = files.ends_line(ms * 1_000_000);
            files.write_line(&at(ms)).unwrap();
            assert_eq!(
                ends,
                files.line_from.as_ref().is_some_and(|it| it.at_ns == ms * 1_000_000) && ms > 7_000
            );
            written.extend(ends.then_some(ms));
        }
        assert_eq!(written, [8_000, 8_995, 10_400, 11_000, 12_900, 13_001, 15_000]);
    }
}
