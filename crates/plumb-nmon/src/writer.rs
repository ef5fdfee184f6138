//! nmon files as nmon's own readers take them.
//!
//! Every header stands once and before all figures; the time of a snapshot stands before its
//! figures; `AAA,steal,1` stands with the other facts; titles have no commas and start with the
//! letters that nmonchart looks for. What the first snapshot does not have cannot be added later:
//! [`Writer::left_out`] counts it.
//!
//! # Source
//! pyNmonAnalyzer 1.0.9 (`pyNmonParser.py`), nmonchart, nmon2influxdb.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use jiff::civil::DateTime;

use crate::document::CAME_LATER;
use crate::snapshot::{Host, Snapshot, Table, TopProcess};
use crate::stamp::MONTHS;
use crate::tables::{self, BUSY};

/// nmon's own word for what it does not know.
const MISSING: &str = "-1.0";
/// The last column is ours: all processes are looked at more seldom than snapshots are taken, so
/// that a line stands for a longer time than its snapshot does.
const TOP_HEADER: &str = "TOP,%CPU Utilisation\n\
    TOP,+PID,Time,%CPU,%Usr,%Sys,Size,ResSet,ResText,ResData,ShdLib,MinorFault,MajorFault,\
    Command,Threads,IOwaitTime,Seconds\n";

/// Nothing more can be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The interval is below a second: put the samples of a second together first.
    #[error("an nmon file has no interval below 1 s: sum the samples up to whole seconds first")]
    TooFine,
    /// The file cannot be written, for example because the disk is full.
    #[error("cannot write the nmon file: {0}")]
    Io(#[from] io::Error),
}

/// Writes a recording while it is made.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    host: Host,
    name: String,
    sections: Vec<SectionHeader>,
    snapshots: u64,
    left_out: u64,
    /// Lines of notes that were written.
    notes: u32,
    text: String,
}

/// A section as its header announced it.
#[derive(Debug)]
struct SectionHeader {
    section: String,
    columns: Vec<String>,
}

impl<W: Write> Writer<W> {
    /// Begins a recording; nothing is written before the first snapshot.
    ///
    /// # Errors
    /// [`WriteError::TooFine`] when the interval is zero.
    pub fn new(out: W, host: Host) -> Result<Self, WriteError> {
        if host.interval_s == 0 {
            return Err(WriteError::TooFine);
        }
        let name = clean_title(&host.name);
        let (sections, text) = (Vec::new(), String::new());
        Ok(Self { out, host, name, sections, snapshots: 0, left_out: 0, notes: 0, text })
    }

    /// Columns of later snapshots that the first did not have, such as a disk that was plugged in:
    /// they are not in the file. Counted once for each snapshot.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes a snapshot in one piece.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn snapshot(&mut self, snapshot: &Snapshot) -> Result<(), WriteError> {
        let tables = tables::of(snapshot, &self.name);
        self.text.clear();
        if self.snapshots == 0 {
            self.facts();
            self.headers(&tables);
        }
        self.snapshots += 1;
        let id = format!("T{:04}", self.snapshots);
        line(&mut self.text, &["ZZZZ", &id, &time(snapshot.time, ':'), &date(snapshot.time)]);
        self.figures(&tables, &id);
        for process in &snapshot.top {
            top(&mut self.text, process, &id);
        }
        self.flush()
    }

    /// Ends the recording with a note of the devices that `came_later`, for which it has no columns. One
    /// without any snapshot holds the facts only.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn finish(mut self, came_later: &[String]) -> Result<W, WriteError> {
        self.text.clear();
        if self.snapshots == 0 {
            self.facts();
        }
        if !came_later.is_empty() {
            notes(&mut self.text, &[(CAME_LATER.into(), came_later.to_vec())], &mut self.notes);
        }
        self.flush()?;
        Ok(self.out)
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        self.out.write_all(self.text.as_bytes())?;
        Ok(self.out.flush()?)
    }

    fn facts(&mut self) {
        let host = &self.host;
        let text = &mut self.text;
        let mut fact = |key: &str, value: &str| line(text, &["AAA", key, value]);
        let cpus = host.cpus.to_string();
        fact("progname", "plumb");
        fact("command", &clean(&host.command));
        fact("version", &clean(&host.version));
        fact("disks_per_line", "150");
        fact("host", &self.name);
        let system: Vec<String> = host.system.iter().map(|word| clean(word)).collect();
        fact("OS", &system.join(","));
        fact("runname", &self.name);
        fact("time", &time(host.started, '.'));
        fact("date", &date(host.started));
        fact("interval", &host.interval_s.to_string());
        if let Some(snapshots) = host.snapshots {
            fact("snapshots", &snapshots.to_string());
        }
        fact("cpus", &cpus);
        fact("proc_stat_variables", "8");
        fact("steal", "1");
        notes(&mut self.text, &self.host.notes, &mut self.notes);
    }

    fn headers(&mut self, tables: &[Table]) {
        let mut seen = HashMap::new();
        for table in tables {
            let section = section_name(&table.section);
            if seen.insert(section.clone(), ()).is_some() {
                continue; // a section has one header
            }
            let _ = write!(self.text, "{section},{}", clean_title(&table.title));
            for column in &table.columns {
                let _ = write!(self.text, ",{}", clean(column));
            }
            self.text.push('\n');
            self.sections.push(SectionHeader { section, columns: table.columns.clone() });
        }
        self.text.push_str(TOP_HEADER);
    }

    /// One line for every section that was announced.
    fn figures(&mut self, tables: &[Table], id: &str) {
        for kept in &self.sections {
            let table = tables.iter().find(|table| section_name(&table.section) == kept.section);
            let _ = write!(self.text, "{},{id}", kept.section);
            for (at, column) in kept.columns.iter().enumerate() {
                self.text.push(',');
                let figure = table.and_then(|table| table.figure(at, column));
                match figure {
                    None if column == BUSY => {}
                    figure => push(&mut self.text, figure),
                }
            }
            self.text.push('\n');
            let known = |column: &&String| kept.columns.contains(column);
            self.left_out += table.map_or(0, |table| {
                if table.columns == kept.columns {
                    return 0;
                }
                table.columns.iter().filter(|column| !known(column)).count() as u64
            });
        }
        let announced = |table: &&Table| {
            self.sections.iter().any(|kept| kept.section == section_name(&table.section))
        };
        let more = tables.iter().filter(|table| !announced(table));
        self.left_out += more.map(|table| table.columns.len() as u64).sum::<u64>();
    }
}

