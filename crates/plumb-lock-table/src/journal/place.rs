//! The place of a journal: nobody else takes it, and it stays where it was.

use std::fs::{self, File};
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use super::error::JournalError;

/// Keeps others away from a folder for as long as it lives.
///
/// The folder itself is locked, however it is reached. Its path is taken, too, by a name that
/// only the kernel keeps: whoever removes the folder and makes another at the same path has
/// another folder, which nobody has locked.
#[derive(Debug)]
pub(super) struct Claim {
    _folder: File,
    _path: UnixListener,
}

impl Claim {
    /// Takes a folder that is there.
    ///
    /// # Errors
    /// [`JournalError::InUse`] when another server has it, [`JournalError::File`] when it cannot
    /// be opened.
    pub(super) fn take(folder: &Path) -> Result<Self, JournalError> {
        let fail = JournalError::file("open", folder);
        let in_use = || JournalError::InUse { path: folder.to_owned() };
        let lock = File::open(folder).map_err(&fail)?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| in_use())?;
        let path = fs::canonicalize(folder).map_err(&fail)?;
        let address = SocketAddr::from_abstract_name(name(&path)).map_err(&fail)?;
        match UnixListener::bind_addr(&address) {
            Ok(listener) => Ok(Self { _folder: lock, _path: listener }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(in_use()),
            Err(error) => Err(fail(error)),
        }
    }
}

/// What stands for a path, of whatever length. Users of a machine do not get into each other's
/// way.
fn name(path: &Path) -> String {
    let digest = sha1_smol::Sha1::from(path.as_os_str().as_encoded_bytes()).digest();
    format!("plumb-lock-journal-{}-{digest}", rustix::process::getuid().as_raw())
}

/// A file that is written, and where it has to be.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Place {
    /// Where `file` is.
    pub(super) fn of(file: &File, path: PathBuf) -> io::Result<Self> {
        let there = file.metadata()?;
        let path = fs::canonicalize(path)?; // the server's own folder may go, too
        Ok(Self { path, device: there.dev(), inode: there.ino() })
    }

    /// Is it still there, and as long as it was written? One look at the path.
    pub(super) fn check(&self, bytes: u64) -> io::Result<()> {
        let path = self.path.display();
        let gone = |what: &str| {
            Err(io::Error::other(format!(
                "{path} {what} while the server ran: nothing more is acknowledged; start the \
                 server again, with the folder back in its place or with another one"
            )))
        };
        match fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) != (self.device, self.inode) => {
                gone("was replaced")
            }
            Ok(there) if there.len() != bytes => gone("was changed by somebody else"),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => gone("was removed"),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_server_even_when_its_folder_is_another() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("journal");
        fs::create_dir(&folder).unwrap();
        let first = Claim::take(&folder).unwrap();
        assert!(matches!(Claim::take(&folder), Err(JournalError::InUse { .. })));
        fs::rename(&folder, base.path().join("aside")).unwrap();
        fs::create_dir(&folder).unwrap();
        assert!(matches!(Claim::take(&folder), Err(JournalError::InUse { .. })));
        let aside = Claim::take(&base.path().join("aside"));
        assert!(matches!(aside, Err(JournalError::InUse { .. })));
        drop(first);
        assert!(Claim::take(&folder).is_ok());
    }

    #[test]
    fn a_file_that_is_replaced_removed_or_shortened_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "12").unwrap();
        let place = Place::of(&File::open(&path).unwrap(), path.clone()).unwrap();
        assert!(place.check(2).is_ok());
        assert!(place.check(3).unwrap_err().to_string().contains("was changed"));
        fs::rename(&path, folder.path().join("other")).unwrap();
        assert!(place.check(2).unwrap_err().to_string().contains("was removed"));
        fs::write(&path, "12").unwrap();
        assert!(place.check(2).unwrap_err().to_string().contains("was replaced"));
    }
}
