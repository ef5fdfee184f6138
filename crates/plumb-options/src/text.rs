//! The text of an options file, and places in it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use plumb_wire::document::Position;

use super::error::{Fault, OptionsFileError, Problem};

/// The largest file that is read: no command has options for more.
const BYTES_MAX: u64 = 1 << 20;

/// The text of an options file.
pub(super) struct Text {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Text {
    /// Reads the file at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, OptionsFileError> {
        let mut bytes = Vec::new();
        let read =
            File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes));
        let path = path.to_owned();
        match read {
            Err(cause) => Err(OptionsFileError::Read { path, cause }),
            Ok(read) if read as u64 > BYTES_MAX => {
                Err(OptionsFileError::TooLarge { path, limit: BYTES_MAX })
            }
            Ok(_) => Self::of(path, bytes),
        }
    }

    fn of(path: PathBuf, bytes: Vec<u8>) -> Result<Self, OptionsFileError> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, text }),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                Err(Self { path, text }.refused(Fault::new(at..at + 1, Problem::NoText)))
            }
        }
    }

    /// The error that `fault` is in this file.
    pub(super) fn refused(&self, fault: Fault) -> OptionsFileError {
        let place = Position::of(&self.text, &fault.at);
        let problem = Box::new(fault.problem);
        let excerpt = place.excerpt();
        let (line, column) = (place.line, place.column);
        OptionsFileError::Wrong { path: self.path.clone(), line, column, problem, excerpt }
    }
}
