//! The folder of the paths between machines: what they came to, and a run folder for each.

use std::path::PathBuf;

use crate::error::FolderError;
use crate::folder_of::FolderOf;
use crate::names::PATHS;

/// The folder of the paths between machines, made by this process.
pub type PathsFolder = FolderOf<NetPaths>;

/// What stands in a [`PathsFolder`].
#[derive(Debug)]
pub struct NetPaths;

impl FolderOf<NetPaths> {
    /// Writes `paths.json`, and says where it is.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn write_paths(&self, json: &str) -> Result<PathBuf, FolderError> {
        self.place.replace(PATHS, json)
    }

    /// Removes the folder of paths of which none was measured, if it was made for them.
    pub fn discard(self) {
        self.give_back(&[]);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::names::IN_USE;
    use crate::place::Place;

    #[test]
    fn paths_that_were_measured_are_never_written_over() {
        let at = tempfile::tempdir().unwrap();
        let folder = PathsFolder::create_new(&at.path().join("x/paths")).unwrap();
        folder.write_paths("{}").unwrap();
        let again = PathsFolder::create_new(folder.path());
        assert!(matches!(again, Err(FolderError::NotEmpty { .. })), "{again:?}");
        folder.discard();
        assert!(at.path().join("x/paths/paths.json").is_file());
        PathsFolder::create_new(&at.path().join("y/none")).unwrap().discard();
        assert!(!at.path().join("y").exists());
    }

    #[test]
    fn a_folder_in_which_a_killed_process_wrote_nothing_is_taken() {
        let at = tempfile::tempdir().unwrap();
        fs::write(at.path().join(IN_USE), "process 1 on a machine\n").unwrap();
        let folder = PathsFolder::create_new(at.path()).unwrap();
        let at_once = PathsFolder::create_new(at.path());
        assert!(matches!(at_once, Err(FolderError::InUse { .. })), "{at_once:?}");
        let of_run = Place::create_new(at.path());
        assert!(matches!(of_run, Err(FolderError::InUse { .. })), "{of_run:?}");
        folder.discard();
        assert!(fs::read_dir(at.path()).unwrap().next().is_none());
    }
}
