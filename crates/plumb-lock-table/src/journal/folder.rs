//! The files of a journal: `NUMBER.snapshot` and `NUMBER.journal`, where a journal holds what
//! happened since the beginning of the snapshot of the same number.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::error::JournalError;
use super::record::{MAGIC, NoRecord, Record};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// All locks at a moment.
    Snapshot,
    /// What happened since.
    Journal,
}

impl Kind {
    fn suffix(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Journal => "journal",
        }
    }
}

/// The files of a folder, by number.
///
/// # Errors
/// [`JournalError::File`] when the folder cannot be read.
pub fn files(folder: &Path) -> Result<Vec<(u64, Kind, PathBuf)>, JournalError> {
    let fail = JournalError::file("read", folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(&fail)? {
        let path = entry.map_err(&fail)?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let kind = match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("snapshot") => Some(Kind::Snapshot),
            Some("journal") => Some(Kind::Journal),
            _ => None,
        };
        if let (Some(number), Some(kind)) = (number, kind) {
            files.push((number, kind, path));
        }
    }
    files.sort();
    Ok(files)
}

pub(super) fn path(folder: &Path, number: u64, kind: Kind) -> PathBuf {
    folder.join(format!("{number:010}.{}", kind.suffix()))
}

/// A new file that starts with `first`.
pub(super) fn create(path: &Path, first: Record<'_>) -> Result<File, JournalError> {
    let fail = JournalError::file("write", path);
    let mut file = File::create_new(path).map_err(&fail)?;
    let mut bytes = MAGIC.to_vec();
    first.push(&mut bytes);
    file.write_all(&bytes).map_err(&fail)?;
    Ok(file)
}

/// Makes names in a folder last.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The records of a file.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    over: bool,
}

impl<'a> Records<'a> {
    /// The records of a file of these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, over: false }
    }

    /// Where the next record begins, bytes from the start of the file.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// True when a batch is closed behind the place at which reading ended: then this is no torn
    /// end, as a crash leaves it, but damage.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        let closes = |at: usize| Record::read(&self.bytes[at..]).is_ok_and(|(it, _)| it.closes());
        (self.at + 1..self.bytes.len()).any(closes)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, NoRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        if self.at == 0 {
            if !self.bytes.starts_with(MAGIC) {
                self.over = true;
                let cut = MAGIC.starts_with(self.bytes);
                return Some(Err(if cut { NoRecord::Cut } else { NoRecord::Unknown }));
            }
            self.at = MAGIC.len();
        }
        if self.at == self.bytes.len() {
            return None;
        }
        let read = Record::read(&self.bytes[self.at..]);
        match read {
            Ok((record, taken)) => {
                self.at += taken;
                Some(Ok(record))
            }
            Err(no) => {
                self.over = true;
                Some(Err(no))
            }
        }
    }
}
