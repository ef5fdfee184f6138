//! The folder of one run.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use plumb_measure::{RunRecord, Status};

use crate::digest;
use crate::error::FolderError;
use crate::names::{INTERVALS, RECORD, REPORT};
use crate::place::Place;

/// The folder of one run, made by this process.
#[derive(Debug)]
pub struct RunFolder {
    place: Place,
    intervals: Option<File>, // open from the first line on
    /// Bytes of the interval log that were added whole.
    logged_bytes: u64,
}

impl RunFolder {
    /// Makes the folder `path` and its parents. A folder that is there and empty is taken.
    ///
    /// # Errors
    /// [`FolderError::HoldsRun`], [`FolderError::HoldsExperiment`] or [`FolderError::NotEmpty`]
    /// when something is in it, [`FolderError::Create`] when it cannot be made.
    pub fn create_new(path: &Path) -> Result<Self, FolderError> {
        Place::create_new(path).map(Self::at)
    }

    /// Makes `parent/stem`, or `parent/stem-2`, `parent/stem-3` and so on where that is taken.
    /// Two processes that ask at once get two folders.
    ///
    /// # Errors
    /// [`FolderError::NamesTaken`] after a thousand names, [`FolderError::Create`] when a folder
    /// cannot be made.
    pub fn create_in(parent: &Path, stem: &str) -> Result<Self, FolderError> {
        Place::create_in(parent, stem).map(Self::at)
    }

    fn at(place: Place) -> Self {
        Self { place, intervals: None, logged_bytes: 0 }
    }

    /// Where the folder is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Writes `run.json`, and when the run has ended the digests of all that figures come from. A
    /// reader sees the record before or after, never a part of it.
    ///
    /// # Errors
    /// [`FolderError::Write`]; the record written before, if any, still stands.
    /// [`FolderError::Read`] when a file beside it cannot be read again.
    pub fn write_record(&self, record: &RunRecord) -> Result<(), FolderError> {
        digest::unseal(&self.place);
        self.place.replace(RECORD, &record.to_json())?;
        if record.status == Status::Running { Ok(()) } else { digest::seal_run(&self.place) }
    }

    /// Adds lines to `intervals.hlog` and hands them to the system, so that an interruption leaves
    /// every line that was added. Of lines that cannot be written none is left.
    ///
    /// # Errors
    /// [`FolderError::Write`] when the file cannot be made or written, or is already there.
    pub fn append_intervals(&mut self, lines: &str) -> Result<(), FolderError> {
        let path = self.path().join(INTERVALS);
        let write = |cause| FolderError::Write { path: path.clone(), cause };
        let file = match &mut self.intervals {
            Some(file) => file,
            none => {
                let made = OpenOptions::new().append(true).create_new(true).open(&path);
                none.insert(made.map_err(write)?)
            }
        };
        if let Err(cause) = file.write_all(lines.as_bytes()).and_then(|()| file.flush()) {
            let _ = file.set_len(self.logged_bytes); // a line that stays is cut, and no reader takes it
            return Err(write(cause));
        }
        self.logged_bytes += lines.len() as u64;
        Ok(())
    }

    /// Removes an interval log that lacks lines, so that its room is there for the record.
    pub fn give_up_intervals(&mut self) {
        self.intervals = None;
        let _ = fs::remove_file(self.path().join(INTERVALS)); // then it stays as it is
    }

    /// Writes `report.html` and says where it is.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn write_report(&self, html: &str) -> Result<PathBuf, FolderError> {
        self.place.replace(REPORT, html)
    }

    /// Removes the folder of a run that came to nothing: its interval log, and the folder itself
    /// with those above it, as far as they were made for this run and nothing else is in them. One
    /// that holds a record stays.
    pub fn discard(self) {
        if !self.path().join(RECORD).exists() {
            self.place.discard(&[INTERVALS]);
        }
    }
}
