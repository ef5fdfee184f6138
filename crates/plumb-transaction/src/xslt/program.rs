//! Where the program is that applies stylesheets.

use std::env;
use std::path::{Path, PathBuf};

use super::XsltError;

const NAME: &str = "plumb-xslt";
/// Folders below that of the programs, where Cargo puts tests and examples.
const BELOW: [&str; 2] = ["deps", "examples"];

/// The program beside the running one, or in `PATH`.
pub(super) fn find() -> Result<PathBuf, XsltError> {
    let beside = env::current_exe().ok().and_then(|it| it.parent().map(PathBuf::from));
    let beside = beside.unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    let paths = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let candidates = folders_of(&beside).into_iter().chain(paths);
    let found = candidates.map(|folder| folder.join(NAME)).find(|file| file.is_file());
    found.ok_or(XsltError::NoProgram { beside })
}

fn folders_of(beside: &Path) -> Vec<PathBuf> {
    let mut folders = vec![beside.to_path_buf()];
    if let (Some(name), Some(above)) = (beside.file_name(), beside.parent())
        && BELOW.iter().any(|below| name == *below)
    {
        folders.push(above.to_path_buf());
    }
    folders
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::folders_of;

    #[test]
    fn a_test_is_looked_beside_and_above_and_nothing_else_is() {
        assert_eq!(folders_of(Path::new("/usr/bin")), [PathBuf::from("/usr/bin")]);
        let of_test = folders_of(Path::new("/x/debug/deps"));
        assert_eq!(of_test, [PathBuf::from("/x/debug/deps"), PathBuf::from("/x/debug")]);
    }
}
