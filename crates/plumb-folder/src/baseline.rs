//! Baselines with names: which run of a folder others are compared with.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use plumb_measure::{read_versioned, written};
use serde::{Deserialize, Serialize};

use crate::digest::record_digest;
use crate::error::FolderError;
use crate::names::BASELINES;
use crate::place::Place;

/// Name and version of the form of `baselines.json`.
pub const BASELINES_SCHEMA: &str = "plumb.baselines/1";

/// The baselines of a folder of runs: its `baselines.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baselines {
    /// Always [`BASELINES_SCHEMA`].
    pub schema: String,
    /// In the order of their names.
    pub baselines: Vec<Baseline>,
}

/// A run with a name, with which others of its plan are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// What it is called.
    pub name: String,
    /// The folder of the run, relative to that of the runs where it lies in it.
    pub run: String,
    /// The SHA-256 digest of its record, hexadecimal.
    pub record: String,
    /// When it became the baseline, RFC 3339 in UTC.
    pub set: String,
    /// What it measures, in words, for example `net ping db1:3298`.
    pub plan: String,
    /// How much worse another run may be, as a share of this one from 0 to 1; absent where that was
    /// not said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tolerance: Option<f64>,
}

/// Letters of a baseline's name at most.
const NAME_MAX: usize = 80;

/// A name for a baseline: a word of its own wherever it is shown.
///
/// # Errors
/// What a name is, for one that is none.
pub fn baseline_name(word: &str) -> Result<String, String> {
    let sound = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    let length = word.chars().count();
    if (1..=NAME_MAX).contains(&length) && word.chars().all(sound) && !word.starts_with('-') {
        return Ok(word.into());
    }
    Err(format!("a name has 1 to {NAME_MAX} letters, digits and . _ - /"))
}

impl Baselines {
    /// Reads those of the folder `runs`; none where nothing was ever set.
    ///
    /// # Errors
    /// [`FolderError::Read`] when they cannot be read, [`FolderError::Record`] when the file is of
    /// another form.
    pub fn read(runs: &Path) -> Result<Self, FolderError> {
        let path = runs.join(BASELINES);
        match fs::read_to_string(&path) {
            Ok(text) => read_versioned(&text, BASELINES_SCHEMA)
                .map_err(|cause| FolderError::Record { path, cause }),
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                Ok(Self { schema: BASELINES_SCHEMA.into(), baselines: Vec::new() })
            }
            Err(cause) => Err(FolderError::Read { path, cause }),
        }
    }

    /// Reads those of the folder `runs`, has `alter` change them, and writes them. Nobody else alters
    /// them meanwhile, and a reader sees the file before or after.
    ///
    /// # Errors
    /// What `alter` says, [`FolderError::Write`], and what [`read`](Self::read) says; what was written
    /// before, if anything, still stands.
    pub fn alter<T, E: From<FolderError>>(
        runs: &Path,
        alter: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let _alone = alone(runs);
        let mut all = Self::read(runs)?;
        let altered = alter(&mut all)?;
        // under a name beside it, which is ours alone as well
        Place::of_another(runs).replace(BASELINES, &written(&all))?;
        Ok(altered)
    }

    /// The baseline called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Baseline> {
        self.baselines.iter().find(|it| it.name == name)
    }

    /// Takes `baseline` in, in place of one of the same name, which is returned.
    pub fn set(&mut self, baseline: Baseline) -> Option<Baseline> {
        let before = self.remove(&baseline.name);
        self.baselines.push(baseline);
        self.baselines.sort_by(|a, b| a.name.cmp(&b.name));
        before
    }

    /// Takes the baseline called `name` out.
    pub fn remove(&mut self, name: &str) -> Option<Baseline> {
        let at = self.baselines.iter().position(|it| it.name == name)?;
        Some(self.baselines.remove(at))
    }
}

/// Waits until nobody else alters the baselines of the folder `runs`: until what is returned is
/// dropped, nobody does. The folder itself is locked, so that nothing of it lies beside the runs.
fn alone(runs: &Path) -> Option<File> {
    // what cannot be opened has no baselines to alter, or says so when that is tried; a file system
    // without locks keeps nobody out
    let folder = File::open(runs).ok()?;
    folder.lock().ok().map(|()| folder)
}

