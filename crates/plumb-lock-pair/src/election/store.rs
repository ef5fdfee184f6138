//! Where a witness keeps what it must not forget.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::witness::Witness;

const MAGIC: &[u8; 8] = b"PLWITN1\n";
const BYTES: usize = MAGIC.len() + 8 * Witness::NUMBERS + 4;

/// Keeps the state of a witness, so that it outlives a crash of the machine.
pub trait Store: Send {
    /// Keeps this, whatever happens from now on.
    ///
    /// # Errors
    /// When it cannot be kept: then nobody may be told of it.
    fn keep(&mut self, witness: &Witness) -> io::Result<()>;
}

/// A file that holds it, replaced as a whole.
#[derive(Debug)]
pub struct FileStore {
    path: PathBuf,
    /// Locked as long as this witness is there.
    _claim: File,
}

/// Why a witness cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refuses.
    #[error("cannot {what} {path}: {cause}")]
    File {
        /// What was tried.
        what: &'static str,
        /// Of which file.
        path: String,
        /// Why not.
        cause: io::Error,
    },
    /// Another witness uses it.
    #[error("{0} is used by another witness that is running: give each a --state of its own")]
    Used(String),
    /// The number of a server is none.
    #[error(
        "{0} holds no number of a server: remove it, and this server is another one to its \
         witnesses, whose locks are not known to be complete"
    )]
    Identity(String),
    /// It is none.
    #[error(
        "{path} {why}: it is no state of a witness. One that forgets what it promised can let two \
         servers give locks out: remove the file only when all its servers are stopped"
    )]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        why: &'static str,
    },
}

impl FileStore {
    /// The state in this file; that of a witness that was never asked where there is none.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read, is damaged, or is another witness's.
    pub fn open(path: &Path) -> Result<(Self, Witness), StoreError> {
        let failed = |what, path: &Path| {
            let path = path.display().to_string();
            move |cause| StoreError::File { what, path, cause }
        };
        let beside = beside(path, "lock");
        let claim = File::create(&beside).map_err(failed("make", &beside))?;
        if claim.try_lock().is_err() {
            return Err(StoreError::Used(path.display().to_string()));
        }
        let witness = match File::open(path) {
            Ok(file) => {
                let mut bytes = Vec::new();
                let read = file.take(1 + BYTES as u64).read_to_end(&mut bytes);
                read.map_err(failed("read", path))?;
                let damaged = |why| StoreError::Damaged { path: path.display().to_string(), why };
                read_state(&bytes).map_err(damaged)?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Witness::default(),
            Err(error) => return Err(failed("open", path)(error)),
        };
        // a place that cannot be written is known before anybody asks
        write_whole(path, &state(&witness)).map_err(failed("write", path))?;
        Ok((Self { path: path.to_owned(), _claim: claim }, witness))
    }
}

impl Store for FileStore {
    fn keep(&mut self, witness: &Witness) -> io::Result<()> {
        write_whole(&self.path, &state(witness)).map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "; make room and start the witness again: it has what it answered"
                }
                _ => "",
            };
            let path = self.path.display();
            io::Error::new(error.kind(), format!("the state {path}: {error}{remedy}"))
        })
    }
}

/// The number of the server whose locks are kept in this folder; `drawn` where it has none yet.
///
/// # Errors
/// [`StoreError`] when it can be neither read nor written.
pub fn identity_in(folder: &Path, drawn: u64) -> Result<u64, StoreError> {
    let path = folder.join("identity");
    let failed = |what| {
        let path = path.display().to_string();
        move |cause| StoreError::File { what, path, cause }
    };
    match fs::read_to_string(&path) {
        Ok(text) => text.trim_end().parse().ok().filter(|number| *number != 0).ok_or_else(|| {
            let path = path.display().to_string();
            StoreError::Identity(path)
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write_whole(&path, format!("{drawn}\n").as_bytes()).map_err(failed("write"))?;
            Ok(drawn)
        }
        Err(error) => Err(failed("read")(error)),
    }
}

/// Replaces the file as a whole, so that it outlives a crash of the machine.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = beside(path, "new");
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn beside(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(more);
    PathBuf::from(name)
}

fn state(witness: &Witness) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    witness.numbers().iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    let sum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

fn read_state(bytes: &[u8]) -> Result<Witness, &'static str> {
    if bytes.len() != BYTES {
        return Err("has another length");
    }
    if !bytes.starts_with(MAGIC) {
        return Err("begins with something else");
    }
    let (body, sum) = bytes.split_at(BYTES - 4);
    if crc32fast::hash(body).to_le_bytes() != sum {
        return Err("is damaged (its checksum differs)");
    }
    let mut numbers = [0; Witness::NUMBERS];
    for (number, eight) in numbers.iter_mut().zip(body[MAGIC.len()..].chunks_exact(8)) {
        *number = eight.try_into().map(u64::from_le_bytes).unwrap_or_default();
    }
    Ok(Witness::of(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::{Ballot, Request};
    use proptest::prelude::*;

    fn promised(term: u64) -> Witness {
        let mut witness = Witness::default();
        witness.hear(&Request::Claim(Ballot { term, candidate: 9 }));
        witness
    }

    #[test]
    fn what_was_kept_is_there_after_a_start_and_one_witness_at_a_time_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let (mut store, fresh) = FileStore::open(&path).unwrap();
        assert_eq!(fresh, Witness::default());
        store.keep(&promised(5)).unwrap();
        let second = FileStore::open(&path).unwrap_err().to_string();
        assert!(second.contains("used by another witness"), "{second}");
        drop(store);
        let (_, again) = FileStore::open(&path).unwrap();
        assert_eq!(again, promised(5));
    }

    #[test]
    fn a_state_that_cannot_be_kept_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("place").join("state");
        fs::create_dir(path.parent().unwrap()).unwrap();
        let (mut store, _) = FileStore::open(&path).unwrap();
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        let failed = store.keep(&promised(5)).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::NotFound);
        assert!(failed.to_string().contains("place/state: "), "{failed}");
    }

    #[test]
    fn a_server_keeps_its_number_with_its_journal() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(identity_in(folder.path(), 7).unwrap(), 7);
        assert_eq!(identity_in(folder.path(), 8).unwrap(), 7);
        for text in ["", "0", "-1", "seven"] {
            fs::write(folder.path().join("identity"), text).unwrap();
            assert!(identity_in(folder.path(), 8).is_err(), "{text}");
        }
    }

    #[test]
    fn a_damaged_state_is_refused_whatever_is_wrong_with_it() {
        let whole = state(&promised(5));
        assert_eq!(read_state(&whole), Ok(promised(5)));
        for length in 0..whole.len() {
            assert!(read_state(&whole[..length]).is_err());
        }
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(read_state(&flipped).is_err(), "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = read_state(&bytes);
        }
    }
}
