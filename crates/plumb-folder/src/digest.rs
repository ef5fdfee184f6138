//! The digests of what a run or an experiment wrote down: `SHA256SUMS`, as `sha256sum -c` reads it.
//! They guard against mistakes, a record edited or files of two runs mixed, not against forgery:
//! whoever alters a file can write its digest anew.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use crate::error::FolderError;
use crate::names::{COMPARISON, INTERVALS, ORDER, RECORD};
use crate::place::Place;

/// The file of the digests.
pub(crate) const SUMS: &str = "SHA256SUMS";
/// How the samples of a machine are called.
const SAMPLES: &str = "csv";
const PIECE: usize = 1 << 16;

/// Writes down the digests of a run that has ended.
///
/// # Errors
/// [`FolderError::Read`] when one of its files cannot be read, [`FolderError::Write`].
pub(crate) fn seal_run(place: &Place) -> Result<(), FolderError> {
    let mut names = vec![RECORD.to_owned(), INTERVALS.to_owned()];
    let entries = fs::read_dir(place.path());
    let entries =
        entries.map_err(|cause| FolderError::Read { path: place.path().into(), cause })?;
    let mut samples: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == SAMPLES))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    samples.sort_unstable();
    names.extend(samples);
    seal(place, &names)
}

/// Writes down the digests of an experiment whose comparison is written.
///
/// # Errors
/// As those of [`seal_run`].
pub(crate) fn seal_experiment(place: &Place) -> Result<(), FolderError> {
    seal(place, &[ORDER.to_owned(), COMPARISON.to_owned()])
}

/// Writes down the digest of the state of a check that has ended, which is called `name`.
///
/// # Errors
/// As those of [`seal_run`].
pub(crate) fn seal_check(place: &Place, name: &str) -> Result<(), FolderError> {
    seal(place, &[name.to_owned()])
}

/// Takes the digests away: what they are of is going to change.
pub(crate) fn unseal(place: &Place) {
    // where there are none nothing has to be taken away
    let _ = fs::remove_file(place.path().join(SUMS));
}

/// Those of `names` that are there.
fn seal(place: &Place, names: &[String]) -> Result<(), FolderError> {
    let mut text = String::new();
    for name in names {
        let path = place.path().join(name);
        match digest(&path) {
            Ok(digest) => text += &format!("{digest}  {name}\n"),
            Err(cause) if cause.kind() == ErrorKind::NotFound => {}
            Err(cause) => return Err(FolderError::Read { path, cause }),
        }
    }
    place.replace(SUMS, &text).map(drop)
}

/// Refuses the file `path`, and what stands beside it, when one of them is not what was written. A
/// folder without digests, of an earlier version or of a run that did not end, is taken as it is.
///
/// # Errors
/// [`FolderError::Altered`] names the first file that is another, [`FolderError::Read`] one that
/// cannot be read.
pub(crate) fn verify(path: &Path) -> Result<(), FolderError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let sums = folder.join(SUMS);
    let text = match fs::read_to_string(&sums) {
        Ok(text) => text,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(FolderError::Read { path: sums, cause }),
    };
    for (expected, name) in text.lines().filter_map(|line| line.split_once("  ")) {
        let path: PathBuf = folder.join(name);
        match digest(&path) {
            Ok(found) if found == expected => {}
            Ok(_) => return Err(FolderError::Altered { path }),
            Err(cause) if cause.kind() == ErrorKind::NotFound => {} // whoever needs it says so
            Err(cause) => return Err(FolderError::Read { path, cause }),
        }
    }
    Ok(())
}

/// The SHA-256 digest of the record of a run, hexadecimal: `path` is the folder or its `run.json`.
///
/// # Errors
/// [`FolderError::Read`] when it cannot be read.
pub fn record_digest(path: &Path) -> Result<String, FolderError> {
    let path = if path.is_dir() { path.join(RECORD) } else { path.into() };
    digest(&path).map_err(|cause| FolderError::Read { path, cause })
}

/// Refuses the run in the folder `path` when its record is not the one of which the order of its
/// experiment has the digest `taken`.
///
/// # Errors
/// [`FolderError::Another`], and [`FolderError::Read`] when it cannot be read.
pub(crate) fn verify_block(path: &Path, taken: Option<&str>) -> Result<(), FolderError> {
    match taken {
        Some(taken) if record_digest(path)? != taken => {
            Err(FolderError::Another { path: path.into() })
        }
        Some(_) | None => Ok(()),
    }
}

fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut context = Context::new(&SHA256);
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            length => context.update(&piece[..length]),
        }
    }
    let mut text = String::new();
    for byte in context.finish().as_ref() {
        let _ = write!(text, "{byte:02x}"); // writing to a String does not fail
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_everybody_else() {
        let at = tempfile::tempdir().unwrap();
        let path = at.path().join(RECORD);
        fs::write(&path, "abc").unwrap();
        // FIPS 180-4, example of one block
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(record_digest(at.path()).unwrap(), expected);
        assert_eq!(record_digest(&path).unwrap(), expected);
        verify_block(at.path(), Some(expected)).unwrap();
        verify_block(at.path(), None).unwrap();
        let refused = verify_block(at.path(), Some("another")).unwrap_err().to_string();
        assert!(refused.contains("is not the run that its experiment took there"), "{refused}");
    }

    #[test]
    fn what_was_altered_beside_a_record_is_named_and_what_was_taken_away_is_not() {
        let at = tempfile::tempdir().unwrap();
        let place = Place::create_new(&at.path().join("run")).unwrap();
        let file = |name: &str| place.path().join(name);
        for name in [RECORD, INTERVALS, "host.csv"] {
            fs::write(file(name), name).unwrap();
        }
        verify(&file(RECORD)).unwrap();
        seal_run(&place).unwrap();
        verify(&file(RECORD)).unwrap();
        fs::remove_file(file("host.csv")).unwrap();
        verify(&file(RECORD)).unwrap();
        fs::write(file(INTERVALS), "another").unwrap();
        let refused = verify(&file(RECORD)).unwrap_err().to_string();
        assert!(refused.contains("run/intervals.hlog is not what was written"), "{refused}");
        unseal(&place);
        verify(&file(RECORD)).unwrap();
    }
}
