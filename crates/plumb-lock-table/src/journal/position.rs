//! The last acknowledged position of a journal, in a file of its own.
//!
//! A journal whose end was cut off reads like one whose end was never acknowledged. The file
//! `position` tells them apart: behind every batch that was made to last, and before anybody is
//! told of it, it says how long the journal is by then. It is written in place and not flushed
//! with every batch: behind a crash of the program it is exact, behind one of the machine it may
//! say less than there is, never more. It is flushed when it names another journal, and when fence
//! numbers are set aside.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::error::JournalError;

const MAGIC: &[u8; 8] = b"PLUMBPO1";
const NUMBERS: usize = 4;
const BYTES: usize = MAGIC.len() + 8 * NUMBERS + 4;

/// How far a journal was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of the journal.
    pub number: u64,
    /// Its bytes that are acknowledged.
    pub bytes: u64,
    /// No fence number from here on was given out.
    pub fences_until: u64,
    /// The epoch.
    pub epoch: u64,
}

impl Position {
    /// The position that a folder names; `None` when there is none, or none that is sound.
    ///
    /// # Errors
    /// [`JournalError::File`] when the file is there and cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Self>, JournalError> {
        let path = path(folder);
        match fs::read(&path) {
            Ok(bytes) => Ok(Self::of(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(JournalError::file("read", &path)(error)),
        }
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        let numbers = body.strip_prefix(MAGIC)?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let number = |at: usize| numbers.get(8 * at..)?.first_chunk().copied();
        let number = |at| number(at).map(u64::from_le_bytes);
        Some(Self {
            number: number(0)?,
            bytes: number(1)?,
            fences_until: number(2)?,
            epoch: number(3)?,
        })
    }

    fn written(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        let numbers = [self.number, self.bytes, self.fences_until, self.epoch];
        for (at, number) in numbers.into_iter().enumerate() {
            let start = MAGIC.len() + 8 * at;
            bytes[start..start + 8].copy_from_slice(&number.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[..BYTES - 4]);
        bytes[BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("position")
}

/// The file that keeps a position.
#[derive(Debug)]
pub(super) struct PositionFile {
    file: File,
}

impl PositionFile {
    /// Opens the file of a folder, which is made if it is not there, and leaves what it says.
    ///
    /// # Errors
    /// [`JournalError::File`] when it cannot be opened.
    pub(super) fn open(folder: &Path) -> Result<Self, JournalError> {
        let path = path(folder);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        Ok(Self { file: file.map_err(JournalError::file("open", &path))? })
    }

    /// Notes where the journal is now.
    pub(super) fn note(&self, position: &Position) -> io::Result<()> {
        self.file.write_all_at(&position.written(), 0)
    }

    /// The same, and it outlives a crash of the machine.
    pub(super) fn keep(&self, position: &Position) -> io::Result<()> {
        self.note(position)?;
        self.file.set_len(BYTES as u64)?; // whatever was there before
        self.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_position_reads_as_it_was_written_and_any_flipped_bit_is_seen() {
        let position = Position { number: 7, bytes: 1 << 40, fences_until: 9, epoch: u64::MAX };
        let bytes = position.written();
        assert_eq!(Position::of(&bytes), Some(position));
        for bit in 0..8 * BYTES {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Position::of(&bytes), None, "bit {bit}");
        }
        assert_eq!(Position::of(&bytes[1..]), None);
    }

    proptest! {
        #[test]
        fn noise_is_no_position(bytes in prop::collection::vec(any::<u8>(), 0..2 * BYTES)) {
            prop_assert_eq!(Position::of(&bytes), None);
        }
    }
}
