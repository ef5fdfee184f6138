//! A folder made by this process: taken once, written whole, given back when nothing came of it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::FolderError;
use crate::held::Held;
use crate::names::{COMPARISON, EXPERIMENT, IN_USE, NUMBERED_MAX, ORDER, RECORD};

/// The folder of one run, one experiment or one recording. No other process takes it, and nothing
/// that was there before is touched.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    made: Vec<PathBuf>, // by us, not found empty: itself and its parents, each before its parent
}

impl Place {
    /// Makes the folder `path` and its parents. A folder that is there and empty is taken, and one in
    /// which a process was killed before it had written anything.
    ///
    /// # Errors
    /// [`FolderError`] when it cannot be made, holds something, or another process works in it.
    pub fn create_new(path: &Path) -> Result<Self, FolderError> {
        let create = |cause| FolderError::Create { path: path.into(), cause };
        let made = make(path).map_err(create)?;
        let mut names = fs::read_dir(path).map_err(create)?;
        match (names.next(), names.next()) {
            (None, _) => {}
            // taken and given back, it is left without that file
            (Some(Ok(name)), None) if name.file_name() == IN_USE => drop(Held::take(path)?),
            _ => return Err(taken(path)),
        }
        Ok(Self { path: path.into(), made })
    }

    /// Makes `parent/stem`, or `parent/stem-2`, `parent/stem-3` and so on where that is taken.
    /// Two processes that ask at once get two folders.
    ///
    /// # Errors
    /// [`FolderError`] when it cannot be made, or too many are there.
    pub fn create_in(parent: &Path, stem: &str) -> Result<Self, FolderError> {
        let mut made =
            make(parent).map_err(|cause| FolderError::Create { path: parent.into(), cause })?;
        for name in names(stem) {
            let path = parent.join(name);
            match fs::create_dir(&path) {
                Ok(()) => {
                    made.insert(0, path.clone());
                    return Ok(Self { path, made });
                }
                Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(FolderError::Create { path, cause }),
            }
        }
        Err(FolderError::NamesTaken { parent: parent.into(), stem: stem.into() })
    }

    /// The folder `path`, which another process made.
    pub(crate) fn of_another(path: &Path) -> Self {
        Self { path: path.into(), made: Vec::new() }
    }

    /// Where the folder is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A name below `folder` of this one where nothing is yet, and its path: `stem`, or `stem-2` and
    /// so on.
    pub(crate) fn free_below(
        &self,
        folder: &str,
        stem: &str,
    ) -> Result<(String, PathBuf), FolderError> {
        let parent = self.path.join(folder);
        fs::create_dir_all(&parent)
            .map_err(|cause| FolderError::Create { path: parent.clone(), cause })?;
        let free = names(stem).find_map(|name| {
            let path = parent.join(&name);
            path.symlink_metadata().is_err().then_some((name, path))
        });
        free.ok_or_else(|| FolderError::NamesTaken { parent, stem: stem.into() })
    }

    /// Writes a file beside its place and renames it there: a reader sees the file before or
    /// after, never a part of it.
    pub(crate) fn replace(&self, name: &str, text: &str) -> Result<PathBuf, FolderError> {
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

    /// Removes the named files, and the folder itself with those above it, as far as they were made
    /// for this and nothing else is in them. What cannot be removed stays for whoever looks.
    pub fn discard(self, files: &[&str]) {
        for file in files {
            let _ = fs::remove_file(self.path.join(file));
        }
        take_back(&self.made);
    }
}

/// `stem`, `stem-2`, `stem-3` and so on.
fn names(stem: &str) -> impl Iterator<Item = String> {
    (1..=NUMBERED_MAX).map(move |number| match number {
        1 => stem.to_owned(),
        _ => format!("{stem}-{number}"),
    })
}

/// Makes a folder and those above it that are lacking; the folders that it made, each before the
/// one above it. When one cannot be made none is left.
fn make(path: &Path) -> io::Result<Vec<PathBuf>> {
    let is_lacking = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let lacking: Vec<PathBuf> =
        path.ancestors().take_while(is_lacking).map(Path::to_path_buf).collect();
    match fs::create_dir_all(path) {
        Ok(()) => Ok(lacking),
        Err(error) => {
            take_back(&lacking);
            Err(error)
        }
    }
}

/// Removes folders that are empty.
fn take_back(folders: &[PathBuf]) {
    for folder in folders {
        let _ = fs::remove_dir(folder); // whoever has put something there keeps it
    }
}

/// What stands in the way at `path`.
fn taken(path: &Path) -> FolderError {
    let holds = |name: &&str| path.join(name).exists();
    if holds(&RECORD) {
        FolderError::HoldsRun { path: path.into() }
    } else if [COMPARISON, EXPERIMENT, ORDER].iter().any(holds) {
        FolderError::HoldsExperiment { path: path.into() }
    } else {
        FolderError::NotEmpty { path: path.into() }
    }
}
