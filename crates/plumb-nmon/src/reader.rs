//! A file is read twice: for what may stand anywhere in it, and for its figures.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::thread::{self, Scope};

use crate::cell::Line;
use crate::input::{Lines, Next, Text};
use crate::outline::{Outline, RecordingOutline};
use crate::perfmon::{self, Perfmon, PerfmonError};
use crate::reading::Reading;
use crate::recording::Recording;
use crate::series::Series;
use crate::stamp::Stamp;
use crate::trouble::{TroubleKind, Troubles};
use crate::window::Window;

/// Most figures that are kept in series: 512 MiB.
const SERIES_FIGURES_MAX: usize = 1 << 26;

/// What is kept beside statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The columns whose every figure is kept.
    pub series: Series,
    /// The part of each recording that is read.
    pub window: Window,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct Nmon {
    /// What was recorded; more than one when files were put together.
    pub recordings: Vec<Recording>,
    /// What was wrong with the file, by line.
    pub troubles: Troubles,
}

/// There is nothing to show of a file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened: check its name and its permissions.
    #[error("cannot open {}: {cause}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// Reading failed midway, for example because a disk or network share has gone: read again.
    #[error("cannot read on behind line {line}: {cause}")]
    Read {
        /// The last line that was read.
        line: u64,
        /// What the system says.
        cause: io::Error,
    },
    /// Nothing was recorded in the part of the time that was asked for.
    #[error(
        "no snapshot within the time asked for: it goes from {first} to {last} of its own clock"
    )]
    NothingWithin {
        /// The first snapshot.
        first: String,
        /// The last one.
        last: String,
    },
    /// The file is a log of Windows that cannot be read.
    #[error("a log of Windows, and {0}")]
    Perfmon(#[from] PerfmonError),
    /// The file is of another kind.
    #[error(
        "not an nmon file: no AAA, ZZZZ or snapshot line in {lines} lines (the first is {first:?}); \
         expected the file that `nmon -f` or `topas_nmon` writes, or the CSV of `typeperf` and `relog \
         -f csv`, plain or compressed with gzip"
    )]
    NotNmon {
        /// Lines read.
        lines: u64,
        /// The first line, shortened.
        first: String,
    },
}

/// Reads a file, plain or compressed with gzip.
///
/// # Errors
/// [`ReadError`] when it cannot be read or is no nmon file. Anything wrong within the file is in
/// [`Nmon::troubles`].
pub fn open(path: &Path, options: &Options) -> Result<Nmon, ReadError> {
    read_from(
        || plain_file(path),
        options,
        |cause| ReadError::Open { path: path.to_owned(), cause },
    )
}

/// What gives its content once only is refused, and not opened: a pipe without a writer would wait for one.
fn plain_file(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_fifo() || kind.is_socket() || kind.is_char_device() {
        return Err(io::Error::other(
            "it is read twice, and no file: write what comes out of it to one first",
        ));
    }
    File::open(path)
}

/// Reads a file that is in memory.
///
/// # Errors
/// [`ReadError::NotNmon`].
pub fn read(bytes: &[u8], options: &Options) -> Result<Nmon, ReadError> {
    read_from(|| Ok(bytes), options, |cause| ReadError::Read { line: 0, cause })
}

/// Reads what `source` gives; it is asked twice, each time for the whole from its beginning.
/// `unopened` makes the error of a source that cannot be had.
///
/// # Errors
/// As [`open`].
pub(crate) fn read_from<R: Read + Send>(
    mut source: impl FnMut() -> io::Result<R>,
    options: &Options,
    unopened: impl Fn(io::Error) -> ReadError,
) -> Result<Nmon, ReadError> {
    let mut troubles = Troubles::default();
    let mut outline = Outline::default();
    each_line(source().map_err(&unopened)?, |next| {
        match next {
            Next::Line(line) => outline.line(line, &mut troubles),
            Next::TooLong(line) => troubles.add(line, TroubleKind::LongLine),
            Next::Broken(line, why) => {
                troubles.add(line, TroubleKind::Truncated(format!("compressed data: {why}")));
            }
            Next::Strange(line, kind) => troubles.add(line, kind),
            Next::End => {}
        }
        true
    })?;
    outline.finish(&mut troubles);
    outline.parts.iter_mut().for_each(|part| part.timeline.keep(&options.window));
    within(&outline.parts)?;

    let (lines, first, last_is_cut) = (outline.lines, outline.first, outline.cut);
    let mut pass = Pass::over(outline.parts, options, &mut troubles);
    each_line(source().map_err(&unopened)?, |next| {
        if let Next::Line(line) = next {
            pass.line(line, last_is_cut && line.number == lines);
            return line.number < lines; // a file may grow while it is read
        }
        true
    })?;
    let recordings = pass.finish(lines);
    let has_none = |it: &Recording| it.timeline.stamps().is_empty();
    if first == perfmon::FIRST && recordings.iter().all(has_none) {
        return Err(PerfmonError::NoRow.into());
    }
    if recordings.is_empty() {
        return Err(ReadError::NotNmon { lines, first });
    }
    troubles.sort();
    Ok(Nmon { recordings, troubles })
}

