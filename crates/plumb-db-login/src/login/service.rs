//! The service file: named sets of parameters.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::{Environment, private};
use crate::LoginError;

/// The parameters of the service `name`.
///
/// # Errors
/// [`LoginError::File`] when there is no such file, or no such service in it.
pub(super) fn read(
    name: &str,
    env: Environment<'_>,
) -> Result<BTreeMap<String, String>, LoginError> {
    let file = match (env("PGSERVICEFILE"), env("HOME")) {
        (Some(file), _) => PathBuf::from(file),
        (None, home) => PathBuf::from(home.unwrap_or_default()).join(".pg_service.conf"),
    };
    let complain = |complaint: String| LoginError::File { file: file.clone(), complaint };
    let bytes = fs::read(&file)
        .map_err(|error| complain(format!("{error}; name the service file in PGSERVICEFILE")))?;
    // a comment or another service may be of any encoding
    let found = section(&String::from_utf8_lossy(&bytes), name).ok_or_else(|| {
        complain(format!("there is no service `{name}` in it; write a section [{name}]"))
    })?;
    match found.iter().find(|(_, value)| !private::is_text(value)) {
        None => Ok(found),
        Some((key, _)) => Err(complain(format!("the value of {key} in [{name}] is not UTF-8"))),
    }
}

/// The lines below `[name]`.
fn section(text: &str, name: &str) -> Option<BTreeMap<String, String>> {
    let mut lines = text.lines().map(str::trim);
    let head = format!("[{name}]");
    lines.find(|line| *line == head)?;
    let pairs = lines
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    Some(pairs.collect())
}
