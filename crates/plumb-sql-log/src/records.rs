//! Records of csvlog and jsonlog.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use csv::{ByteRecord, Reader, ReaderBuilder};
use serde::Deserialize;

use crate::Entry;
use crate::lines::{RECORD_MAX, numbered_lines};
use crate::message::{Line, LogClock};

/// Columns of csvlog: when, whose, what, and what more.
const TIME: usize = 0;
const SESSION: usize = 5;
const SEVERITY: usize = 11;
const MESSAGE: usize = 13;
const DETAIL: usize = 14;
/// Columns that every version has.
const COLUMNS_MIN: usize = 23;

/// Reads no more than one record may hold, until it is allowed more: a quote without an end would otherwise
/// fill the memory with the rest of the file.
struct Bounded<R> {
    inner: R,
    left: Arc<AtomicU64>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(io::Error::other(format!(
                "a record is longer than {RECORD_MAX} bytes: is a quote without its end?"
            )));
        }
        let read = self.inner.read(into)?;
        self.left.store(left.saturating_sub(read as u64), Ordering::Relaxed);
        Ok(read)
    }
}

/// Records of csvlog.
pub(crate) struct Csv<R> {
    reader: Reader<Bounded<R>>,
    left: Arc<AtomicU64>,
    record: ByteRecord,
    clock: LogClock,
    ended: bool,
}

impl<R: Read> Csv<R> {
    pub(crate) fn new(bytes: R) -> Self {
        let left = Arc::new(AtomicU64::new(0));
        let bytes = Bounded { inner: bytes, left: Arc::clone(&left) };
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let (record, clock) = (ByteRecord::new(), LogClock::default());
        Self { reader, left, record, clock, ended: false }
    }
}

impl<R: Read> Iterator for Csv<R> {
    type Item = Result<Entry, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        self.left.store(RECORD_MAX as u64, Ordering::Relaxed);
        let read = self.reader.read_byte_record(&mut self.record);
        let line = self.record.position().map_or(0, csv::Position::line);
        let entry = match read {
            Ok(false) => return None,
            Ok(true) => of_record(&self.record, line, &mut self.clock),
            Err(error) => Err(error.to_string()),
        };
        self.ended = entry.is_err();
        Some(entry.map_err(|complaint| format!("line {line}: {complaint}")))
    }
}

fn of_record(record: &ByteRecord, number: u64, clock: &mut LogClock) -> Result<Entry, String> {
    if record.len() < COLUMNS_MIN {
        return Err(format!(
            "{} columns, and PostgreSQL's csvlog has at least {COLUMNS_MIN}: is it of that format, and \
             whole? (--format)",
            record.len()
        ));
    }
    let column = |at: usize| {
        str::from_utf8(&record[at]).map_err(|_| format!("column {} is not UTF-8", at + 1))
    };
    let line = Line {
        number,
        time: column(TIME)?,
        session: column(SESSION)?,
        severity: column(SEVERITY)?,
        message: column(MESSAGE)?,
        detail: column(DETAIL)?,
    };
    line.entry(clock)
}

/// A line of jsonlog, as far as it is looked at.
#[derive(Deserialize)]
struct Object {
    timestamp: String,
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    error_severity: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    detail: String,
}

/// Records of jsonlog.
pub(crate) fn json(bytes: impl BufRead) -> impl Iterator<Item = Result<Entry, String>> {
    let mut clock = LogClock::default();
    numbered_lines(bytes).filter(|line| !matches!(line, Ok((_, text)) if text.is_empty())).map(
        move |line| {
            let (number, line) = line?;
            let told = |complaint: String| format!("line {number}: {complaint}");
            let object: Object = serde_json::from_str(&line).map_err(|error| {
                told(format!("no line of PostgreSQL's jsonlog: {error} (--format)"))
            })?;
            let line = Line {
                number,
                time: &object.timestamp,
                session: &object.session_id,
                severity: &object.error_severity,
                message: &object.message,
                detail: &object.detail,
            };
            line.entry(&mut clock).map_err(told)
        },
    )
}
