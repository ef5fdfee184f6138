//! Files with passwords, which nobody else may read.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Rights of others that make a file with a password unsafe.
const OTHERS: u32 = 0o077;
/// Bytes of a file that are read.
const SIZE_MAX: u64 = 1 << 20;

/// What stands in `file`; nothing where there is none. A comment, or a line about something else, may be of
/// any encoding: what is not UTF-8 comes as the replacement character, and [`is_text`] says so of a value.
///
/// # Errors
/// Why the file is not used, in words: others can read it, or we cannot.
pub(super) fn read(file: &Path) -> Result<Option<String>, String> {
    let Ok(known) = fs::metadata(file) else { return Ok(None) };
    if !known.is_file() {
        return Err(format!("{} is no plain file and is ignored", file.display()));
    }
    if known.mode() & OTHERS != 0 {
        return Err(format!(
            "{} can be read by others and is ignored: chmod 600 it",
            file.display()
        ));
    }
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|file| file.take(SIZE_MAX).read_to_end(&mut bytes))
        .map_err(|error| format!("{} cannot be read ({error})", file.display()))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// True of a value that was UTF-8 in its file.
pub(super) fn is_text(value: &str) -> bool {
    !value.contains(char::REPLACEMENT_CHARACTER)
}
