//! The result file of JMeter: a line of CSV for each operation, for whatever reads such files.
//!
//! Lines are written by a thread of their own while the load runs. What it cannot follow is left
//! out, counted, and said in the verdict of the result.
//!
//! # Source
//! Apache JMeter, `CSVSaveService` and the defaults of `jmeter.save.saveservice.*`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};

use http::StatusCode;
use plumb_engine::clock;
use plumb_engine::{IntervalRecords, Operation, Sampler, Tap};
use plumb_measure::{FailureKind, Outcome};

use crate::HttpError;

/// The first line, as JMeter writes it by default.
pub const HEADER: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,\
                          success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,\
                          IdleTime,Connect";

/// What a row of the records is called in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JtlRow {
    /// The name of the request.
    pub label: String,
    /// What is asked for.
    pub url: String,
    /// Bytes of the whole request; 0 where each is another.
    pub sent_bytes: u64,
    /// Which group of connections asks for it, from 0.
    pub group: usize,
}

/// A file that the operations of one load after another are written to.
#[derive(Debug)]
pub struct Jtl {
    path: PathBuf,
    rows: Arc<[JtlRow]>,
    /// Connections of each group of the next load.
    groups: Vec<usize>,
    /// `None` while a load is written.
    out: Option<BufWriter<File>>,
    writing: Option<Writing>,
}

/// A load that is written.
#[derive(Debug)]
struct Writing {
    tap: Tap,
    thread: JoinHandle<io::Result<BufWriter<File>>>,
}

impl Jtl {
    /// A new file at `path` for operations of `rows`, in the order of the labels.
    ///
    /// # Errors
    /// [`HttpError::Jtl`] when it cannot be made, or is there already.
    pub fn create(path: &Path, rows: Vec<JtlRow>) -> Result<Self, HttpError> {
        let failed = |cause| HttpError::Jtl { path: path.into(), cause };
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
        let mut out = BufWriter::new(file);
        writeln!(out, "{HEADER}").map_err(failed)?;
        let quoted =
            |row: JtlRow| JtlRow { label: quoted(&row.label), url: quoted(&row.url), ..row };
        Ok(Self {
            path: path.into(),
            rows: rows.into_iter().map(quoted).collect(),
            groups: Vec::new(),
            out: Some(out),
            writing: None,
        })
    }

    /// The next load has so many connections in each of its groups, which are numbered apart.
    pub fn expect(&mut self, groups: Vec<usize>) {
        self.groups = groups;
    }

    /// Waits until all operations of the load that has ended are in the file; how many are not,
    /// because writing was too slow.
    ///
    /// # Errors
    /// [`HttpError::Jtl`] when it cannot be written.
    pub fn settle(&mut self) -> Result<u64, HttpError> {
        let Some(Writing { tap, thread }) = self.writing.take() else {
            return Ok(0);
        };
        let left_out = tap.left_out();
        drop(tap); // the last copy: the thread comes to its end
        let written = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.out = Some(written.map_err(|cause| self.failed(cause))?);
        Ok(left_out)
    }

    fn failed(&self, cause: io::Error) -> HttpError {
        HttpError::Jtl { path: self.path.clone(), cause }
    }
}

impl Sampler for Jtl {
    fn tap(&mut self) -> Option<Tap> {
        let out = self.out.take()?;
        let (tap, operations) = Tap::new();
        let (now_ns, wall_ns) = clock::both_ns();
        let lines = Lines {
            rows: Arc::clone(&self.rows),
            groups: self.groups.clone(),
            epoch_ns: wall_ns.saturating_sub(now_ns),
        };
        let thread = thread::spawn(move || lines.write(&operations, out));
        self.writing = Some(Writing { tap: tap.clone(), thread });
        Some(tap)
    }

    fn interval(&mut self, records: &IntervalRecords) {
        let _ = records; // every operation comes through the tap
    }
}

/// What is the same in all lines of a load.
#[derive(Debug)]
struct Lines {
    rows: Arc<[JtlRow]>,
    /// Connections of each group.
    groups: Vec<usize>,
    /// Zero of the monotonic clock by the wall clock, nanoseconds.
    epoch_ns: u64,
}

impl Lines {
    /// Writes what comes until nobody is left who could tell an operation.
    fn write(
        &self,
        operations: &Receiver<Vec<Operation>>,
        mut out: BufWriter<File>,
    ) -> io::Result<BufWriter<File>> {
        while let Ok(batch) = operations.recv() {
            batch.iter().try_for_each(|operation| self.line(operation, &mut out))?;
        }
        out.flush()?;
        Ok(out)
    }

