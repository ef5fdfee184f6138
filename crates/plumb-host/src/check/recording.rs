//! The summary of a host recording, checked like any other table.

use super::figure::{Figure, Style};
use super::finding::{Finding, Kind, Report};
use super::interval::Interval;
use super::likely::{cause, range, shown};
use crate::nmon::{Nmon, Recording, Stat, TroubleKind};

/// Half of the last decimal of nmon's figures.
const HALF: f64 = 0.05;

/// Checks every recording of a file, as [`of_nmon`] does, and that each is of one host: lines of
/// two that are mixed add up to figures of neither.
#[must_use]
pub fn of_file(file: &Nmon) -> Vec<Report> {
    let mut reports: Vec<Report> = file.recordings.iter().map(of_nmon).collect();
    for trouble in file.troubles.list() {
        let TroubleKind::HostsMixed(known, other) = &trouble.kind else { continue };
        let after = file.recordings.partition_point(|recording| recording.line <= trouble.line);
        if let Some(report) = reports.get_mut(after.saturating_sub(1)) {
            report.checked();
            report.add(Finding {
                line: trouble.line,
                row: "AAA".to_owned(),
                column: "host".to_owned(),
                kind: Kind::Hosts,
                printed: other.clone(),
                expected: known.clone(),
                formula: "one host a recording".to_owned(),
                likely: Some("files of two hosts were put together line by line".to_owned()),
            });
        }
    }
    reports
}

/// Checks what must hold for every host: processor shares add up to 100 in every snapshot, no
/// percentage is above 100, nothing free is more than there is, and processors busy are no more
/// than there are.
#[must_use]
pub fn of_nmon(recording: &Recording) -> Report {
    let mut check = Check { line: recording.line, report: Report::default() };
    check.shares(recording);
    check.percentages(recording);
    check.memory(recording);
    check.processors(recording);
    check.report
}

struct Check {
    line: u64,
    report: Report,
}

impl Check {
    fn shares(&mut self, recording: &Recording) {
        let sum = recording.share_sum();
        let (Some(min), Some(max)) = (sum.min(), sum.max()) else { return };
        // five shares, each printed with one decimal
        let expected = Interval { low: 100.0 - 5.0 * HALF, high: 100.0 + 5.0 * HALF };
        self.report.checked();
        for (value, at) in [(min, sum.min_at()), (max, sum.max_at())] {
            if !Interval::exactly(value).meets(expected) {
                let (row, column) =
                    (within("CPU_ALL", at), "User% + Sys% + Wait% + Idle% + Steal%");
                self.add(Kind::Shares, &row, column, value, expected, "parts of 100");
            }
        }
    }

    fn percentages(&mut self, recording: &Recording) {
        for section in &recording.sections {
            let name = section.name.trim_end_matches(|c: char| c.is_ascii_digit());
            let percent = matches!(name, "CPU" | "CPU_ALL" | "JFSFILE" | "DISKBUSY");
            for column in section
                .columns
                .iter()
                .filter(|column| percent && (name != "CPU_ALL" || column.name.ends_with('%')))
            {
                // the clock of the recorder lets a disk be a little more than busy
                let most = if name == "DISKBUSY" { 105.0 } else { 100.0 + HALF };
                let (section, column_name) = (&section.name, &column.name);
                self.at_most(&column.stat, most, section, column_name, "a share of 100 %");
            }
        }
    }

    fn memory(&mut self, recording: &Recording) {
        for (part, whole) in [
            ("memfree", "memtotal"),
            ("swapfree", "swaptotal"),
            ("cached", "memtotal"),
            ("Real free(MB)", "Real total(MB)"),
            ("Virtual free(MB)", "Virtual total(MB)"),
        ] {
            let whole_stat = recording.column("MEM", whole).and_then(|column| column.stat.max());
            let (Some(most), Some(column)) = (whole_stat, recording.column("MEM", part)) else {
                continue;
            };
            self.at_most(&column.stat, most + 2.0 * HALF, "MEM", part, whole);
        }
    }

    fn processors(&mut self, recording: &Recording) {
        // processors may be switched on while it is recorded
        let counted = recording.column("CPU_ALL", "CPUs").and_then(|column| column.stat.max());
        let announced = recording.facts.cpus().map(f64::from);
        let most = announced.into_iter().chain(counted).reduce(f64::max);
        let (Some(busy), Some(most)) = (recording.cores_busy(), most) else { return };
        let most = most * (1.0 + 2.0 * HALF / 100.0);
        self.at_most(&busy.stat, most, "cores busy", &busy.rule.to_string(), "processors online");
    }

    fn at_most(&mut self, stat: &Stat, most: f64, row: &str, column: &str, formula: &str) {
        let Some(max) = stat.max() else { return };
        self.report.checked();
        let expected = Interval { low: f64::NEG_INFINITY, high: most };
        if !Interval::exactly(max).meets(expected) {
            let row = within(row, stat.max_at());
            self.add(Kind::Bound, &row, column, max, expected, formula);
        }
    }

    fn add(
        &mut self,
        kind: Kind,
        row: &str,
        column: &str,
        value: f64,
        expected: Interval,
        formula: &str,
    ) {
        let printed = shown(value);
        let likely = Figure::parse(&printed, Style::default()).ok().flatten().and_then(|figure| {
            expected.low.is_finite().then(|| cause(&figure, expected, false)).flatten()
        });
        let expected = if expected.low.is_finite() {
            range(expected)
        } else {
            format!("at most {}", shown(expected.high))
        };
        self.report.add(Finding {
            line: self.line,
            row: row.to_owned(),
            column: column.to_owned(),
            kind,
            printed,
            expected,
            formula: formula.to_owned(),
            likely,
        });
    }
}

/// A section, and the snapshot that is meant.
fn within(section: &str, snapshot: Option<u64>) -> String {
    match snapshot {
        Some(id) => format!("{section} of T{id:04}"),
        None => section.to_owned(),
    }
}
