//! The folder of the queue: whose it is, and the room held back on its disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::OpenError;

/// A folder that this runtime alone uses.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    reserve_bytes: u64,
    _lock: File, // the system gives it up with the process, however that ends
}

impl Place {
    /// Takes `folder`, which is made when it is not there.
    pub(super) fn take(folder: &Path, reserve_bytes: u64) -> Result<Self, OpenError> {
        let failed = |error| OpenError::Folder { path: folder.into(), error };
        fs::create_dir_all(folder).map_err(failed)?;
        let path = folder.join("queue.lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(failed)?;
        let how = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        match rustix::fs::flock(&lock, how) {
            Ok(()) => Ok(Self { folder: folder.into(), reserve_bytes, _lock: lock }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(OpenError::InUse { path: folder.into() }),
            Err(error) => Err(failed(error.into())),
        }
    }

    pub(super) fn database(&self) -> PathBuf {
        self.folder.join("queue.db")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("queue.db-wal")
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is written in the folder so far stays under its name.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    /// Holds room back on the disk; true when it is held and as much is free beside it, on the
    /// disk or (`inside_bytes`) in the database.
    pub(super) fn hold_reserve(&self, inside_bytes: u64) -> bool {
        let path = self.reserve();
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

    /// Gives the room back, for settlements; false when none was held.
    pub(super) fn release_reserve(&self) -> bool {
        fs::remove_file(self.reserve()).is_ok()
    }

    /// With so much free on the disk, messages are accepted again for sure, bytes.
    pub(super) fn wanted_bytes(&self) -> u64 {
        2 * self.reserve_bytes
    }

    fn reserve(&self) -> PathBuf {
        self.folder.join("queue.reserve")
    }

    fn free_bytes(&self) -> u64 {
        rustix::fs::statvfs(&self.folder).map_or(0, |room| room.f_bavail * room.f_frsize)
    }
}

fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        Err(rustix::io::Errno::OPNOTSUPP) => write_zeros(file, bytes),
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
