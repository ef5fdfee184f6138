//! What is to be run can be run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

#[test]
fn whatever_names_its_interpreter_is_executable() {
    let bench = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench"));
    let (mut folders, mut programs, mut refused) = (vec![bench], 0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let (path, metadata) = (entry.path(), entry.metadata().expect("metadata"));
            if metadata.is_dir() {
                folders.push(path);
            } else if fs::read(&path).expect("a file").starts_with(b"#!") {
                programs += 1;
                refused.extend((metadata.permissions().mode() & 0o111 == 0).then_some(path));
            }
        }
    }
    assert!(programs > 0, "no program is found");
    assert!(refused.is_empty(), "chmod +x: {refused:#?}");
}
