//! The folder of one experiment: its plan, its order, a run folder for every block, its result.

use std::fs;
use std::path::{Path, PathBuf};

use plumb_measure::Comparison;

use super::error::FolderError;
use super::place::Place;
use super::{COMPARISON, EXPERIMENT, ORDER, REPORT};

const BLOCKS: &str = "blocks";
/// Characters of a variant's name that a folder keeps.
const NAME_MAX: usize = 40;

/// The folder of one experiment, made by this process or an earlier one.
#[derive(Debug)]
pub struct ExperimentFolder {
    place: Place,
}

impl ExperimentFolder {
    /// Makes the folder `path` and its parents. A folder that is there and empty is taken.
    ///
    /// # Errors
    /// [`FolderError::HoldsRun`], [`FolderError::HoldsExperiment`] or [`FolderError::NotEmpty`]
    /// when something is in it, [`FolderError::Create`] when it cannot be made.
    pub fn create_new(path: &Path) -> Result<Self, FolderError> {
        Place::create_new(path).map(|place| Self { place })
    }

    /// Makes `parent/stem`, or `parent/stem-2`, `parent/stem-3` and so on where that is taken.
    /// Two processes that ask at once get two folders.
    ///
    /// # Errors
    /// [`FolderError::NamesTaken`] after a thousand names, [`FolderError::Create`] when a folder
    /// cannot be made.
    pub fn create_in(parent: &Path, stem: &str) -> Result<Self, FolderError> {
        Place::create_in(parent, stem).map(|place| Self { place })
    }

    /// The folder `path` of an experiment that goes on.
    #[must_use]
    pub fn again(path: &Path) -> Self {
        Self { place: Place::of_another(path) }
    }

    /// Where the folder is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.place.path()
    }

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
        self.place.replace(ORDER, json).map(drop)
    }

    /// Writes `comparison.json`. A reader sees the record before or after, never a part of it.
    ///
    /// # Errors
    /// [`FolderError::Write`]; the record written before, if any, still stands.
    pub fn write_comparison(&self, comparison: &Comparison) -> Result<(), FolderError> {
        self.place.replace(COMPARISON, &comparison.to_json()).map(drop)
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
    /// a block or a comparison stays.
    pub fn discard(self) {
        // removes only an empty folder
        let _ = fs::remove_dir(self.path().join(BLOCKS));
        let kept = [BLOCKS, COMPARISON].iter().any(|name| self.path().join(name).exists());
        if !kept {
            self.place.discard(&[ORDER, EXPERIMENT]);
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
    fn a_name_keeps_what_suits_a_file_and_leads_nowhere_else() {
        assert_eq!(file_name("candidate 2"), "candidate-2");
        assert_eq!(file_name("smc_r.v1"), "smc_r.v1");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name(".."), "variant");
        assert_eq!(file_name(""), "variant");
        assert_eq!(file_name(&"x".repeat(300)).len(), NAME_MAX);
    }
}
