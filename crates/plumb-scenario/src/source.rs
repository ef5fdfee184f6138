//! A scenario file that was read: its text, for places of what is wrong, and its keys.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use plumb_wire::document::{self, Position, Wrong};

use crate::file::{Scenario, ScenarioFile, Step};
use crate::{Reach, ScenarioError};

/// Bytes of a scenario file that are read at most: those of long recordings are a few MiB.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// A scenario file.
#[derive(Clone, Debug)]
pub struct ScenarioSource {
    path: PathBuf,
    text: String,
    file: ScenarioFile,
    /// The files that it may name.
    reach: Reach,
}

impl ScenarioSource {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`ScenarioError::NotRead`], or [`ScenarioError::Wrong`] with the place of what is no key
    /// or no value.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let not_read = |cause| ScenarioError::NotRead { path: path.into(), cause };
        let mut text = String::new();
        let file = File::open(path).map_err(not_read)?;
        let length = file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(not_read)?;
        if length as u64 == FILE_BYTES_MAX {
            return Err(not_read(std::io::ErrorKind::FileTooLarge.into()));
        }
        Self::parse(path, text)
    }

    /// Reads `text` as the content of the file at `path`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(path: &Path, text: String) -> Result<Self, ScenarioError> {
        match document::read(&text) {
            Ok(file) => {
                let reach = Reach::of(path.parent().unwrap_or(Path::new("")));
                Ok(Self { path: path.into(), text, file, reach })
            }
            Err(wrong) => Err(ScenarioError::Wrong { path: path.into(), wrong: Box::new(wrong) }),
        }
    }

    /// Its keys.
    #[must_use]
    pub fn file(&self) -> &ScenarioFile {
        &self.file
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same, which may also name files below `folder`.
    #[must_use]
    pub fn with_files_from(self, folder: Option<PathBuf>) -> Self {
        Self { reach: self.reach.and(folder), ..self }
    }

    /// The files that it may name.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The files that it names, relative to its folder; not those that hold credentials.
    pub fn named_files(&self) -> Vec<PathBuf> {
        fn of_steps(steps: &[Step], files: &mut Vec<PathBuf>) {
            for step in steps {
                files.extend(step.body_file.as_ref().map(|file| file.get_ref().clone()));
                of_steps(&step.step, files);
            }
        }
        let mut files = Vec::new();
        of_steps(&self.file.prepare, &mut files);
        for scenario in &self.file.scenario {
            files.extend(scenario.data.iter().map(|data| data.file.get_ref().clone()));
            of_steps(&scenario.login, &mut files);
            of_steps(&scenario.step, &mut files);
        }
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// `problem` at the bytes `at`.
    pub fn wrong(&self, at: &Range<usize>, problem: impl Into<String>) -> ScenarioError {
        let wrong = Box::new(Wrong::at(&self.text, at, problem));
        ScenarioError::Wrong { path: self.path.clone(), wrong }
    }

    /// Where the bytes `at` stand: `line 12`.
    pub fn line(&self, at: &Range<usize>) -> String {
        format!("line {}", Position::of(&self.text, at).line)
    }

    /// Where `scenario` stands: at its name.
    pub fn place_of(&self, scenario: &Scenario) -> Range<usize> {
        let quoted = [format!("\"{}\"", scenario.name), format!("'{}'", scenario.name)];
        let found = quoted.iter().find_map(|name| Some((self.text.find(name)?, name.len())));
        found.map_or(0..0, |(at, length)| at..at + length)
    }
}

/// Where a step stands: at what it does.
pub fn place_of(step: &Step) -> Range<usize> {
    let spans = [
        step.get.as_ref().map(toml::Spanned::span),
        step.path.as_ref().map(toml::Spanned::span),
        step.each.as_ref().map(toml::Spanned::span),
        step.group.as_ref().map(toml::Spanned::span),
        step.repeat.as_ref().map(toml::Spanned::span),
        step.name.as_ref().map(toml::Spanned::span),
    ];
    spans.into_iter().flatten().next().unwrap_or(0..0)
}
