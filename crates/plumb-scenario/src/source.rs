//! A scenario file that was read: its text, for places of what is wrong, and its keys.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use plumb_wire::document::{self, Position, Wrong, nearest};
use plumb_wire::secret::is_secret;

use crate::file::{Pairs, Scenario, ScenarioFile, Step};
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

    /// The same with other values of variables, each `NAME=VALUE`, as somebody said with the load.
    ///
    /// # Errors
    /// [`ScenarioError::Variable`] for what is no such text, for a name that the file does not
    /// have under `variables`, and for a secret.
    pub fn with_variables(mut self, told: &[String]) -> Result<Self, ScenarioError> {
        for text in told {
            let refused = |problem| ScenarioError::Variable { path: self.path.clone(), problem };
            let Some((name, value)) = text.split_once('=') else {
                return Err(refused("write NAME=VALUE".into()));
            };
            if is_secret(name) {
                return Err(refused(format!(
                    "`{name}` is the name of a secret, which others see on a command line: give it \
                     in the file, or in a column of a data file"
                )));
            }
            let file = &mut self.file;
            let own = file.scenario.iter_mut().map(|scenario| &mut scenario.variables);
            let mut lists: Vec<&mut Pairs> = [&mut file.variables].into_iter().chain(own).collect();
            if !lists.iter().any(|list| list.contains_key(name)) {
                let known = lists.iter().flat_map(|list| list.keys().map(String::as_str));
                let meant = nearest(name, known).map(|meant| format!("; did you mean `{meant}`?"));
                return Err(ScenarioError::Variable {
                    path: self.path,
                    problem: format!(
                        "`{name}` does not stand under `variables` of the file{}",
                        meant.unwrap_or_default()
                    ),
                });
            }
            for list in &mut lists {
                if let Some(known) = list.get_mut(name) {
                    *known = value.replace("${", "$${");
                }
            }
        }
        Ok(self)
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
                let of_parts = step.parts.iter().filter_map(|part| part.get_ref().file.as_ref());
                files.extend(of_parts.map(|file| file.get_ref().clone()));
                of_steps(&step.step, files);
            }
        }
        let mut files = Vec::new();
        of_steps(&self.file.prepare, &mut files);
        of_steps(&self.file.finish, &mut files);
        for scenario in &self.file.scenario {
            files.extend(scenario.data.iter().map(|data| data.file.get_ref().clone()));
            of_steps(&scenario.login, &mut files);
            of_steps(&scenario.step, &mut files);
            of_steps(&scenario.finish, &mut files);
            let of_token = scenario.token.iter();
            of_token.for_each(|token| of_steps(&token.step, &mut files));
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
        step.parallel.as_ref().map(toml::Spanned::span),
        step.repeat.as_ref().map(toml::Spanned::span),
        step.holds.as_ref().map(toml::Spanned::span),
        step.name.as_ref().map(toml::Spanned::span),
    ];
    spans.into_iter().flatten().next().unwrap_or(0..0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str]) -> Result<ScenarioSource, String> {
        let text = "variables = { host = \"a\", n = \"1\" }\n[[scenario]]\nname = \"s\"\n\
                    variables = { n = \"2\" }\nstep = []\n";
        let source = ScenarioSource::parse(Path::new("s.toml"), text.into()).unwrap();
        let words: Vec<String> = words.iter().map(|word| (*word).into()).collect();
        source.with_variables(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_said_with_the_load_counts() {
        let source = told(&["n=3=${x}", "host="]).unwrap();
        assert_eq!(source.file().variables["host"], "");
        assert_eq!(source.file().variables["n"], "3=$${x}");
        assert_eq!(source.file().scenario[0].variables["n"], "3=$${x}");
        for (word, part) in [
            ("n", "write NAME=VALUE"),
            ("hots=b", "did you mean `host`?"),
            ("password=x", "others see on a command line"),
        ] {
            let problem = told(&[word]).unwrap_err();
            assert!(
                problem.starts_with("s.toml: --variable: ") && problem.contains(part),
                "{problem}"
            );
        }
    }
}