impl Baseline {
    /// Where its run lies, seen from the folder `runs`.
    #[must_use]
    pub fn path(&self, runs: &Path) -> PathBuf {
        runs.join(&self.run)
    }

    /// Refuses a run that is no longer the one that was set.
    ///
    /// # Errors
    /// [`FolderError::NotTheBaseline`], and [`FolderError::Read`] when its record cannot be read.
    pub fn verify(&self, runs: &Path) -> Result<(), FolderError> {
        let path = self.path(runs);
        if record_digest(&path)? == self.record {
            return Ok(());
        }
        Err(FolderError::NotTheBaseline { path, name: self.name.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::RECORD;

    fn baseline(name: &str) -> Baseline {
        Baseline {
            name: name.into(),
            run: "a".into(),
            record: String::new(),
            set: "2026-11-21T08:30:48Z".into(),
            plan: "net ping db1".into(),
            tolerance: Some(0.05),
        }
    }

    #[test]
    fn a_name_is_a_word() {
        for good in ["main", "release/1.2", "net_ping-5"] {
            assert_eq!(baseline_name(good).as_deref(), Ok(good));
        }
        for bad in ["", "a b", "-x", "a\n", &"x".repeat(81)] {
            assert!(baseline_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_was_set_is_read_again_and_the_later_one_of_a_name_counts() {
        let at = tempfile::tempdir().unwrap();
        assert!(Baselines::read(at.path()).unwrap().baselines.is_empty());
        let mut all = Baselines::alter(at.path(), |all| {
            assert_eq!(all.set(baseline("main")), None);
            assert_eq!(all.set(baseline("a")), None);
            assert_eq!(
                all.set(Baseline { run: "b".into(), ..baseline("main") }),
                Some(baseline("main"))
            );
            Ok::<_, FolderError>(all.clone())
        })
        .unwrap();
        let again = Baselines::read(at.path()).unwrap();
        assert_eq!(again, all);
        assert_eq!(again.baselines[0].name, "a");
        assert_eq!(again.find("main").unwrap().path(at.path()), at.path().join("b"));
        assert_eq!(all.remove("none"), None);
        fs::write(at.path().join(BASELINES), "{\"schema\":\"plumb.baselines/2\"}").unwrap();
        assert!(Baselines::read(at.path()).unwrap_err().to_string().contains("plumb.baselines/2"));
    }

    #[test]
    fn baselines_that_are_set_at_once_are_all_there() {
        let at = tempfile::tempdir().unwrap();
        let both = std::sync::Barrier::new(4);
        std::thread::scope(|threads| {
            for thread in 0..4 {
                let (at, both) = (at.path(), &both);
                threads.spawn(move || {
                    both.wait();
                    for number in 0..25 {
                        let new = baseline(&format!("{thread}-{number}"));
                        let set = |all: &mut Baselines| Ok::<_, FolderError>(all.set(new));
                        assert_eq!(Baselines::alter(at, set).unwrap(), None);
                    }
                });
            }
        });
        assert_eq!(Baselines::read(at.path()).unwrap().baselines.len(), 100);
    }

    #[test]
    fn what_is_refused_alters_nothing_and_a_folder_that_is_not_there_has_none() {
        let at = tempfile::tempdir().unwrap();
        let refused = |runs: &Path| {
            Baselines::alter(runs, |all| {
                all.set(baseline("main"));
                Err::<(), _>(FolderError::NoRun { path: "a".into() })
            })
        };
        for runs in [at.path(), &at.path().join("none")] {
            assert!(matches!(refused(runs), Err(FolderError::NoRun { .. })));
        }
        assert!(Baselines::read(at.path()).unwrap().baselines.is_empty());
        assert!(!at.path().join("none").exists());
    }

    #[test]
    fn another_record_in_its_place_is_refused() {
        let at = tempfile::tempdir().unwrap();
        fs::create_dir(at.path().join("a")).unwrap();
        fs::write(at.path().join("a").join(RECORD), "one").unwrap();
        let record = record_digest(&at.path().join("a")).unwrap();
        let baseline = Baseline { record, ..baseline("main") };
        baseline.verify(at.path()).unwrap();
        fs::write(at.path().join("a").join(RECORD), "two").unwrap();
        let refused = baseline.verify(at.path()).unwrap_err().to_string();
        assert!(refused.contains("`main`"), "{refused}");
    }
}
