//! The file that a draft is made of.

use std::path::PathBuf;

use crate::error::SourceError;

/// A text and where it came from.
#[derive(Debug)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// What stands in it.
    pub text: String,
}

impl Source {
    /// An error of this file.
    pub fn broken(&self, cause: impl Into<String>) -> SourceError {
        SourceError::Broken { path: self.path.clone(), cause: cause.into() }
    }

    /// An error of this file, that there is nothing in it.
    #[must_use]
    pub fn nothing(&self, cause: &str) -> SourceError {
        SourceError::Nothing { path: self.path.clone(), cause: cause.into() }
    }

    /// The name of the file.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The name of the file without its ending.
    #[must_use]
    pub fn stem(&self) -> String {
        let stem = self.path.file_stem().unwrap_or(self.path.as_os_str());
        stem.to_string_lossy().into_owned()
    }
}
