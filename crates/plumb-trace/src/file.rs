//! Spans from a file: a request a line, as the file exporter of a collector writes them, or one
//! request in all.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::OtlpError;
use crate::otlp::read_json;
use crate::{Span, TraceError};

/// Bytes of a line, and of a file that is one request.
const LINE_MAX: usize = 64 << 20;

/// A file that grows. Its complete lines are read once.
#[derive(Debug)]
pub(crate) struct SpanFile {
    path: PathBuf,
    /// Up to where it was read, and how many lines that were.
    bytes: u64,
    lines: u64,
    /// It holds one request over several lines, and is read as a whole.
    whole: bool,
}

impl SpanFile {
    /// The file at `path`, which is checked as far as it is written.
    ///
    /// # Errors
    /// [`TraceError`] with the line that cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let mut file = Self { path: path.into(), bytes: 0, lines: 0, whole: false };
        file.read(|_| ())?;
        Ok(file)
    }

    /// Gives every span that came since the last time to `take`. A last line without an end is left
    /// until it has one: somebody is writing it.
    ///
    /// # Errors
    /// [`TraceError`] with the line that cannot be read.
    pub(crate) fn read(&mut self, mut take: impl FnMut(Span)) -> Result<(), TraceError> {
        if self.whole {
            self.bytes = 0;
        }
        let mut reader = BufReader::new(File::open(&self.path).map_err(|it| self.unreadable(it))?);
        reader.seek(SeekFrom::Start(self.bytes)).map_err(|it| self.unreadable(it))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut one = reader.by_ref().take(LINE_MAX as u64 + 1);
            let length = one.read_until(b'\n', &mut line).map_err(|it| self.unreadable(it))?;
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
        }
    }

    /// One request over several lines.
    fn read_whole(&mut self, take: impl FnMut(Span)) -> Result<(), TraceError> {
        let mut text = Vec::new();
        let file = File::open(&self.path).map_err(|it| self.unreadable(it))?;
        let mut file = file.take(LINE_MAX as u64 + 1);
        file.read_to_end(&mut text).map_err(|it| self.unreadable(it))?;
        if text.len() > LINE_MAX {
            let most_mib = LINE_MAX >> 20;
            return Err(TraceError::LongLine { path: self.path.clone(), line: 1, most_mib });
        }
        match read_json(&text, take) {
            Ok(()) => {
                self.whole = true;
                Ok(())
            }
            Err(problem) => {
                let line = match &problem {
                    OtlpError::Json(error) => (error.line() as u64).max(1),
                    _ => 1,
                };
                Err(self.wrong(line, problem))
            }
        }
    }

    fn wrong(&self, line: u64, problem: OtlpError) -> TraceError {
        TraceError::Line { path: self.path.clone(), line, problem }
    }

    fn unreadable(&self, cause: std::io::Error) -> TraceError {
        TraceError::File { path: self.path.clone(), cause }
    }
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
    fn a_file_that_is_not_there_is_named() {
        let error = SpanFile::open(Path::new("/nowhere/spans.json")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read /nowhere/spans.json: "), "{error}");
    }
}
