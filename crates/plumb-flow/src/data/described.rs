//! Files beside the transactions that describe what is reached from them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use plumb_wire::document::Wrong;

/// What the file at `path` describes, as `parse` reads its text; nothing when there is no such file.
///
/// # Errors
/// What is wrong in the file, with its place.
pub(super) fn described<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<Vec<T>, Wrong>,
) -> Result<Vec<T>, String> {
    match fs::read_to_string(path) {
        Ok(text) => parse(&text).map_err(|wrong| format!("{}, {wrong}", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}
