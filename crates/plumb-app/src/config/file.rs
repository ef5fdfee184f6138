//! Reading a configuration file, and saying where it is wrong.

use std::path::Path;

use plumb_wire::document;

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
        let config: Self = document::read(&text).map_err(|wrong| AppError::Config {
            path: path.into(),
            line: wrong.line,
            column: wrong.column,
            problem: wrong.problem.trim().replace('\n', " "),
        })?;
        config.check()?;
        Ok(config)
    }
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
        let said = complaint("[users]\nanna = \"\"\n");
        assert!(said.contains("the password of `anna` is empty"), "{said}");
        for key in ["AA/0017/2011-13-01", "garbage", "AA/0017", "AA/0017/20110601"] {
            let said =
                complaint(&format!("[flights]\nfailing = [\"AA/0017/2011-06-01\", \"{key}\"]\n"));
            assert!(said.contains(&format!("flights.failing: `{key}` is no flight")), "{said}");
        }
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
}
