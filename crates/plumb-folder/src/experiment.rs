//! The folder of one experiment: its plan, its order, a run folder for every block, its result.

use std::fs;
use std::path::{Path, PathBuf};

use plumb_comparison::Comparison;

use crate::digest;
use crate::error::FolderError;
use crate::folder_of::FolderOf;
use crate::names::{COMPARISON, EXPERIMENT, LADDER, ORDER, REPORT};

const BLOCKS: &str = "blocks";
/// What the commands of an experiment leave beside its runs.
const FILES: &str = "files";
/// Characters of a variant's name that a folder keeps.
const NAME_MAX: usize = 40;

/// The folder of one experiment, made by this process or an earlier one.
pub type ExperimentFolder = FolderOf<Experiment>;

/// What stands in a [`ExperimentFolder`].
#[derive(Debug)]
pub struct Experiment;

impl FolderOf<Experiment> {
    /// Where the run folder of a block belongs: `blocks/NNN-<variant>`, or `blocks/NNN-<variant>-2`
    /// and so on behind attempts that came to no end; it is not there yet.
    /// Hand it to [`RunFolder::create_new`](crate::RunFolder::create_new), or to a program as its
    /// `--out`. `number` is the block's own, from one; of the variant's name only what suits a
    /// file name is kept, so that no name leads out of the folder.
    ///
    /// # Errors
    /// [`FolderError::Create`] when `blocks` cannot be made, [`FolderError::NamesTaken`] after a
    /// thousand attempts.
    pub fn block(&self, number: u64, variant: &str) -> Result<PathBuf, FolderError> {
        let stem = format!("{number:03}-{}", file_name(variant));
        self.place.free_below(BLOCKS, &stem).map(|(_, path)| path)
    }

    /// Makes the folder for the files that commands leave beside the run in `block`: `files/` and
    /// the name of the run's own folder.
    ///
    /// # Errors
    /// [`FolderError::Create`] when it cannot be made.
    pub fn files_of(&self, block: &Path) -> Result<PathBuf, FolderError> {
        let path = self.path().join(FILES).join(block.file_name().unwrap_or_default());
        match fs::create_dir_all(&path) {
            Ok(()) => Ok(path),
            Err(cause) => Err(FolderError::Create { path, cause }),
        }
    }

    /// Removes the folder `files`, which [`files_of`](Self::files_of) made, unless something was
    /// left in it.
    pub fn discard_empty(files: &Path) {
        // removes only what is empty
        if fs::remove_dir(files).is_ok()
            && let Some(all) = files.parent()
        {
            let _ = fs::remove_dir(all);
        }
    }

    /// Writes `experiment.toml`: what was asked for.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn write_experiment(&self, toml: &str) -> Result<(), FolderError> {
        self.place.replace(EXPERIMENT, toml).map(drop)
    }

    /// Writes `order.json`: in which order the blocks are taken.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn write_order(&self, json: &str) -> Result<(), FolderError> {
        digest::unseal(&self.place);
        self.place.replace(ORDER, json).map(drop)
    }

    /// Writes `ladder.json`: the steps of a load ladder so far.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn write_ladder(&self, json: &str) -> Result<(), FolderError> {
        self.place.replace(LADDER, json).map(drop)
    }

    /// Writes `comparison.json`, and the digests of it and of the order. A reader sees the record
    /// before or after, never a part of it.
    ///
    /// # Errors
    /// [`FolderError::Write`]; the record written before, if any, still stands.
    pub fn write_comparison(&self, comparison: &Comparison) -> Result<(), FolderError> {
        digest::unseal(&self.place);
        self.place.replace(COMPARISON, &comparison.to_json())?;
        digest::seal_experiment(&self.place)
    }

    /// Writes `report.html` and says where it is.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn write_report(&self, html: &str) -> Result<PathBuf, FolderError> {
        self.place.replace(REPORT, html)
    }

    /// Removes the folder of an experiment that came to nothing: its plan, its order, and the
    /// folder itself if it was made for this experiment and nothing else is in it. One that holds
    /// a block, a comparison or files of commands stays.
    pub fn discard(self) {
        // removes only an empty folder
        let _ = fs::remove_dir(self.path().join(BLOCKS));
        let kept = [BLOCKS, FILES, COMPARISON].iter().any(|name| self.path().join(name).exists());
        if !kept {
            self.give_back(&[ORDER, LADDER, EXPERIMENT]);
        }
    }
}

/// What of a name suits a file on any system.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    let kept: String = name.chars().map(safe).take(NAME_MAX).collect();
    let kept = kept.trim_matches(|c| c == '-' || c == '.');
    if kept.is_empty() { "variant".into() } else { kept.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_block_stay_where_there_are_any() {
        let at = tempfile::tempdir().unwrap();
        let folder = ExperimentFolder::create_new(&at.path().join("x")).unwrap();
        let of = |name: &str| folder.files_of(&Path::new("x/blocks").join(name)).unwrap();
        let (one, two) = (of("001-a"), of("002-b"));
        assert!(one.ends_with("x/files/001-a") && one.is_dir());
        fs::write(one.join("note"), "").unwrap();
        ExperimentFolder::discard_empty(&one);
        ExperimentFolder::discard_empty(&two);
        assert!(one.is_dir() && !two.exists());
        fs::remove_file(one.join("note")).unwrap();
        ExperimentFolder::discard_empty(&one);
        assert!(!at.path().join("x/files").exists());
    }

    #[test]
    fn a_name_keeps_what_suits_a_file_and_leads_nowhere_else() {
        assert_eq!(file_name("candidate 2"), "candidate-2");
        assert_eq!(file_name("smc_r.v1"), "smc_r.v1");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name(".."), "variant");
        assert_eq!(file_name(""), "variant");
        assert_eq!(file_name(&"x".repeat(300)).len(), NAME_MAX);
    }
}
