//! The folder of a recording, which is never one that holds something.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use plumb_engine::clock;

use crate::HostError;

/// Names that are tried before it is given up.
const NAMES_MAX: u32 = 1_000;

/// The folder of one recording.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    made: Vec<PathBuf>, // by us, not found empty: itself and its parents, each before its parent
}

impl Folder {
    /// Makes the folder `out`, or one below `plumb-runs` that is named after the time.
    pub(super) fn create(out: Option<&Path>, wall_ns: u64) -> Result<Self, HostError> {
        if let Some(path) = out {
            let made = make(path).map_err(HostError::write(path))?;
            let mut entries = fs::read_dir(path).map_err(HostError::write(path))?;
            return match entries.next() {
                None => Ok(Self { path: path.into(), made }),
                Some(_) => Err(HostError::NotEmpty(path.into())),
            };
        }
        let runs = Path::new("plumb-runs");
        let mut made = make(runs).map_err(HostError::write(runs))?;
        let stem = format!("{}-host-record", clock::utc(wall_ns).replace(':', ""));
        for number in 1..NAMES_MAX {
            let name = if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
            let path = runs.join(name);
            match fs::create_dir(&path) {
                Ok(()) => {
                    made.insert(0, path.clone());
                    return Ok(Self { path, made });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(HostError::write(&path)(error)),
            }
        }
        Err(HostError::NotEmpty(runs.join(stem)))
    }

    /// Takes back the folder and those above it, as far as they were made for this recording and
    /// nothing was put into them.
    pub(super) fn discard(self) {
        take_back(&self.made);
    }
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

fn take_back(folders: &[PathBuf]) {
    for folder in folders {
        let _ = fs::remove_dir(folder); // whoever has put something there keeps it
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_something_is_refused_and_stays() {
        let at = tempfile::tempdir().unwrap();
        let path = at.path().join("new");
        let folder = Folder::create(Some(&path), 0).unwrap();
        assert_eq!(folder.path, path);
        fs::write(path.join("x"), "").unwrap();
        assert!(matches!(Folder::create(Some(&path), 0), Err(HostError::NotEmpty(_))));
        folder.discard();
        assert!(path.join("x").exists());
    }

    #[test]
    fn what_was_made_is_taken_back_and_nothing_else() {
        let at = tempfile::tempdir().unwrap();
        Folder::create(Some(&at.path().join("a/b")), 0).unwrap().discard();
        assert!(!at.path().join("a").exists());
        fs::create_dir(at.path().join("mine")).unwrap();
        Folder::create(Some(&at.path().join("mine")), 0).unwrap().discard();
        assert!(at.path().join("mine").exists());
        fs::write(at.path().join("file"), "").unwrap();
        Folder::create(Some(&at.path().join("file/a")), 0).unwrap_err();
    }
}
