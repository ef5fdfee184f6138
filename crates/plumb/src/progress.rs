//! What looks on at a load: the interval log, and a line on the terminal for whoever waits.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};

use plumb_engine::{IntervalRecords, Sampler};
use plumb_folder::{FolderError, RunFolder};
use plumb_measure::{Transport, hdr, show_count, show_ns};
use rustix::termios::tcgetwinsize;

/// Writes each interval into the run folder, and shows it.
pub(crate) struct Onlooker<'a> {
    folder: &'a mut RunFolder,
    title: &'a str,
    points: usize,
    /// The point that is measured, from one.
    point: usize,
    labels: BTreeMap<String, String>,
    /// Start of the run, on the monotonic clock.
    began_ns: u64,
    /// The first error of the folder; the run goes on without its interval log.
    pub(crate) trouble: Option<FolderError>,
}

impl<'a> Onlooker<'a> {
    /// Looks on at `points` points in a row; shows progress behind `title` if standard error is a
    /// terminal.
    pub(crate) fn new(
        folder: &'a mut RunFolder,
        title: &'a str,
        points: usize,
        began_ns: u64,
    ) -> Self {
        let labels = BTreeMap::new();
        Self { folder, title, points, point: 0, labels, began_ns, trouble: None }
    }

    /// The point with these labels begins.
    pub(crate) fn point(&mut self, labels: &BTreeMap<String, String>) {
        self.point += 1;
        self.labels.clone_from(labels);
        self.line("connecting");
    }

    /// The folder, between two points.
    pub(crate) fn folder(&mut self) -> &mut RunFolder {
        self.folder
    }

    fn line(&self, text: &str) {
        let words: Vec<String> = self.labels.iter().map(|(k, v)| format!("{k} {v}")).collect();
        let place = format!("{}[{}/{}] {}", self.title, self.point, self.points, words.join(", "));
        say(&format!("{place}: {text}"));
    }
}

/// Shows one line of progress in place of the last, if standard error is a terminal.
pub(crate) fn say(text: &str) {
    if io::stderr().is_terminal() {
        // progress is a courtesy
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    }
}

/// A length for people who plan their day by it.
pub(crate) fn length(ns: u64) -> String {
    let minutes = ns / 60_000_000_000;
    match minutes {
        0..=1 => show_ns(ns),
        2..=119 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// Leaves the terminal as it was.
pub(crate) fn clear() {
    say("");
}

impl Sampler for Onlooker<'_> {
    fn begin(&mut self, _: Option<&Transport>) {
        self.line("warming up");
    }

    fn interval(&mut self, records: &IntervalRecords) {
        let figures = records.figures;
        let start_ns = records.began_ns.saturating_sub(self.began_ns) + figures.start_ns;
        let mut lines = String::new();
        for row in records.recorder.rows() {
            for (series, histogram) in [("response", &row.response), ("service", &row.service)] {
                let tag = hdr::log_tag(series, &self.labels);
                lines += &hdr::log_line(&tag, start_ns, figures.duration_ns, histogram);
            }
        }
        if let Err(error) = self.folder.append_intervals(&lines) {
            self.trouble.get_or_insert(error);
        }
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let per_s = figures.operations as f64 * 1e9 / figures.duration_ns.max(1) as f64;
        let failures = match figures.failures {
            0 => String::new(),
            n => format!(", {n} failed"),
        };
        let users = match records.users {
            0 => String::new(),
            n => format!("{n} users, "),
        };
        self.line(&format!(
            "{} s, {users}{}/s, p50 {}, p99 {}{failures}",
            (figures.start_ns + figures.duration_ns) / 1_000_000_000,
            show_count(per_s),
            show_ns(figures.p50),
            show_ns(figures.p99),
        ));
    }
}

/// Columns of text where standard output is no terminal, or one that does not say.
const COLUMNS: usize = 80;
/// A terminal is no narrower and no wider than people can read.
const COLUMNS_MIN: usize = 40;
const COLUMNS_MAX: usize = 120;

/// The columns of text on standard output.
pub(crate) fn columns() -> usize {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).clamp(COLUMNS_MIN, COLUMNS_MAX),
        _ => COLUMNS,
    }
}
