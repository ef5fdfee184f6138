//! The password that clients name: from a file, or from the environment.

use std::path::Path;

use crate::LockError;

/// Holds the password of a lock server where no file is named.
pub(crate) const VARIABLE: &str = "PLUMB_LOCK_PASSWORD";
/// Holds that of PostgreSQL.
pub(crate) const VARIABLE_OF_POSTGRES: &str = "PGPASSWORD";

/// The first line of the file, or of `variable`; `None` where there is neither.
///
/// # Errors
/// [`LockError::PasswordFile`], or [`LockError::NoPassword`] when the line is empty.
pub(crate) fn read(file: Option<&Path>, variable: &str) -> Result<Option<Vec<u8>>, LockError> {
    let text = match file {
        Some(path) => {
            let cause = |cause| LockError::PasswordFile { path: path.display().to_string(), cause };
            Some(std::fs::read_to_string(path).map_err(cause)?)
        }
        None => std::env::var(variable).ok(),
    };
    let first = text.map(|text| text.lines().next().unwrap_or_default().as_bytes().to_vec());
    if first.as_ref().is_some_and(Vec::is_empty) {
        return Err(LockError::NoPassword);
    }
    Ok(first)
}
