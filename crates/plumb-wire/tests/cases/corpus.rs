//! The files of a corpus.

use std::fs;
use std::path::Path;

/// The files of these folders, as the folders are named below `tests`, in the order of their names.
pub(crate) fn files_of(folders: &[&str]) -> Vec<(String, Vec<u8>)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let entries = folders.iter().flat_map(|folder| {
        fs::read_dir(tests.join(folder)).expect("the corpus is part of the sources")
    });
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let path = entry.expect("an entry of the corpus").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, fs::read(path).expect("a file of the corpus"))
        })
        .collect();
    files.sort();
    files
}
