//! The folder of a recording, which is never one that holds something.

use std::path::Path;

use plumb_engine::clock;
use plumb_folder::{FolderError, Place};

/// Where recordings go that name no folder.
const RUNS: &str = "plumb-runs";

/// Makes the folder `out`, or one below `plumb-runs` that is named after the time.
///
/// # Errors
/// When it cannot be made, or holds something.
pub(super) fn create(out: Option<&Path>, wall_ns: u64) -> Result<Place, FolderError> {
    match out {
        Some(path) => Place::create_new(path),
        None => {
            let stem = format!("{}-host-record", clock::utc(wall_ns).replace(':', ""));
            Place::create_in(Path::new(RUNS), &stem)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_that_holds_something_is_refused_and_stays() {
        let at = tempfile::tempdir().unwrap();
        let path = at.path().join("new");
        let folder = create(Some(&path), 0).unwrap();
        assert_eq!(folder.path(), path);
        fs::write(path.join("x"), "").unwrap();
        assert!(matches!(create(Some(&path), 0), Err(FolderError::NotEmpty { .. })));
        folder.discard(&[]);
        assert!(path.join("x").exists());
    }

    #[test]
    fn what_was_made_is_taken_back_and_nothing_else() {
        let at = tempfile::tempdir().unwrap();
        create(Some(&at.path().join("a/b")), 0).unwrap().discard(&[]);
        assert!(!at.path().join("a").exists());
        fs::create_dir(at.path().join("mine")).unwrap();
        create(Some(&at.path().join("mine")), 0).unwrap().discard(&[]);
        assert!(at.path().join("mine").exists());
        fs::write(at.path().join("file"), "").unwrap();
        create(Some(&at.path().join("file/a")), 0).unwrap_err();
    }
}
