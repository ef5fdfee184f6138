//! The folder of a database that goes with its server.
//!
//! A server that is killed cannot remove its folder; the next one does. Whoever holds the lock of
//! a folder lives.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

const LOCK: &str = "lock";

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    _lock: File,
}

impl TemporaryFolder {
    /// A new folder in that for temporary files, whose name begins with `prefix`; those of that
    /// name that killed servers left there are removed.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir(), prefix)
    }

    fn new_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        sweep(parent, prefix);
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        let unlocked = folder.path().join("lock.new");
        let lock = File::create(&unlocked)?;
        lock.lock()?;
        // under its name it is locked from the first moment on
        fs::rename(unlocked, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    /// The path of `name` in the folder.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Removes folders whose lock nobody holds. What cannot be removed stays.
fn sweep(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix));
        if ours
            && let Ok(lock) = File::open(entry.path().join(LOCK))
            && lock.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_server_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let living = TemporaryFolder::new_in(parent.path(), "plumb-app-").unwrap();
        let dead = parent.path().join("plumb-app-dead");
        let other = parent.path().join("other");
        let unfinished = parent.path().join("plumb-app-new");
        for folder in [&dead, &other, &unfinished] {
            fs::create_dir(folder).unwrap();
        }
        for folder in [&dead, &other] {
            fs::write(folder.join(LOCK), "").unwrap();
        }
        let next = TemporaryFolder::new_in(parent.path(), "plumb-app-").unwrap();
        assert!(!dead.exists());
        for there in [&other, &unfinished, &living.join(""), &next.join("")] {
            assert!(there.exists(), "{}", there.display());
        }
        let path = living.join("");
        drop(living);
        assert!(!path.exists());
    }
}
