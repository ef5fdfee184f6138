//! Which files a scenario may name: a scenario of somebody else must not send whatever lies on this
//! machine.

use std::io;
use std::path::{Path, PathBuf};

/// The folders below which the files of a scenario lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The folder of the scenario, to which its paths are relative.
    folder: PathBuf,
    /// A further folder, which the user named.
    further: Option<PathBuf>,
}

/// Why a file that a scenario names is not read.
#[derive(Debug, thiserror::Error)]
pub enum OutOfReach {
    /// It is not there, or its folder cannot be entered.
    #[error(transparent)]
    NotFound(#[from] io::Error),
    /// It lies elsewhere.
    #[error(
        "it lies outside of the scenario's folder {}: a scenario may only name files below it; if you \
         trust this one, give --files-from DIR with a folder around the file",
        folder.display()
    )]
    Elsewhere {
        /// The folder of the scenario.
        folder: PathBuf,
    },
}

impl Reach {
    /// Files below `folder`.
    pub fn of(folder: &Path) -> Self {
        // a file that is named alone lies in the folder one is in
        let here = folder.as_os_str().is_empty();
        Self { folder: if here { ".".into() } else { folder.into() }, further: None }
    }

    /// The same, and files below `further`.
    #[must_use]
    pub fn and(self, further: Option<PathBuf>) -> Self {
        Self { further, ..self }
    }

    /// The folder to which paths are relative.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the file really is that a scenario calls `path`: links and `..` are resolved first.
    ///
    /// # Errors
    /// [`OutOfReach`].
    pub fn file(&self, path: &Path) -> Result<PathBuf, OutOfReach> {
        let real = self.folder.join(path).canonicalize()?;
        let roots = [Some(&self.folder), self.further.as_ref()];
        for root in roots.into_iter().flatten() {
            if real.starts_with(root.canonicalize()?) {
                return Ok(real);
            }
        }
        Err(OutOfReach::Elsewhere { folder: self.folder.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_lie_below_the_folder_whatever_leads_to_them() {
        let at = tempfile::tempdir().unwrap();
        let (mine, other) = (at.path().join("mine"), at.path().join("other"));
        fs::create_dir_all(mine.join("deep")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(mine.join("deep/body"), "a").unwrap();
        fs::write(other.join("body"), "b").unwrap();
        symlink(other.join("body"), mine.join("link")).unwrap();
        symlink(&other, mine.join("folder")).unwrap();
        symlink(mine.join("deep/body"), mine.join("inner")).unwrap();
        let reach = Reach::of(&mine);
        for path in ["deep/body", "./deep/../deep/body", "inner", "../mine/deep/body"] {
            assert!(reach.file(Path::new(path)).is_ok(), "{path}");
        }
        let absolute = other.join("body");
        for path in ["../other/body", "link", "folder/body", absolute.to_str().unwrap()] {
            let refused = reach.file(Path::new(path)).unwrap_err();
            assert!(matches!(refused, OutOfReach::Elsewhere { .. }), "{path}: {refused}");
            let wider = reach.clone().and(Some(other.clone()));
            assert!(wider.file(Path::new(path)).is_ok(), "{path}");
        }
        assert!(matches!(reach.file(Path::new("none")), Err(OutOfReach::NotFound(_))));
        // a folder whose name only begins so is another
        fs::create_dir(at.path().join("mine2")).unwrap();
        fs::write(at.path().join("mine2/body"), "c").unwrap();
        assert!(reach.file(Path::new("../mine2/body")).is_err());
    }
}
