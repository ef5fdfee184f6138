//! The interval log of a run.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use plumb_measure::hdr;

use crate::error::FolderError;
use crate::names::INTERVALS;
use crate::read::text_of;

/// The interval log in the folder of a run. It is read when it is first asked for, and not again.
#[derive(Debug)]
pub struct IntervalLog {
    folder: PathBuf,
    text: OnceCell<String>,
}

impl IntervalLog {
    /// That of the run in `folder`, which may be named by its record, too.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        let beside = folder.parent().filter(|_| folder.is_file());
        Self { folder: beside.unwrap_or(folder).into(), text: OnceCell::new() }
    }

    /// True where there is one.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.folder.join(INTERVALS).is_file()
    }

    /// Its lines whose tag is `tag`; see [`hdr::log_tag`].
    ///
    /// # Errors
    /// [`FolderError::NoRun`] when there is none, [`FolderError::Read`] when it cannot be read,
    /// [`FolderError::Log`] when it is damaged.
    pub fn lines(&self, tag: &str) -> Result<Vec<hdr::LogLine>, FolderError> {
        let mut lines = Vec::new();
        self.visit(tag, |line| lines.push(line))?;
        Ok(lines)
    }

    /// As [`Self::lines`], and hands the lines to `visit` one after another, so that only one of them
    /// takes memory at a time.
    ///
    /// # Errors
    /// As [`Self::lines`].
    pub fn visit(&self, tag: &str, visit: impl FnMut(hdr::LogLine)) -> Result<(), FolderError> {
        let file = self.folder.join(INTERVALS);
        let text = match self.text.get() {
            Some(text) => text,
            None => {
                let missing = || FolderError::NoRun { path: self.folder.clone() };
                let text = text_of(&file, missing)?;
                self.text.get_or_init(|| text)
            }
        };
        hdr::visit_log(text, tag, visit).map_err(|cause| FolderError::Log { path: file, cause })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_once_and_only_when_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let log = IntervalLog::of(folder.path());
        assert!(matches!(log.lines("a"), Err(FolderError::NoRun { .. })));
        let mut histogram = plumb_measure::Histogram::new();
        histogram.record(7);
        let line = |tag: &str| hdr::log_line(tag, 0, 1_000_000_000, &histogram);
        std::fs::write(folder.path().join(INTERVALS), line("a") + &line("b")).unwrap();
        assert_eq!(log.lines("a").unwrap().len(), 1);
        std::fs::remove_file(folder.path().join(INTERVALS)).unwrap();
        assert_eq!(log.lines("b").unwrap().len(), 1);
    }
}
