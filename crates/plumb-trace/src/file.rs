//! Spans from a file: a request a line, as the file exporter of a collector writes them, or one
//! request in all.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::error::OtlpError;
use crate::otlp::read_json;
use crate::{Span, TraceError};

/// Bytes of a line, and of a file that is one request.
const LINE_MAX: usize = 64 << 20;

/// Bytes before the place up to which a file was read that are looked at again.
const KNOWN_MAX: usize = 256;

/// A file that grows, and that another may follow under its name. Complete lines are read once.
#[derive(Debug)]
pub(crate) struct SpanFile {
    path: PathBuf,
    /// What is read; its name may have gone to another file.
    file: File,
    /// Up to where it was read, and how many lines that were. One request over several lines is no
    /// complete line, and read again from the start.
    bytes: u64,
    lines: u64,
    /// The last of those bytes: where they are no longer there, the file was started anew.
    known: Vec<u8>,
}

impl SpanFile {
    /// The file at `path`, which is checked as far as it is written.
    ///
    /// # Errors
    /// [`TraceError`] with the line that cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let file = File::open(path).map_err(|it| unreadable(path, it))?;
        let mut file = Self { path: path.into(), file, bytes: 0, lines: 0, known: Vec::new() };
        file.read_on(|_| ())?;
        Ok(file)
    }

    /// Gives every span that came since the last time to `take`. A last line without an end is given
    /// again once it has one, as is one request over several lines; where either is cut, it is left:
    /// somebody is writing it.
    ///
    /// # Errors
    /// [`TraceError`] with the line that cannot be read.
    pub(crate) fn read(&mut self, mut take: impl FnMut(Span)) -> Result<(), TraceError> {
        // asked before the lines are read: whoever gave the name away writes no more into this one
        let other = self.other().map_err(|it| unreadable(&self.path, it))?;
        if !self.is_continued().map_err(|it| unreadable(&self.path, it))? {
            self.begin_anew();
        }
        self.read_so_far(&mut take)?;
        let Some(other) = other else { return Ok(()) };
        self.file = other;
        self.begin_anew();
        self.read_so_far(&mut take)
    }

    /// The file that has the name of this one by now.
    fn other(&self) -> io::Result<Option<File>> {
        let other = match File::open(&self.path) {
            Ok(other) => other,
            // between two names
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let place = |file: &File| file.metadata().map(|it| (it.dev(), it.ino()));
        Ok((place(&other)? != place(&self.file)?).then_some(other))
    }

    /// True where what was read last is still there.
    fn is_continued(&self) -> io::Result<bool> {
        let mut there = vec![0; self.known.len()];
        match self.file.read_exact_at(&mut there, self.bytes - self.known.len() as u64) {
            Ok(()) => Ok(there == self.known),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn begin_anew(&mut self) {
        (self.bytes, self.lines) = (0, 0);
        self.known.clear();
    }

    /// Reads on in a file whose first request may be cut.
    fn read_so_far(&mut self, take: impl FnMut(Span)) -> Result<(), TraceError> {
        match self.read_on(take) {
            Err(TraceError::Line { problem, .. }) if self.lines == 0 && goes_on(&problem) => Ok(()),
            read => read,
        }
    }

    fn read_on(&mut self, mut take: impl FnMut(Span)) -> Result<(), TraceError> {
        let mut reader = BufReader::new(&self.file);
        reader.seek(SeekFrom::Start(self.bytes)).map_err(|it| unreadable(&self.path, it))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut one = reader.by_ref().take(LINE_MAX as u64 + 1);
            let length =
                one.read_until(b'\n', &mut line).map_err(|it| unreadable(&self.path, it))?;
            let number = self.lines + 1;
            if length > LINE_MAX {
                let most_mib = LINE_MAX >> 20;
                return Err(TraceError::LongLine {
                    path: self.path.clone(),
                    line: number,
                    most_mib,
                });
            }
            let ended = line.last() == Some(&b'\n');
            let text = line.trim_ascii();
            if text.is_empty() && !ended {
                return Ok(());
            }
            let read = if text.is_empty() { Ok(()) } else { read_json(text, &mut take) };
            match read {
                Err(problem) if !ended && goes_on(&problem) => return Ok(()),
                Err(problem) if number == 1 && goes_on(&problem) => return self.read_whole(take),
                Err(problem) => return Err(self.wrong(number, problem)),
                Ok(()) if !ended => return Ok(()), // and again once it has an end
                Ok(()) => {}
            }
            self.bytes += length as u64;
            self.lines = number;
            self.known.extend_from_slice(&line[length.saturating_sub(KNOWN_MAX)..]);
            self.known.drain(..self.known.len().saturating_sub(KNOWN_MAX));
        }
    }

    /// One request over several lines.
    fn read_whole(&self, take: impl FnMut(Span)) -> Result<(), TraceError> {
        let (mut text, mut file) = (Vec::new(), &self.file);
        let read = file.seek(SeekFrom::Start(0));
        read.and_then(|_| file.take(LINE_MAX as u64 + 1).read_to_end(&mut text))
            .map_err(|it| unreadable(&self.path, it))?;
        if text.len() > LINE_MAX {
            let most_mib = LINE_MAX >> 20;
            return Err(TraceError::LongLine { path: self.path.clone(), line: 1, most_mib });
        }
        read_json(&text, take).map_err(|problem| {
            let line = match &problem {
                OtlpError::Json(error) => (error.line() as u64).max(1),
                _ => 1,
            };
            self.wrong(line, problem)
        })
    }

    fn wrong(&self, line: u64, problem: OtlpError) -> TraceError {
        TraceError::Line { path: self.path.clone(), line, problem }
    }
}

fn unreadable(path: &Path, cause: io::Error) -> TraceError {
    TraceError::File { path: path.into(), cause }
}

/// True where a text is cut: more of it may make it right.
fn goes_on(problem: &OtlpError) -> bool {
    matches!(problem, OtlpError::Json(error) if error.is_eof())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn line(number: u8) -> String {
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{:032x}","spanId":"{number:016x}","startTimeUnixNano":"1","endTimeUnixNano":"2"}}]}}]}}]}}"#,
            7
        )
    }

    fn read(file: &mut SpanFile) -> Result<Vec<u8>, TraceError> {
        let mut found = Vec::new();
        file.read(|span| found.push(span.id.0[7]))?;
        Ok(found)
    }

    #[test]
    fn lines_are_read_once_and_a_last_line_without_an_end_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spans.json");
        std::fs::write(&path, line(1) + "\n\n").unwrap();
        let mut file = SpanFile::open(&path).unwrap();
        let mut more = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        let (second, third) = (line(2) + "\n", line(3));
        write!(more, "{second}{}", &third[..90]).unwrap();
        assert_eq!(read(&mut file).unwrap(), [2]);
        assert_eq!(read(&mut file).unwrap(), [0_u8; 0]);
        writeln!(more, "{}", &third[90..]).unwrap();
        assert_eq!(read(&mut file).unwrap(), [3]);
        writeln!(more, "{{}}").unwrap();
        let error = read(&mut file).unwrap_err().to_string();
        assert!(error.contains("spans.json, line 5: missing field `resourceSpans`"), "{error}");
    }

    #[test]
    fn one_request_over_several_lines_is_read_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spans.json");
        std::fs::write(&path, line(4).replace(',', ",\n")).unwrap();
        let mut file = SpanFile::open(&path).unwrap();
        assert_eq!(read(&mut file).unwrap(), [4]);
        std::fs::write(&path, line(4).replace(',', ",\n").replace("\"2\"", "2x")).unwrap();
        let error = read(&mut file).unwrap_err().to_string();
        assert!(error.contains("line 4: ") && error.contains("OTLP JSON"), "{error}");
    }

    #[test]
    fn one_request_over_several_lines_is_left_until_all_of_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spans.json");
        std::fs::write(&path, "").unwrap();
        let mut file = SpanFile::open(&path).unwrap();
        let text = line(4).replace(',', ",\n");
        std::fs::write(&path, &text[..120]).unwrap();
        assert_eq!(read(&mut file).unwrap(), [0_u8; 0]);
        std::fs::write(&path, text).unwrap();
        assert_eq!(read(&mut file).unwrap(), [4]);
    }

    #[test]
    fn a_file_that_is_started_anew_is_read_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spans.json");
        let lines = |numbers: &[u8]| numbers.iter().map(|it| line(*it) + "\n").collect::<String>();
        std::fs::write(&path, lines(&[1, 2])).unwrap();
        let mut file = SpanFile::open(&path).unwrap();
        // the same file, shorter and as long as before
        std::fs::write(&path, lines(&[3])).unwrap();
        assert_eq!(read(&mut file).unwrap(), [3]);
        std::fs::write(&path, lines(&[4, 5])).unwrap();
        assert_eq!(read(&mut file).unwrap(), [4, 5]);
        assert_eq!(read(&mut file).unwrap(), [0_u8; 0]);
    }

    #[test]
    fn a_file_that_is_rotated_is_read_to_its_end_before_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spans.json");
        std::fs::write(&path, line(1) + "\n").unwrap();
        let mut file = SpanFile::open(&path).unwrap();
        let mut more = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        writeln!(more, "{}", line(2)).unwrap();
        std::fs::rename(&path, folder.path().join("spans.old.json")).unwrap();
        assert_eq!(read(&mut file).unwrap(), [2], "while nothing has the name");
        writeln!(more, "{}", line(3)).unwrap();
        std::fs::write(&path, line(4) + "\n").unwrap();
        assert_eq!(read(&mut file).unwrap(), [3, 4]);
        assert_eq!(read(&mut file).unwrap(), [0_u8; 0]);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = SpanFile::open(Path::new("/nowhere/spans.json")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read /nowhere/spans.json: "), "{error}");
    }
}
