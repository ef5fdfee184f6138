//! Reading a configuration file, and saying where it is wrong.

use std::path::Path;

use super::Config;
use crate::AppError;

impl Config {
    /// The configuration in the file at `path`.
    ///
    /// # Errors
    /// [`AppError::Read`], or [`AppError::Config`] with line, column and what to write instead.
    pub(crate) fn read(path: &Path) -> Result<Self, AppError> {
        let text = std::fs::read_to_string(path)
            .map_err(|cause| AppError::Read { path: path.into(), cause })?;
        let config: Self = toml::from_str(&text).map_err(|error| place(path, &text, &error))?;
        config.check()?;
        Ok(config)
    }
}

fn place(path: &Path, text: &str, error: &toml::de::Error) -> AppError {
    let start = error.span().map_or(0, |span| span.start).min(text.len());
    let before = text.get(..start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    AppError::Config { path: path.into(), line, column, problem: problem(error.message()) }
}

/// The message of the reader, with a suggestion where a name is nearly right.
fn problem(message: &str) -> String {
    let message = message.trim().replace('\n', " ");
    let mut quoted = message.split('`').skip(1).step_by(2);
    let suggestion = match (message.starts_with("unknown "), quoted.next()) {
        (true, Some(wrong)) => quoted
            .map(|known| (distance(wrong, known), known))
            .min()
            .filter(|(distance, known)| *distance <= 2.max(known.len() / 3)),
        _ => None,
    };
    match suggestion {
        Some((_, known)) => format!("{message}; did you mean `{known}`?"),
        None => message.clone(),
    }
}

/// The number of letters to insert, remove or replace to turn `a` into `b` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.toml");
        std::fs::write(&path, text).unwrap();
        let error = Config::read(&path).unwrap_err().to_string();
        error.rsplit_once("app.toml:").map_or(error.clone(), |(_, rest)| rest.to_owned())
    }

    #[test]
    fn a_name_that_is_nearly_right_is_suggested_with_its_place() {
        let text = "listen = [\"127.0.0.1:0\"]\n\n[dispatcher]\nwork-proceses = 3\n";
        let said = complaint(text);
        assert!(said.starts_with("4:1: unknown field `work-proceses`"), "{said}");
        assert!(said.ends_with("did you mean `work-processes`?"), "{said}");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_placed() {
        let said = complaint("[front]\nkeep-alive = \"10x\"\n");
        assert!(said.starts_with("2:14: `x` is no unit here"), "{said}");
        let said = complaint("[front]\nthreads = 0\n");
        assert!(said.contains("front.threads is 0"), "{said}");
        let said = complaint("[front\n");
        assert!(said.starts_with("1:"), "{said}");
    }

    #[test]
    fn an_empty_file_is_the_default() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.toml");
        std::fs::write(&path, "").unwrap();
        assert_eq!(Config::read(&path).unwrap().dispatcher.work_processes, 10);
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        for (a, b, expected) in [("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0)] {
            assert_eq!(distance(a, b), expected);
        }
    }
}
