//! The files that are written: never over others, and secrets for their owner only.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use plumb_draft::Login;

use super::error::ImportError;

/// A file that is going to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output<'a> {
    pub(crate) path: &'a Path,
    /// What is there may go.
    pub(crate) force: bool,
}

impl Output<'_> {
    /// Refuses what is there already, before anything is written.
    ///
    /// # Errors
    /// [`ImportError::There`].
    pub(crate) fn check(&self) -> Result<(), ImportError> {
        if !self.force && self.path.symlink_metadata().is_ok() {
            return Err(ImportError::There { path: self.path.into() });
        }
        Ok(())
    }

    /// Writes a text that anybody may read.
    ///
    /// # Errors
    /// When it is there already, or cannot be written.
    pub(crate) fn write(&self, text: &str) -> Result<(), ImportError> {
        let mut options = OpenOptions::new();
        options.write(true);
        if self.force {
            options.create(true).truncate(true);
        } else {
            options.create_new(true);
        }
        self.fill(options.open(self.path), text)
    }

    /// Writes `USER:PASSWORD` into a new file that nobody else may read.
    ///
    /// # Errors
    /// When it is there already, or cannot be written.
    pub(crate) fn write_login(&self, login: &Login) -> Result<(), ImportError> {
        if self.force && self.path.symlink_metadata().is_ok() {
            // a new file: whoever may read the old one keeps nothing of it
            fs::remove_file(self.path).map_err(|cause| self.failed(cause))?;
        }
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.path);
        self.fill(opened, &format!("{}:{}\n", login.user, login.password))
    }

    fn fill(&self, opened: std::io::Result<File>, text: &str) -> Result<(), ImportError> {
        let mut file = opened.map_err(|cause| self.failed(cause))?;
        file.write_all(text.as_bytes()).map_err(|cause| self.failed(cause))
    }

    fn failed(&self, cause: std::io::Error) -> ImportError {
        match cause.kind() {
            std::io::ErrorKind::AlreadyExists => ImportError::There { path: self.path.into() },
            _ => ImportError::Write { path: self.path.into(), cause },
        }
    }
}

/// `file` as the scenario at `scenario` names it: what stands beside it by its name alone.
pub(crate) fn seen_from(scenario: Option<&Path>, file: &Path) -> PathBuf {
    let folder = |path: &Path| {
        std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_path_buf))
    };
    match (scenario.and_then(folder), folder(file), file.file_name()) {
        (Some(one), Some(other), Some(name)) if one == other => PathBuf::from(name),
        (Some(_), Some(_), _) => std::path::absolute(file).unwrap_or_else(|_| file.into()),
        _ => file.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    fn login() -> Login {
        Login::new("me", "open sesame").unwrap()
    }

    #[test]
    fn nothing_is_written_over_unless_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        let new = Output { path: &path, force: false };
        new.check().unwrap();
        new.write("a longer text").unwrap();
        for error in [new.check(), new.write("b"), new.write_login(&login())] {
            assert!(error.unwrap_err().to_string().ends_with("or give --force"));
        }
        Output { path: &path, force: true }.write("c").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "c");
    }

    #[test]
    fn a_login_is_for_its_owner_even_where_others_could_read_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("who");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        Output { path: &path, force: true }.write_login(&login()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "me:open sesame\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_beside_the_scenario_goes_by_its_name() {
        let seen = |scenario, file| seen_from(scenario, Path::new(file));
        assert_eq!(seen(Some(Path::new("/a/s.toml")), "/a/who"), Path::new("who"));
        assert_eq!(seen(Some(Path::new("/a/s.toml")), "/b/who"), Path::new("/b/who"));
        assert_eq!(seen(None, "b/who"), Path::new("b/who"));
    }
}
