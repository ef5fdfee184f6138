//! The folder of a check, of a network path or of a landscape: its state, and a run folder for every
//! part.

use std::fs;
use std::path::PathBuf;

use plumb_checkup::{Checkup, PathCheck};
use plumb_measure::Status;

use crate::digest::{self, SUMS};
use crate::error::FolderError;
use crate::folder_of::FolderOf;
use crate::names::{CHECK, CHECKUP, REPORT};

const PARTS: &str = "parts";

/// The folder of one check, made by this process or an earlier one.
pub type CheckFolder = FolderOf<Check>;

/// What stands in a [`CheckFolder`].
#[derive(Debug)]
pub struct Check;

impl FolderOf<Check> {
    /// A path for the run of a part, which is not there yet: `parts/<name>`, or
    /// `parts/<name>-2` and so on behind attempts that came to no end. Relative to the folder of
    /// the check, and whole.
    ///
    /// # Errors
    /// [`FolderError::Create`] when `parts` cannot be made, [`FolderError::NamesTaken`] after a
    /// thousand attempts.
    pub fn part(&self, name: &str) -> Result<(String, PathBuf), FolderError> {
        let (name, path) = self.place.free_below(PARTS, name)?;
        Ok((format!("{PARTS}/{name}"), path))
    }

    /// Writes `check.json`, and once all parts are measured its digest. A reader sees the state before
    /// or after, never a part of it.
    ///
    /// # Errors
    /// [`FolderError::Write`]; the state written before, if any, still stands, unless only the digest of
    /// this one could not be written.
    pub fn write_check(&self, check: &PathCheck) -> Result<(), FolderError> {
        let has_ended = check.parts.iter().all(|part| part.outcome.is_some());
        self.write_state(CHECK, &check.to_json(), has_ended)
    }

    /// Writes `checkup.json`, as [`write_check`](Self::write_check) does; it has ended where its
    /// status says so.
    ///
    /// # Errors
    /// [`FolderError::Write`]; the state written before, if any, still stands, unless only the digest of
    /// this one could not be written.
    pub fn write_checkup(&self, checkup: &Checkup) -> Result<(), FolderError> {
        let has_ended = checkup.status != Status::Running;
        self.write_state(CHECKUP, &checkup.to_json(), has_ended)
    }

    fn write_state(&self, name: &str, text: &str, has_ended: bool) -> Result<(), FolderError> {
        digest::unseal(&self.place);
        self.place.replace(name, text)?;
        if has_ended { digest::seal_check(&self.place, name) } else { Ok(()) }
    }

    /// Writes `report.html` and says where it is.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn write_report(&self, html: &str) -> Result<PathBuf, FolderError> {
        self.place.replace(REPORT, html)
    }

    /// Removes the folder of a check that came to nothing, if it was made for it and holds no part.
    pub fn discard(self) {
        // removes only an empty folder
        let _ = fs::remove_dir(self.path().join(PARTS));
        if !self.path().join(PARTS).exists() {
            self.give_back(&[CHECK, CHECKUP, REPORT, SUMS]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_checkup::PATH_CHECK_SCHEMA;
    use plumb_measure::Program;

    fn check() -> PathCheck {
        PathCheck {
            schema: PATH_CHECK_SCHEMA.into(),
            plumb: Program { version: "0.0.0".into() },
            started: "2026-11-21T08:30:48Z".into(),
            target: "db1".into(),
            parts: Vec::new(),
        }
    }

    #[test]
    fn an_attempt_that_came_to_no_end_stays_beside_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let folder = CheckFolder::create_in(parent.path(), "check").unwrap();
        folder.write_check(&check()).unwrap();
        let (name, path) = folder.part("01-throughput").unwrap();
        assert_eq!(name, "parts/01-throughput");
        fs::create_dir(path).unwrap();
        let refused = CheckFolder::again(folder.path());
        assert!(matches!(refused, Err(FolderError::InUse { .. })), "{refused:?}");
        drop(folder);
        let path = parent.path().join("check");
        let again = CheckFolder::again(&path).unwrap();
        assert_eq!(again.part("01-throughput").unwrap().0, "parts/01-throughput-2");
        assert_eq!(crate::read_check(&path).unwrap(), check());
        again.discard();
        assert!(path.exists(), "it holds a part");
    }

    #[test]
    fn a_check_that_has_ended_is_refused_when_it_was_altered() {
        let parent = tempfile::tempdir().unwrap();
        let plumb = || Program { version: "0.0.0".into() };
        let folder = CheckFolder::create_in(parent.path(), "checkup").unwrap();
        let mut checkup = Checkup::begun(plumb(), "2026-11-21T08:30:48Z".into(), Vec::new());
        folder.write_checkup(&checkup).unwrap();
        let file = folder.path().join(CHECKUP);
        let alter = || fs::write(&file, fs::read_to_string(&file).unwrap() + " ").unwrap();
        alter();
        crate::read_checkup(folder.path()).unwrap();
        checkup.status = Status::Complete;
        folder.write_checkup(&checkup).unwrap();
        assert_eq!(crate::read_checkup(folder.path()).unwrap(), checkup);
        alter();
        for path in [folder.path(), &file] {
            let refused = crate::read_checkup(path).unwrap_err();
            assert!(matches!(refused, FolderError::Altered { .. }), "{refused}");
        }
        let folder = CheckFolder::create_in(parent.path(), "check").unwrap();
        folder.write_check(&check()).unwrap();
        fs::write(folder.path().join(CHECK), check().to_json() + " ").unwrap();
        let refused = crate::read_check(folder.path()).unwrap_err();
        assert!(matches!(refused, FolderError::Altered { .. }), "{refused}");
    }

    #[test]
    fn a_check_that_came_to_nothing_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let folder = CheckFolder::create_in(&parent.path().join("runs"), "check").unwrap();
        folder.write_check(&check()).unwrap();
        folder.part("01-throughput").unwrap();
        folder.discard();
        assert!(!parent.path().join("runs").exists());
    }
}
