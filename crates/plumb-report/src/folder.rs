//! A run is a folder, and every file in it is a format that other tools already read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use plumb_measure::{RecordError, RunRecord};

const RECORD: &str = "run.json";
const INTERVALS: &str = "intervals.hlog";
const REPORT: &str = "report.html";
/// Names that [`RunFolder::create_in`] tries before it gives up.
const NAMES_MAX: u32 = 1_000;

/// Why a run folder could not be made, written or read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder holds a run already, and a run is never overwritten.
    #[error("{path} already holds a run, which is never overwritten: name another folder")]
    HoldsRun {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds files that are no run.
    #[error("{path} is not empty: name a folder that does not exist yet, or an empty one")]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// Every name from the stem to the stem with the highest number is taken.
    #[error(
        "{parent} holds {NAMES_MAX} folders named after {stem}: move some away, or name a folder"
    )]
    NamesTaken {
        /// Where the folder was to be made.
        parent: PathBuf,
        /// The name without its number.
        stem: String,
    },
    /// The folder cannot be made.
    #[error("cannot make the folder {path}: {cause}; {}", remedy(.cause))]
    Create {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A file of the folder cannot be written. What was written before stands.
    #[error("cannot write {path}: {cause}; {}", remedy(.cause))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// There is no run there.
    #[error("no run at {path}: name a run folder (one with a {RECORD} in it) or its {RECORD}")]
    NoRun {
        /// The path as given.
        path: PathBuf,
    },
    /// The record is there and cannot be read.
    #[error("cannot read {path}: {cause}; {}", remedy(.cause))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The file is no run record, or one of another version.
    #[error("{path}: {cause}")]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        cause: RecordError,
    },
}

/// What to try after an error of the file system.
fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        ErrorKind::PermissionDenied => "ask for the right to it, or name another folder",
        ErrorKind::ReadOnlyFilesystem => "name a folder on a file system that can be written",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room, or name a folder on another file system"
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file stands where a folder is needed: name another folder"
        }
        ErrorKind::InvalidData => "it is not UTF-8 text: it was cut or altered",
        _ => "check the path and its file system",
    }
}

/// The folder of one run, made by this process.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    made: bool,                   // by us, not found empty
    parent_made: Option<PathBuf>, // likewise
    intervals: Option<File>,      // open from the first line on
}

impl RunFolder {
    /// Makes the folder `path` and its parents. A folder that is there and empty is taken.
    ///
    /// # Errors
    /// [`FolderError::HoldsRun`] or [`FolderError::NotEmpty`] when something is in it,
    /// [`FolderError::Create`] when it cannot be made.
    pub fn create_new(path: &Path) -> Result<Self, FolderError> {
        let create = |cause| FolderError::Create { path: path.into(), cause };
        let made = !path.exists();
        fs::create_dir_all(path).map_err(create)?;
        if fs::read_dir(path).map_err(create)?.next().is_none() {
            return Ok(Self { path: path.into(), made, parent_made: None, intervals: None });
        }
        Err(if path.join(RECORD).exists() {
            FolderError::HoldsRun { path: path.into() }
        } else {
            FolderError::NotEmpty { path: path.into() }
        })
    }

    /// Makes `parent/stem`, or `parent/stem-2`, `parent/stem-3` and so on where that is taken.
    /// Two processes that ask at once get two folders.
    ///
    /// # Errors
    /// [`FolderError::NamesTaken`] after a thousand names, [`FolderError::Create`] when a folder
    /// cannot be made.
    pub fn create_in(parent: &Path, stem: &str) -> Result<Self, FolderError> {
        let parent_made = (!parent.exists()).then(|| parent.to_path_buf());
        fs::create_dir_all(parent)
            .map_err(|cause| FolderError::Create { path: parent.into(), cause })?;
        for number in 1..=NAMES_MAX {
            let path = match number {
                1 => parent.join(stem),
                _ => parent.join(format!("{stem}-{number}")),
            };
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, made: true, parent_made, intervals: None }),
                Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(FolderError::Create { path, cause }),
            }
        }
        Err(FolderError::NamesTaken { parent: parent.into(), stem: stem.into() })
    }

    /// Where the folder is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `run.json`. A reader sees the record before or after, never a part of it.
    ///
    /// # Errors
    /// [`FolderError::Write`]; the record written before, if any, still stands.
    pub fn write_record(&self, record: &RunRecord) -> Result<(), FolderError> {
        self.replace(RECORD, &record.to_json()).map(drop)
    }

    /// Adds lines to `intervals.hlog` and hands them to the system, so that an interruption leaves
    /// every line that was added.
    ///
    /// # Errors
    /// [`FolderError::Write`] when the file cannot be made or written, or is already there.
    pub fn append_intervals(&mut self, lines: &str) -> Result<(), FolderError> {
        let path = self.path.join(INTERVALS);
        let write = |cause| FolderError::Write { path: path.clone(), cause };
        let file = match &mut self.intervals {
            Some(file) => file,
            none => {
                let made = OpenOptions::new().append(true).create_new(true).open(&path);
                none.insert(made.map_err(write)?)
            }
        };
        file.write_all(lines.as_bytes()).and_then(|()| file.flush()).map_err(write)
    }

    /// Writes `report.html` and says where it is.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn write_report(&self, html: &str) -> Result<PathBuf, FolderError> {
        self.replace(REPORT, html)
    }

    /// Removes the folder of a run that came to nothing: its interval log, and the folder itself
    /// if it was made for this run and nothing else is in it. One that holds a record stays.
    pub fn discard(self) {
        if self.path.join(RECORD).exists() {
            return;
        }
        // what cannot be removed stays for whoever looks
        let _ = fs::remove_file(self.path.join(INTERVALS));
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
        if let Some(parent) = &self.parent_made {
            let _ = fs::remove_dir(parent);
        }
    }

    /// Writes a file beside its place and renames it there.
    fn replace(&self, name: &str, text: &str) -> Result<PathBuf, FolderError> {
        let path = self.path.join(name);
        let beside = self.path.join(format!(".{name}.part"));
        let written = File::create(&beside)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&beside, &path));
        if let Err(cause) = written {
            // the first error is the one to tell; what is left beside is no run
            let _ = fs::remove_file(&beside);
            return Err(FolderError::Write { path, cause });
        }
        Ok(path)
    }
}

/// Reads the record of a run: `path` is the folder or its `run.json`.
///
/// # Errors
/// [`FolderError::NoRun`] when nothing is there, [`FolderError::Read`] when it cannot be read,
/// [`FolderError::Record`] when it is no record of this version.
pub fn read_record(path: &Path) -> Result<RunRecord, FolderError> {
    let file = if path.is_dir() { path.join(RECORD) } else { path.into() };
    let text = fs::read_to_string(&file).map_err(|cause| match cause.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => FolderError::NoRun { path: path.into() },
        _ => FolderError::Read { path: file.clone(), cause },
    })?;
    RunRecord::from_json(&text).map_err(|cause| FolderError::Record { path: file, cause })
}
