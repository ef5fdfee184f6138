//! A folder of one process alone, and the room held back on its disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock, statvfs};
use rustix::io::Errno;

/// Why a folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// Another process has it.
    #[error("another process uses the folder")]
    InUse,
    /// It cannot be made or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A folder that this process alone uses, with files that are called `NAME.lock`, `NAME.reserve` and
/// so on.
#[derive(Debug)]
pub struct HeldFolder {
    folder: PathBuf,
    name: &'static str,
    reserve_bytes: u64,
    _lock: File, // the system gives it up with the process, however that ends
}

impl HeldFolder {
    /// Takes `folder`, which is made when it is not there; so many bytes of its disk are to be held
    /// back.
    ///
    /// # Errors
    /// [`HoldError::InUse`] while another process has it; otherwise what the system says.
    pub fn take(folder: &Path, name: &'static str, reserve_bytes: u64) -> Result<Self, HoldError> {
        fs::create_dir_all(folder)?;
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true);
        let lock = lock.open(folder.join(format!("{name}.lock")))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { folder: folder.into(), name, reserve_bytes, _lock: lock }),
            Err(Errno::WOULDBLOCK) => Err(HoldError::InUse),
            Err(error) => Err(HoldError::Io(error.into())),
        }
    }

    /// The file `NAME.END`.
    #[must_use]
    pub fn file(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}.{end}", self.name))
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is written in the folder so far stays under its name.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    /// Holds room back on the disk; true when it is held and as much is free beside it, on the
    /// disk or (`inside_bytes`) in a file of the folder.
    #[must_use]
    pub fn hold_reserve(&self, inside_bytes: u64) -> bool {
        let path = self.file("reserve");
        if !fs::metadata(&path).is_ok_and(|found| found.len() == self.reserve_bytes) {
            let _ = fs::remove_file(&path); // of another size, or not there
            if self.free_bytes() < self.reserve_bytes {
                return false; // nothing is gained by filling the disk with half of it
            }
            let held = File::create(&path).and_then(|file| allocate(&file, self.reserve_bytes));
            if held.is_err() {
                let _ = fs::remove_file(&path); // half a reserve is none
                return false;
            }
        }
        self.free_bytes().max(inside_bytes) >= self.reserve_bytes
    }

    /// Gives the room back; false when none was held.
    #[must_use]
    pub fn release_reserve(&self) -> bool {
        fs::remove_file(self.file("reserve")).is_ok()
    }

    /// With so much free on the disk, the room is held for sure, bytes.
    #[must_use]
    pub fn wanted_bytes(&self) -> u64 {
        2 * self.reserve_bytes
    }

    fn free_bytes(&self) -> u64 {
        statvfs(&self.folder).map_or(0, |room| room.f_bavail.saturating_mul(room.f_frsize))
    }
}

fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP) => write_zeros(file, bytes),
        done => Ok(done?),
    }
}

/// For file systems that cannot allocate.
fn write_zeros(mut file: &File, bytes: u64) -> io::Result<()> {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let piece = usize::try_from(left).unwrap_or(ZEROS.len()).min(ZEROS.len());
        file.write_all(&ZEROS[..piece])?;
        left -= piece as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_of_one_at_a_time_and_its_reserve_is_held_and_given_back() {
        let at = tempfile::tempdir().unwrap();
        let held = HeldFolder::take(at.path(), "queue", 4_096).unwrap();
        assert!(matches!(HeldFolder::take(at.path(), "queue", 4_096), Err(HoldError::InUse)));
        assert!(held.hold_reserve(0) && held.hold_reserve(0));
        assert_eq!(fs::metadata(at.path().join("queue.reserve")).unwrap().len(), 4_096);
        assert!(held.release_reserve() && !held.release_reserve());
        drop(held);
        // more than any disk has is not held, and nothing is left of the trial
        let greedy = HeldFolder::take(at.path(), "queue", u64::MAX / 2).unwrap();
        assert!(!greedy.hold_reserve(0));
        assert!(!greedy.file("reserve").exists());
    }
}
