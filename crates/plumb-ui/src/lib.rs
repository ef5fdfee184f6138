//! A local web app over the folders of runs.
//!
//! | module | what it holds |
//! |---|---|
//! | `options`, `serve` | the command line, listening, the end |
//! | `access` | who may ask: the token, the password, sessions, `Host` and `Origin` |
//! | `site`, `route`, `answer` | a request becomes an answer |
//! | `index` | what lies in the folders, in `SQLite`; made from them at any time |
//! | `pages` | the pages, as markup |
//! | `live`, `jobs` | a run under way; commands that were started from the page |
//!
//! The page of a run and the comparison of runs are made by whoever starts the app ([`Reports`]), by
//! the code that makes them everywhere else.

mod access;
mod answer;
mod error;
mod fields;
mod index;
mod jobs;
mod live;
mod options;
mod pages;
mod route;
mod serve;
mod site;

use std::path::{Path, PathBuf};

pub use error::UiError;
pub use options::{UiOptions, command};
pub use serve::Ui;

/// Pages that the app shows and does not make.
pub trait Reports: Send + Sync + 'static {
    /// The page of the run, experiment, checkup or check of a path in the folder `path`.
    ///
    /// # Errors
    /// Why there is none, in one line.
    fn page(&self, path: &Path) -> Result<String, String>;

    /// The page of the comparison of `runs`, the first of which is the baseline.
    ///
    /// # Errors
    /// Why they cannot be compared, in one line.
    fn comparison(&self, runs: &[PathBuf]) -> Result<String, String>;
}