/// Refuses a part of the time in which nothing was recorded.
fn within(parts: &[RecordingOutline]) -> Result<(), ReadError> {
    let is_empty =
        |part: &RecordingOutline| part.timeline.is_part() && part.timeline.stamps().is_empty();
    let ends = parts.iter().filter_map(|part| part.timeline.ends());
    let ends = ends.reduce(|[first, _], [_, last]| [first, last]);
    match ends.filter(|_| parts.iter().all(is_empty)) {
        None => Ok(()),
        Some(ends) => {
            let words =
                |stamp: Stamp| stamp.local().map_or_else(|| "?".into(), |at| at.to_string());
            let [first, last] = ends.map(words);
            Err(ReadError::NothingWithin { first, last })
        }
    }
}

/// Hands every line to `book` until it has enough.
fn each_line(
    source: impl Read + Send,
    book: impl FnMut(Next<'_>) -> bool,
) -> Result<(), ReadError> {
    thread::scope(|scope| each_line_of(source, scope, book))
}

fn each_line_of<'scope>(
    source: impl Read + Send + 'scope,
    scope: &'scope Scope<'scope, '_>,
    mut book: impl FnMut(Next<'_>) -> bool,
) -> Result<(), ReadError> {
    let failed = |line| move |cause| ReadError::Read { line, cause };
    let mut lines = Lines::new(source, scope).map_err(failed(0))?;
    let mut number = 0;
    let (mut begun, mut perfmon) = (false, None);
    loop {
        let next = lines.next().map_err(failed(number))?;
        if let Next::Line(line) = next
            && !begun
            && !line.text.trim_ascii().is_empty()
        {
            begun = true;
            if let Some(error) = perfmon::refused(line.text) {
                return Err(error.into());
            }
            perfmon = perfmon::is_header(line.text).then(Perfmon::default);
        }
        if let (Next::Line(line), Some(perfmon)) = (&next, &mut perfmon) {
            number = line.number;
            match perfmon.line(*line, &mut book)? {
                true => continue,
                false => return Ok(()),
            }
        }
        let last = matches!(next, Next::End | Next::Broken(..));
        if let Next::Line(line) = next {
            number = line.number;
        }
        if !book(next) || last {
            return Ok(());
        }
    }
}

/// The second pass.
struct Pass<'t> {
    parts: Vec<Reading>,
    at: usize,
    troubles: &'t mut Troubles,
    figures: Vec<f64>,
}

impl<'t> Pass<'t> {
    fn over(parts: Vec<RecordingOutline>, options: &Options, troubles: &'t mut Troubles) -> Self {
        let mut room = SERIES_FIGURES_MAX;
        let parts = parts
            .into_iter()
            .map(|part| Reading::new(part, &options.series, &mut room, troubles))
            .collect();
        Self { parts, at: 0, troubles, figures: Vec::new() }
    }

    fn line(&mut self, line: Text<'_>, cut_off: bool) {
        while self.parts.get(self.at + 1).is_some_and(|next| next.part.line <= line.number) {
            self.at += 1;
        }
        let Some(reading) = self.parts.get_mut(self.at) else { return };
        let mut content = line.text.trim_ascii_end();
        if cut_off {
            let what = "its last line does not end; the last cell is left out".to_owned();
            self.troubles.add(line.number, TroubleKind::Truncated(what));
            let end = content.iter().rposition(|byte| matches!(byte, b',' | b';')).unwrap_or(0);
            content = &content[..end];
        }
        let Some(split) = Line::split(content) else { return };
        match split.section {
            b"TOP" => reading.process(&split, line.number, self.troubles),
            b"AAA" | b"ZZZZ" | b"UARG" | b"ERROR" => {}
            section if section.starts_with(b"BBB") => {}
            _ => reading.row(&split, line.number, &mut self.figures, self.troubles),
        }
    }

    /// The recordings that have anything to show.
    fn finish(self, lines: u64) -> Vec<Recording> {
        let mut recordings = Vec::new();
        for reading in self.parts {
            reading.judge(lines, self.troubles);
            recordings.extend(reading.finish());
        }
        recordings
    }
}
