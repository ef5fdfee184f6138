//! A file becomes a table.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::error::ReadError;
use crate::table::Table;
use crate::{csv, json};

/// Largest file that is read, bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Reads a table from a file, JSON when its first sign is `{`, else CSV.
///
/// # Errors
/// [`ReadError`].
pub fn open(path: &Path) -> Result<Table, ReadError> {
    let failed = |cause| ReadError::File { path: path.to_owned(), cause };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(ReadError::TooLarge { path: path.to_owned() });
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') { read_json(text) } else { read_csv(text) }
}

/// Reads a CSV table: lines that start with `#` say what the columns mean, the next line names
/// them, the others are rows.
///
/// # Errors
/// [`ReadError::Line`].
pub fn read_csv(text: &str) -> Result<Table, ReadError> {
    csv::read(text)
}

/// Reads a JSON table.
///
/// # Errors
/// [`ReadError::Line`].
pub fn read_json(text: &str) -> Result<Table, ReadError> {
    json::read(text)
}
