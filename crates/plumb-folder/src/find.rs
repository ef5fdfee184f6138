//! Which runs and experiments are meant by the paths that were named.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use plumb_comparison::Comparison;

use crate::digest::verify_block;
use crate::error::FolderError;
use crate::names::{CHECK, COMPARISON, ORDER, RECORD};
use crate::read::{beside, is_experiment, is_run, no_run, read_blocks, read_comparison};
use crate::unread::Unread;

/// Levels of folders below one that was named.
const DEPTH_MAX: usize = 4;
/// Runs of one report.
const RUNS_MAX: usize = 10_000;
/// Folders that are looked into for them.
const FOLDERS_MAX: usize = 100_000;

/// What was found below the paths that were named.
#[derive(Debug, Default)]
pub struct Found {
    /// The runs, in the order in which they were found.
    pub runs: Vec<FoundRun>,
    /// The experiments.
    pub experiments: Vec<FoundExperiment>,
    /// What lies there and cannot be shown.
    pub unread: Vec<Unread>,
    seen: BTreeSet<PathBuf>,
    folders: usize,
}

/// A run that was found.
#[derive(Debug)]
pub struct FoundRun {
    /// Its folder, or its `run.json`.
    pub path: PathBuf,
    /// Its place in an experiment.
    pub block: Option<Block>,
    /// True when the user named this very run.
    pub named: bool,
}

/// The place of a run in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of the experiment among those found.
    pub experiment: usize,
    /// Number of the variant, from zero.
    pub variant: usize,
    /// The round, from one.
    pub round: u64,
}

/// An experiment that was found.
#[derive(Debug)]
pub struct FoundExperiment {
    /// Its folder.
    pub folder: PathBuf,
    /// What came of it; `None` when it was not evaluated, or cannot be read.
    pub comparison: Option<Comparison>,
    /// Names of the variants, the baseline first.
    pub variants: Vec<String>,
}

impl Found {
    /// Looks for runs and experiments at `paths`: folders of runs, files `run.json`, folders of
    /// experiments and of checks of a path, and folders that hold any of these.
    ///
    /// What a path names must be there and be readable as what it is; what lies in a folder beside
    /// runs and cannot be read is kept with its reason.
    ///
    /// # Errors
    /// [`FolderError`] when a path names nothing that can be shown, or too much.
    pub fn at(paths: &[PathBuf]) -> Result<Self, FolderError> {
        let mut found = Self::default();
        for path in paths {
            let (before, known) = (found.count(), found.knows(path));
            found.look(path, 0)?;
            if found.count() == before && !known {
                return Err(no_run(path.clone()));
            }
        }
        Ok(found)
    }

    /// True when there is one run and nothing else.
    #[must_use]
    pub fn only_run(&self) -> Option<&Path> {
        match (&self.runs[..], &self.experiments[..], &self.unread[..]) {
            ([only], [], []) => Some(&only.path),
            _ => None,
        }
    }

    /// The experiments, for whoever can evaluate those without a comparison.
    pub fn experiments_mut(&mut self) -> &mut [FoundExperiment] {
        &mut self.experiments
    }

    fn count(&self) -> usize {
        self.runs.len() + self.experiments.len() + self.unread.len()
    }

    /// True for a path that was looked at before, under whatever name.
    fn knows(&self, path: &Path) -> bool {
        let seen = |path: &Path| path.canonicalize().is_ok_and(|path| self.seen.contains(&path));
        seen(path) || seen(container(path)) || seen(&path.join(RECORD))
    }

    fn look(&mut self, path: &Path, depth: usize) -> Result<(), FolderError> {
        let path = container(path);
        let named = depth == 0;
        if is_experiment(path) {
            return self.experiment(path, named);
        }
        if is_run(path) {
            return self.run(path, None, named);
        }
        if !path.is_dir() {
            return Err(no_run(path.into()));
        }
        if !named && let error @ FolderError::NoRecord { .. } = no_run(path.into()) {
            if self.is_new(path) {
                self.unread.push(Unread::of(path, &error));
            }
            return Ok(());
        }
        if depth < DEPTH_MAX && self.is_new(path) {
            for inner in folders_in(path)? {
                self.folders += 1;
                if self.folders > FOLDERS_MAX {
                    return Err(FolderError::TooMany { path: path.into(), most: FOLDERS_MAX });
                }
                let looked = self.look(&inner, depth + 1);
                self.unless_too_many(&inner, looked)?;
            }
        }
        Ok(())
    }

    /// What came of looking into `path`, which lies in a folder and was not named itself: the others
    /// are shown although it cannot be read, and nobody misses what is gone by now.
    fn unless_too_many(
        &mut self,
        path: &Path,
        looked: Result<(), FolderError>,
    ) -> Result<(), FolderError> {
        match looked {
            Err(error @ FolderError::TooMany { .. }) => return Err(error),
            Err(error) if path.symlink_metadata().is_ok() => {
                self.unread.push(Unread::of(path, &error));
            }
            Ok(()) | Err(_) => {}
        }
        Ok(())
    }

    fn run(&mut self, path: &Path, block: Option<Block>, named: bool) -> Result<(), FolderError> {
        // the record names a run, whether its folder was given or the file
        let record = if path.is_dir() { path.join(RECORD) } else { path.into() };
        if self.is_new(&record) {
            if self.runs.len() == RUNS_MAX {
                return Err(FolderError::TooMany { path: path.into(), most: RUNS_MAX });
            }
            self.runs.push(FoundRun { path: path.into(), block, named });
        }
        Ok(())
    }

