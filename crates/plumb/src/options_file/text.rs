//! The text of an options file, and places in it.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::error::{Fault, OptionsFileError, Problem};

/// The largest file that is read: no command has options for more.
const BYTES_MAX: u64 = 1 << 20;
/// Characters of a line that an excerpt shows at most.
const SHOWN: usize = 100;

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
        let place = Place::of(&self.text, &fault.at);
        let problem = Box::new(fault.problem);
        let excerpt = place.excerpt();
        let Place { line, column, .. } = place;
        OptionsFileError::Wrong { path: self.path.clone(), line, column, problem, excerpt }
    }
}

/// A place in a text.
struct Place<'a> {
    /// From 1.
    line: usize,
    /// In characters, from 1.
    column: usize,
    /// In characters, at least 1.
    width: usize,
    /// The whole line.
    shown: &'a str,
}

impl<'a> Place<'a> {
    fn of(text: &'a str, at: &Range<usize>) -> Self {
        let start = boundary(text, at.start);
        let (before, behind) = text.split_at(start);
        let from = before.rfind('\n').map_or(0, |newline| newline + 1);
        let to = behind.find('\n').map_or(text.len(), |newline| start + newline);
        let end = boundary(text, at.end).clamp(start, to);
        Self {
            line: before.matches('\n').count() + 1,
            column: text[from..start].chars().count() + 1,
            width: text[start..end].chars().count().max(1),
            shown: &text[from..to],
        }
    }

    /// The line with a mark below the place, cut to what a person can look at.
    fn excerpt(&self) -> String {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let skipped = (self.column - 1).saturating_sub(SHOWN / 2);
        // what moves the cursor would move the mark
        let visible = |char: char| if char.is_control() { ' ' } else { char };
        let shown: String = self.shown.chars().skip(skipped).take(SHOWN).map(visible).collect();
        let indent = " ".repeat(self.column - 1 - skipped);
        let mark = "^".repeat(self.width.min(SHOWN / 2));
        let shown = shown.trim_end();
        format!("{margin} |\n{number} | {shown}\n{margin} | {indent}{mark}")
    }
}

/// The last beginning of a character at or before the byte `at`.
fn boundary(text: &str, at: usize) -> usize {
    let mut candidates = (0..=at.min(text.len())).rev();
    candidates.find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
