//! A folder in which one process works at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::FolderError;
use crate::names::IN_USE;

/// Bytes of the words about a holder that are read.
const HOLDER_MAX: u64 = 200;
/// Files that are locked and turn out to be there no more; a file system of which that is said every
/// time tells files apart badly.
const ATTEMPTS_MAX: u32 = 100;

/// Keeps other processes from working in a folder for as long as it lives.
///
/// A file of its own is locked, as the folder itself is locked for a moment by whoever alters the
/// baselines in it, and a file system over the network locks only what can be written. The system
/// gives the lock up with the process, however that ends; only a process that is killed leaves the
/// file behind, for the next one to take.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    file: File,
}

impl Held {
    /// Takes `folder`, which is there.
    ///
    /// # Errors
    /// [`FolderError::InUse`] while another process has it, [`FolderError::Write`] when its file
    /// cannot be made.
    pub fn take(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join(IN_USE);
        let mut file = locked(folder, &path)?;
        for _ in 1..ATTEMPTS_MAX {
            if is_at(&file, &path) {
                break;
            }
            // whoever had it removed the file in between, and the next would lock another
            file = locked(folder, &path)?;
        }
        name_holder(&file);
        Ok(Self { path, file })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path); // one that stays is taken by the next
        }
    }
}

/// The file `path` of `folder`, made where it is lacking and locked by this process.
fn locked(folder: &Path, path: &Path) -> Result<File, FolderError> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).create(true).truncate(false).open(path);
    let file = opened.map_err(|cause| FolderError::Write { path: path.into(), cause })?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let holder = holder(&file).unwrap_or_else(|| "its number is not known".into());
            Err(FolderError::InUse { path: folder.into(), holder })
        }
        // a file system without locks keeps nobody out
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// True when `file` is what lies at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Says in `file` whose it is. Where there is no room for that, nobody knows.
fn name_holder(mut file: &File) {
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let words = format!("process {} on {}\n", std::process::id(), machine.trim());
    let _ = file.set_len(0).and_then(|()| file.write_all(words.as_bytes()));
}

/// Whose `file` is, as it says.
fn holder(file: &File) -> Option<String> {
    let mut text = String::new();
    file.take(HOLDER_MAX).read_to_string(&mut text).ok()?;
    let words = text.lines().next()?.trim();
    (!words.is_empty() && !words.contains(char::is_control)).then(|| words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_held_by_one_and_left_as_it_was() {
        let at = tempfile::tempdir().unwrap();
        let held = Held::take(at.path()).unwrap();
        let refused = Held::take(at.path()).unwrap_err();
        assert!(matches!(refused, FolderError::InUse { .. }), "{refused}");
        let own = format!("process {} on ", std::process::id());
        assert!(refused.to_string().contains(&own), "{refused}");
        drop(held);
        assert!(fs::read_dir(at.path()).unwrap().next().is_none());
        Held::take(at.path()).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_taken() {
        let at = tempfile::tempdir().unwrap();
        let path = at.path().join(IN_USE);
        fs::write(&path, "process 1 on a machine with a name that is longer than ours\n").unwrap();
        let held = Held::take(at.path()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&format!("process {} on ", std::process::id())), "{text}");
        assert_eq!(text.lines().count(), 1);
        // a holder that had no room for its name
        held.file.set_len(0).unwrap();
        let refused = Held::take(at.path()).unwrap_err().to_string();
        assert!(refused.contains("not known"), "{refused}");
    }

    #[test]
    fn who_has_it_no_more_removes_nothing_of_the_next() {
        let at = tempfile::tempdir().unwrap();
        let first = Held::take(at.path()).unwrap();
        fs::remove_file(&first.path).unwrap();
        let second = Held::take(at.path()).unwrap();
        drop(first);
        assert!(second.path.exists());
    }
}