impl Table {
    /// The figure of a column, which mostly stands at the same place as in the header.
    fn figure(&self, at: usize, column: &str) -> Option<f64> {
        let same = self.columns.get(at).is_some_and(|name| name == column);
        let at = if same { at } else { self.columns.iter().position(|name| name == column)? };
        self.figures.get(at).copied().flatten()
    }
}

fn line(text: &mut String, cells: &[&str]) {
    text.push_str(&cells.join(","));
    text.push('\n');
}

/// Two decimals where there are any.
fn push(text: &mut String, figure: Option<f64>) {
    let _ = match figure.filter(|figure| figure.is_finite() && *figure >= 0.0) {
        None => write!(text, "{MISSING}"),
        Some(figure) if figure.fract() < f64::EPSILON => write!(text, "{figure:.0}"),
        Some(figure) => write!(text, "{figure:.2}"),
    };
}

fn top(text: &mut String, process: &TopProcess, id: &str) {
    let _ = write!(text, "TOP,{:07},{id}", process.pid);
    let missing = None; // text, data and libraries
    for figure in [
        process.cpu_percent,
        process.user_percent,
        process.system_percent,
        process.size_kb,
        process.resident_kb,
        missing,
        missing,
        missing,
        process.minor_faults,
        process.major_faults,
    ] {
        text.push(',');
        push(text, figure);
    }
    let _ = write!(text, ",{},", clean(&process.command));
    push(text, process.threads);
    text.push_str(",0,");
    push(text, process.seconds);
    text.push('\n');
}

/// Writes `notes`, whose lines are numbered on from `number`.
fn notes(text: &mut String, notes: &[(String, Vec<String>)], number: &mut u32) {
    for (name, lines) in notes {
        let name = clean(name);
        let _ = writeln!(text, "BBBP,{number:03},{name}");
        *number += 1;
        for line in lines {
            let line: String = line
                .chars()
                .map(|c| {
                    if c == '"' {
                        'Q'
                    } else if c.is_control() {
                        ' '
                    } else {
                        c
                    }
                })
                .collect();
            let _ = writeln!(text, "BBBP,{number:03},{name},\"{line}\"");
            *number += 1;
        }
    }
}

/// `HH:MM:SS`; the facts have a dot before the seconds.
fn time(at: DateTime, before_seconds: char) -> String {
    format!("{:02}:{:02}{before_seconds}{:02}", at.hour(), at.minute(), at.second())
}

fn date(at: DateTime) -> String {
    let month = usize::from(at.month().unsigned_abs()) - 1;
    let month = MONTHS.get(month).map_or("", |name| str::from_utf8(name).unwrap_or_default());
    format!("{:02}-{month}-{:04}", at.day(), at.year())
}

/// A cell: readers split at every comma and know no quotes.
fn clean(cell: &str) -> String {
    let cell: String = cell
        .trim()
        .chars()
        .map(|c| if matches!(c, ',' | ';') || c.is_control() { '_' } else { c })
        .collect();
    if cell.is_empty() { "_".to_owned() } else { cell }
}

/// A title of a section or a host: one that starts with `T` would be taken for a snapshot.
fn clean_title(title: &str) -> String {
    let title = clean(title);
    if title.starts_with('T') { format!("_{title}") } else { title }
}

fn section_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .take(32)
        .collect();
    if name.starts_with(|c: char| c.is_ascii_uppercase()) { name } else { format!("X{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cannot_break_a_line() {
        assert_eq!(clean("a,b\nc;"), "a_b_c_");
        assert_eq!(clean("  "), "_");
        assert_eq!(clean_title("Tokyo"), "_Tokyo");
        assert_eq!(section_name("smc-r"), "SMC_R");
        assert_eq!(section_name("1x"), "X1X");
    }

    #[test]
    fn figures_are_short_and_what_is_unknown_is_never_zero() {
        let mut text = String::new();
        for figure in [Some(0.0), Some(12.345), Some(f64::NAN), Some(-3.0), None, Some(7.0)] {
            push(&mut text, figure);
            text.push(' ');
        }
        assert_eq!(text, "0 12.35 -1.0 -1.0 -1.0 7 ");
    }

    #[test]
    fn times_are_written_as_nmon_does() {
        let at = DateTime::constant(2026, 1, 2, 3, 4, 5, 0);
        assert_eq!((time(at, ':'), time(at, '.')), ("03:04:05".into(), "03:04.05".into()));
        assert_eq!(date(at), "02-JAN-2026");
    }
}
