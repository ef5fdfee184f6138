//! The folder of a recording, which is never one that holds something.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use plumb_engine::clock;

use crate::HostError;

/// Names that are tried before it is given up.
const NAMES_MAX: u32 = 1_000;

/// Makes the folder `out`, or one below `plumb-runs` that is named after the time.
pub(super) fn create(out: Option<&Path>, wall_ns: u64) -> Result<PathBuf, HostError> {
    if let Some(path) = out {
        fs::create_dir_all(path).map_err(HostError::write(path))?;
        let mut entries = fs::read_dir(path).map_err(HostError::write(path))?;
        return match entries.next() {
            None => Ok(path.into()),
            Some(_) => Err(HostError::NotEmpty(path.into())),
        };
    }
    let runs = Path::new("plumb-runs");
    fs::create_dir_all(runs).map_err(HostError::write(runs))?;
    let stem = format!("{}-host-record", clock::utc(wall_ns).replace(':', ""));
    for number in 1..NAMES_MAX {
        let name = if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
        let path = runs.join(name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(HostError::write(&path)(error)),
        }
    }
    Err(HostError::NotEmpty(runs.join(stem)))
}

/// Takes back a folder that nothing was written into.
pub(super) fn discard(folder: &Path) {
    // whoever has put something there keeps it
    let _ = fs::remove_dir(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_something_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        assert_eq!(create(Some(&path), 0).unwrap(), path);
        fs::write(path.join("x"), "").unwrap();
        assert!(matches!(create(Some(&path), 0), Err(HostError::NotEmpty(_))));
        discard(&path);
        assert!(path.join("x").exists());
    }
}
