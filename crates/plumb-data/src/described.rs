//! Files beside the transactions that describe what is reached from them.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use plumb_wire::document::Wrong;
use ring::digest::{Context, SHA256};

/// Bytes of a file that is named in a description: a password, or certificates.
const FILE_BYTES_MAX: u64 = 1 << 20;

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

/// What tells a description from others: its settings, and the content of the files that it names.
/// It is compared and shown nowhere, since passwords are among those.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Description {
    digest: [u8; 32],
    files: Vec<PathBuf>,
}

impl Description {
    /// Of `settings`, which name `files`.
    pub(super) fn of(settings: &impl Debug, files: Vec<PathBuf>) -> Self {
        let mut context = Context::new(&SHA256);
        let said = format!("{settings:?}");
        let contents = files.iter().map(|file| content(file));
        for part in std::iter::once(said.into_bytes()).chain(contents) {
            // a length before each part: two parts are not taken for two others
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(&part);
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        Self { digest, files }
    }

    /// The files that it names.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// What stands in `file`, as far as it is looked at; nothing if it cannot be read, which whoever
/// needs it says.
fn content(file: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(file) {
        let _ = file.take(FILE_BYTES_MAX).read_to_end(&mut bytes);
    }
    bytes
}

// derived, it would show what passwords can be guessed from
impl Debug for Description {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Description").field("files", &self.files).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_another_when_a_setting_or_a_file_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        fs::write(&file, "one").unwrap();
        let of = |settings: &str| Description::of(&settings, vec![file.clone()]);
        let first = of("a");
        assert!(first == of("a") && first != of("b"));
        fs::write(&file, "two").unwrap();
        assert!(first != of("a"));
        assert_eq!(first.files(), std::slice::from_ref(&file));
    }
}
