//! What looks on at a load: the interval log, and what is shown to whoever waits.

mod live;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};

use plumb_command::exit;
use plumb_engine::{IntervalRecords, Sampler};
use plumb_folder::{FolderError, RunFolder};
use plumb_measure::{Span, Transport, hdr, show_ns};
use plumb_page::wrap::WIDTH;

use live::Live;

/// What is said of an interval log that lacks lines.
pub(crate) const INCOMPLETE: &str = "the interval log is incomplete";

/// Writes each interval into the run folder, and shows it.
pub(crate) struct Onlooker<'a> {
    folder: &'a mut RunFolder,
    live: Live,
    points: usize,
    /// The point that is measured, from one.
    point: usize,
    labels: BTreeMap<String, String>,
    /// Start of the run, on the monotonic clock.
    began_ns: u64,
    /// Why the interval log lacks lines; the run goes on without it.
    pub(crate) trouble: Option<FolderError>,
}

impl<'a> Onlooker<'a> {
    /// Looks on at `points` points in a row, which take as long as `takes` says where that is known;
    /// shows progress behind `title`.
    pub(crate) fn new(
        folder: &'a mut RunFolder,
        title: &str,
        (points, takes): (usize, Option<Span>),
        began_ns: u64,
    ) -> Self {
        let (labels, live) = (BTreeMap::new(), Live::new(title, takes, began_ns));
        Self { folder, live, points, point: 0, labels, began_ns, trouble: None }
    }

    /// The point with these labels begins.
    pub(crate) fn point(&mut self, labels: &BTreeMap<String, String>) {
        self.point += 1;
        self.labels.clone_from(labels);
        let words: Vec<String> = self.labels.iter().map(|(k, v)| format!("{k} {v}")).collect();
        let number = match self.points {
            1 => String::new(),
            points => format!("[{}/{points}] ", self.point),
        };
        self.live.point(format!("{number}{}", words.join(", ")));
    }

    /// The folder, between two points.
    pub(crate) fn folder(&mut self) -> &mut RunFolder {
        self.folder
    }

    /// Says at once what cannot be written, so that nobody waits for it.
    pub(crate) fn warn(&mut self, trouble: &str) {
        self.live.clear();
        exit::note(&format!("{trouble}; the run goes on, and prints its figures when it ends"));
    }

    /// The run is over: leaves the terminal as it was.
    pub(crate) fn over(&mut self) {
        self.live.clear();
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
        self.live.state("warming up");
    }

    fn tick(&mut self) {
        self.live.tick();
    }

    fn interval(&mut self, records: &IntervalRecords) {
        let figures = records.figures;
        let start_ns = records.began_ns.saturating_sub(self.began_ns) + figures.start_ns;
        let mut lines = String::new();
        for row in records.recorder.rows() {
            let failed = row.failed.as_deref().map(|times| ("failed", times));
            let right = [("response", &row.response), ("service", &row.service)];
            for (series, histogram) in right.into_iter().chain(failed) {
                let tag = hdr::log_tag(series, &self.labels);
                lines += &hdr::log_line(&tag, start_ns, figures.duration_ns, histogram);
            }
        }
        if self.trouble.is_none()
            && let Err(error) = self.folder.append_intervals(&lines)
        {
            self.warn(&format!("{INCOMPLETE}: {error}"));
            self.trouble = Some(error);
        }
        self.live.interval(records);
    }
}

/// The columns of text on standard output, those of the terminal if it is one.
pub(crate) fn columns() -> usize {
    plumb_terminal::columns(io::stdout()).unwrap_or(WIDTH)
}