    /// Takes the comparison of an experiment and its blocks.
    fn experiment(&mut self, path: &Path, named: bool) -> Result<(), FolderError> {
        let order = match read_blocks(path) {
            Ok(order) => order,
            Err(error) if named => return Err(error),
            Err(error) => {
                self.unread.push(Unread::of(path, &error));
                return Ok(());
            }
        };
        if !self.is_new(path) {
            return Ok(());
        }
        let comparison = match read_comparison(path) {
            Ok(comparison) => Some(comparison),
            Err(FolderError::NoComparison { .. }) => None,
            Err(error) => {
                self.unread.push(Unread::of(&path.join(COMPARISON), &error));
                None
            }
        };
        let experiment = self.experiments.len();
        self.experiments.push(FoundExperiment {
            folder: path.into(),
            comparison,
            variants: order.variants.into_iter().map(|variant| variant.name).collect(),
        });
        for block in order.blocks {
            let place = Block { experiment, variant: block.variant, round: block.round };
            let inner = path.join(&block.folder);
            match block.failed {
                Some(reason) => self.unread.push(Unread::failed(&inner, block.round, &reason)),
                None if is_run(&inner) => match verify_block(&inner, block.record.as_deref()) {
                    Ok(()) => self.run(&inner, Some(place), false)?,
                    Err(error) => self.unread.push(Unread::of(&inner, &error)),
                },
                None => {
                    self.unread.push(Unread::of(&inner, &no_run(inner.clone())));
                }
            }
        }
        Ok(())
    }

    fn is_new(&mut self, path: &Path) -> bool {
        // what has no canonical name cannot be read either, and is told when that is tried
        path.canonicalize().map_or(true, |path| self.seen.insert(path))
    }
}

/// The folder that a file of an experiment or of a check stands for; any other path as it is.
fn container(path: &Path) -> &Path {
    let of_folder = [ORDER, COMPARISON, CHECK];
    let stands_for =
        path.file_name().is_some_and(|name| of_folder.iter().any(|file| name == *file));
    beside(path).filter(|_| stands_for).unwrap_or(path)
}

/// The folders in a folder, in the order of their names. Links are not followed: they may lead in
/// a circle.
fn folders_in(path: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let failed = |cause| FolderError::Read { path: path.into(), cause };
    let mut inner = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !hidden && entry.file_type().map_err(failed)?.is_dir() {
            inner.push(entry.path());
        }
    }
    inner.sort();
    Ok(inner)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn a_run_that_was_only_begun_says_so() {
        let at = tempfile::tempdir().unwrap();
        let killed = at.path().join("killed");
        fs::create_dir(&killed).unwrap();
        let refused = |path: &Path| Found::at(&[path.into()]).unwrap_err().to_string();
        assert!(refused(&killed).contains("no run at "), "{}", refused(&killed));
        fs::write(killed.join("intervals.hlog"), "").unwrap();
        for path in [killed.clone(), killed.join(RECORD)] {
            let words =
                "killed has no run.json: its run has not ended yet, or its process was killed";
            assert!(refused(&path).contains(words), "{}", refused(&path));
            let read = crate::read_record(&path).unwrap_err();
            assert!(matches!(read, FolderError::NoRecord { .. }), "{read}");
        }
    }

    #[test]
    fn a_run_without_a_record_beside_sound_ones_is_told_once() {
        let at = tempfile::tempdir().unwrap();
        let (sound, killed) = (at.path().join("sound"), at.path().join("killed"));
        for folder in [&sound, &killed] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("intervals.hlog"), "").unwrap();
        }
        fs::write(sound.join(RECORD), "{}").unwrap();
        let found = Found::at(&[at.path().into(), at.path().into()]).unwrap();
        assert_eq!(found.runs.len(), 1);
        let [unread] = &found.unread[..] else { panic!("{:?}", found.unread) };
        assert_eq!(unread.place, killed.display().to_string());
        assert!(unread.remedy.starts_with("wait for its end"), "it may be under way: {unread:?}");
    }

    #[test]
    fn a_run_that_was_only_begun_is_named_where_its_file_is_named_from_within() {
        for (path, folder) in [("run.json", "."), ("a/run.json", "a")] {
            assert_eq!(beside(Path::new(path)), Some(Path::new(folder)));
        }
    }

    #[test]
    fn a_folder_beside_runs_that_cannot_be_read_is_told_and_one_that_is_gone_is_not() {
        let at = tempfile::tempdir().unwrap();
        let (closed, gone) = (at.path().join("lost+found"), at.path().join("gone"));
        fs::create_dir(&closed).unwrap();
        let refused = |path: &Path| {
            Err(FolderError::Read { path: path.into(), cause: ErrorKind::PermissionDenied.into() })
        };
        let mut found = Found::default();
        found.unless_too_many(&closed, refused(&closed)).unwrap();
        let looked = found.look(&gone, 1);
        assert!(matches!(looked, Err(FolderError::NoRun { .. })), "{looked:?}");
        found.unless_too_many(&gone, looked).unwrap();
        let unread: Vec<_> = found.unread.iter().map(|it| it.place.as_str()).collect();
        assert_eq!(unread, [closed.to_str().unwrap()]);
        let many = FolderError::TooMany { path: closed.clone(), most: FOLDERS_MAX };
        assert!(found.unless_too_many(&closed, Err(many)).is_err());
    }
}
