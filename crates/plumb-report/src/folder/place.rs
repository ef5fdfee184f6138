//! A folder made by this process: taken once, written whole, given back when nothing came of it.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::error::FolderError;
use super::{COMPARISON, EXPERIMENT, ORDER, RECORD};

/// Names that [`Place::create_in`] tries before it gives up.
pub(super) const NAMES_MAX: u32 = 1_000;

/// The folder of one run or one experiment.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    made: bool,                   // by us, not found empty
    parent_made: Option<PathBuf>, // likewise
}

impl Place {
    /// Makes the folder `path` and its parents. A folder that is there and empty is taken.
    pub(super) fn create_new(path: &Path) -> Result<Self, FolderError> {
        let create = |cause| FolderError::Create { path: path.into(), cause };
        let made = !path.exists();
        fs::create_dir_all(path).map_err(create)?;
        if fs::read_dir(path).map_err(create)?.next().is_none() {
            return Ok(Self { path: path.into(), made, parent_made: None });
        }
        Err(taken(path))
    }

    /// Makes `parent/stem`, or `parent/stem-2`, `parent/stem-3` and so on where that is taken.
    /// Two processes that ask at once get two folders.
    pub(super) fn create_in(parent: &Path, stem: &str) -> Result<Self, FolderError> {
        let parent_made = (!parent.exists()).then(|| parent.to_path_buf());
        fs::create_dir_all(parent)
            .map_err(|cause| FolderError::Create { path: parent.into(), cause })?;
        for number in 1..=NAMES_MAX {
            let path = match number {
                1 => parent.join(stem),
                _ => parent.join(format!("{stem}-{number}")),
            };
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, made: true, parent_made }),
                Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(FolderError::Create { path, cause }),
            }
        }
        Err(FolderError::NamesTaken { parent: parent.into(), stem: stem.into() })
    }

    /// The folder `path`, which another process made.
    pub(super) fn of_another(path: &Path) -> Self {
        Self { path: path.into(), made: false, parent_made: None }
    }

    /// Where the folder is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file beside its place and renames it there: a reader sees the file before or
    /// after, never a part of it.
    pub(super) fn replace(&self, name: &str, text: &str) -> Result<PathBuf, FolderError> {
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

    /// Removes the named files, and the folder itself if it was made for this and nothing else is
    /// in it. What cannot be removed stays for whoever looks.
    pub(super) fn discard(self, files: &[&str]) {
        for file in files {
            let _ = fs::remove_file(self.path.join(file));
        }
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
        if let Some(parent) = &self.parent_made {
            let _ = fs::remove_dir(parent);
        }
    }
}

/// What stands in the way at `path`.
pub(super) fn taken(path: &Path) -> FolderError {
    let holds = |name: &&str| path.join(name).exists();
    if holds(&RECORD) {
        FolderError::HoldsRun { path: path.into() }
    } else if [COMPARISON, EXPERIMENT, ORDER].iter().any(holds) {
        FolderError::HoldsExperiment { path: path.into() }
    } else {
        FolderError::NotEmpty { path: path.into() }
    }
}