    /// One line. As in JMeter, the time of connecting lies within latency and elapsed time, so that
    /// an operation that was due only behind it starts that much earlier.
    fn line(&self, operation: &Operation, out: &mut impl Write) -> io::Result<()> {
        let Operation { moments, connect_ns, .. } = *operation;
        let behind = moments.sent.saturating_sub(moments.due) < connect_ns;
        let from = moments.due.saturating_sub(if behind { connect_ns } else { 0 });
        let start_ms = (self.epoch_ns + from) / 1_000_000;
        let elapsed_ms = ms(moments.last.saturating_sub(from));
        let latency_ms = ms(moments.first.saturating_sub(from));
        let (label, url, sent, group) = match self.rows.get(usize::from(operation.row)) {
            Some(row) => (row.label.as_str(), row.url.as_str(), row.sent_bytes, row.group),
            None => ("", "", 0, 0),
        };
        let kind = match operation.outcome {
            Outcome::Ok => None,
            Outcome::Failed(kind) => Some(kind),
            Outcome::Refused => Some(FailureKind::Refused), // its form knows nothing between
        };
        write!(out, "{start_ms},{elapsed_ms},{label},")?;
        answer(operation.code, kind, out)?;
        writeln!(
            out,
            ",plumb {}-{},,{},{},{},{sent},{},{},{url},{latency_ms},0,{}",
            group + 1,
            u64::from(operation.connection) + 1,
            kind.is_none(),
            kind.map_or("", FailureKind::name),
            operation.body_bytes,
            self.groups.get(group).copied().unwrap_or(0),
            self.groups.iter().sum::<usize>(),
            ms(connect_ns),
        )
    }
}

/// Code and message of the answer, in JMeter's words where there was none.
fn answer(code: Option<u16>, kind: Option<FailureKind>, out: &mut impl Write) -> io::Result<()> {
    match (code, kind) {
        (Some(code), _) => {
            let status = StatusCode::from_u16(code).ok();
            let words = status.and_then(|status| status.canonical_reason()).unwrap_or_default();
            write!(out, "{code},{words}")
        }
        (None, Some(kind)) => {
            let name = kind.name();
            write!(out, "Non HTTP response code: {name},Non HTTP response message: {name}")
        }
        (None, None) => write!(out, ","),
    }
}

/// Whole milliseconds, to the nearest.
fn ms(ns: u64) -> u64 {
    (ns + 500_000) / 1_000_000
}

/// A field of CSV.
///
/// # Source
/// RFC 4180, section 2.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::Moments;

    use super::*;

    const MS: u64 = 1_000_000;

    fn operation(outcome: Outcome, code: Option<u16>) -> Operation {
        Operation {
            row: 0,
            connection: 2,
            moments: Moments {
                due: 20 * MS,
                sent: 21 * MS,
                first: 30 * MS,
                last: 41 * MS + 499_999,
            },
            outcome,
            code,
            body_bytes: 1_024,
            connect_ns: 0,
        }
    }

    fn row(label: &str) -> JtlRow {
        JtlRow { label: label.into(), url: "http://erp/a".into(), sent_bytes: 70, group: 0 }
    }

    fn line(label: &str, operation: &Operation) -> String {
        line_of(row(&quoted(label)), vec![5], operation)
    }

    fn line_of(row: JtlRow, groups: Vec<usize>, operation: &Operation) -> String {
        let lines = Lines { rows: [row].into(), groups, epoch_ns: 1_700_000_000_000 * MS };
        let mut out = Vec::new();
        lines.line(operation, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_has_a_field_for_each_name_of_the_header() {
        let line = line("page", &operation(Outcome::Ok, Some(200)));
        assert_eq!(
            line,
            "1700000000020,21,page,200,OK,plumb 1-3,,true,,1024,70,5,5,http://erp/a,10,0,0\n"
        );
        assert_eq!(line.split(',').count(), HEADER.split(',').count());
    }

    #[test]
    fn connections_are_named_with_their_group() {
        let second = JtlRow { group: 1, ..row("page") };
        let line = line_of(second, vec![5, 20], &operation(Outcome::Ok, Some(200)));
        assert!(line.contains(",plumb 2-3,") && line.contains(",70,20,25,http"), "{line}");
    }

    #[test]
    fn connecting_lies_within_latency_and_elapsed_time() {
        let first = Operation { connect_ns: 4 * MS, ..operation(Outcome::Ok, Some(200)) };
        let line = line("page", &first);
        assert!(line.starts_with("1700000000016,25,page,"), "{line}");
        assert!(line.ends_with(",14,0,4\n"), "{line}");
    }

    #[test]
    fn failures_say_what_they_were() {
        let unexpected = Outcome::Failed(FailureKind::UnexpectedStatus);
        let text = line("page", &operation(unexpected, Some(404)));
        assert!(text.contains(",404,Not Found,plumb 1-3,,false,unexpected-status,"), "{text}");
        let text = line("page", &operation(Outcome::Failed(FailureKind::TimedOut), None));
        assert!(text.contains(",Non HTTP response code: timed-out,"), "{text}");
        assert!(text.contains(",false,timed-out,"), "{text}");
    }

    #[test]
    fn a_label_with_a_comma_is_one_field() {
        let text = line("a,\"b\"", &operation(Outcome::Ok, Some(200)));
        assert!(text.contains(",21,\"a,\"\"b\"\"\",200,"), "{text}");
    }

    #[test]
    fn one_load_after_the_other_goes_into_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.jtl");
        let mut jtl = Jtl::create(&path, vec![row("page")]).unwrap();
        assert!(jtl.settle().is_ok_and(|left_out| left_out == 0)); // nothing was driven yet
        for users in [1, 64] {
            jtl.expect(vec![users]);
            assert!(jtl.tap().is_some());
            assert!(jtl.tap().is_none()); // it has one for each load
            assert_eq!(jtl.settle().unwrap(), 0);
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\n"));
        let error = Jtl::create(&path, Vec::new()).unwrap_err().to_string();
        assert!(error.contains("samples.jtl"), "{error}");
    }
}
