//! Reading what stands in a folder again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use plumb_checkup::{Checkup, PathCheck};
use plumb_comparison::Comparison;
use plumb_measure::{RecordError, RunRecord};

use crate::digest;
use crate::error::FolderError;
use crate::names::{CHECK, CHECKUP, COMPARISON, INTERVALS, LADDER, ORDER, RECORD};
use crate::order::Blocks;
use crate::responses::Responses;

/// Reads the record of a run: `path` is the folder or its `run.json`.
///
/// # Errors
/// [`FolderError::NoRun`] when nothing is there, [`FolderError::NoRecord`] when a run was only begun,
/// [`FolderError::Read`] when it cannot be read,
/// [`FolderError::Record`] when it is no record of this version, [`FolderError::Altered`] and
/// [`FolderError::Contradiction`] when somebody has altered it or what stands beside it.
pub fn read_record(path: &Path) -> Result<RunRecord, FolderError> {
    let record = read(path, RECORD, RunRecord::from_json, no_run)?;
    let path = if path.is_dir() { path.join(RECORD) } else { path.into() };
    match record.contradiction() {
        Some(contradiction) => Err(FolderError::Contradiction { path, contradiction }),
        None => digest::verify(&path).map(|()| record),
    }
}

/// Why there is no record of a run at `path`, its folder or its `run.json`.
pub(crate) fn no_run(path: PathBuf) -> FolderError {
    let of_record = path.file_name().is_some_and(|name| name == RECORD);
    let folder = beside(&path).filter(|_| of_record).unwrap_or(&path).to_owned();
    match folder.join(INTERVALS).is_file() {
        true => FolderError::NoRecord { path: folder },
        false => FolderError::NoRun { path },
    }
}

/// The folder in which the file at `path` lies: the one at work, where its name alone was given.
pub(crate) fn beside(path: &Path) -> Option<&Path> {
    path.parent().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it })
}

/// True when `path` is the folder of a run or its record.
pub(crate) fn is_run(path: &Path) -> bool {
    if path.is_dir() { path.join(RECORD).is_file() } else { path.is_file() }
}

/// Reads the response times of a run whose record was read before: `path` is the folder or its
/// `run.json`.
///
/// # Errors
/// As those of [`read_record`].
pub fn read_responses(path: &Path) -> Result<Responses, FolderError> {
    read(path, RECORD, Responses::from_json, |path| FolderError::NoRun { path })
}

/// Reads which blocks the experiment in the folder `path` has.
///
/// # Errors
/// [`FolderError::Record`] when its `order.json` is none.
pub(crate) fn read_blocks(path: &Path) -> Result<Blocks, FolderError> {
    let text = read_order(path)?;
    Blocks::from_json(&text).map_err(|cause| FolderError::Record { path: path.join(ORDER), cause })
}

/// True when the folder `path` holds an experiment.
#[must_use]
pub fn is_experiment(path: &Path) -> bool {
    path.join(ORDER).is_file()
}

/// Reads `order.json` of the experiment in the folder `path`, as it was written.
///
/// # Errors
/// [`FolderError::NoRun`] when there is none, [`FolderError::Read`] when it cannot be read,
/// [`FolderError::Altered`] when somebody has altered it.
pub fn read_order(path: &Path) -> Result<String, FolderError> {
    let file = path.join(ORDER);
    let text = text_of(&file, || FolderError::NoRun { path: path.into() })?;
    digest::verify(&file).map(|()| text)
}

/// Reads `ladder.json` of the load ladder in the folder `path`, as it was written; `None` where the
/// folder holds none.
///
/// # Errors
/// [`FolderError::Read`] when it cannot be read.
pub fn read_ladder(path: &Path) -> Result<Option<String>, FolderError> {
    let file = path.join(LADDER);
    match text_of(&file, || FolderError::NoRun { path: path.into() }) {
        Ok(text) => Ok(Some(text)),
        Err(FolderError::NoRun { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the record of a comparison: `path` is the folder of the experiment or its
/// `comparison.json`.
///
/// # Errors
/// [`FolderError::NoComparison`] when nothing is there, [`FolderError::Read`] when it cannot be
/// read, [`FolderError::Record`] when it is no comparison of this version,
/// [`FolderError::Altered`] when somebody has altered it.
pub fn read_comparison(path: &Path) -> Result<Comparison, FolderError> {
    read_sealed(path, COMPARISON, Comparison::from_json, |path| FolderError::NoComparison { path })
}

/// True when the folder `path` holds the check of a network path.
#[must_use]
pub fn is_check(path: &Path) -> bool {
    path.join(CHECK).is_file()
}

/// Reads the check of a network path: `path` is its folder or its `check.json`.
///
/// # Errors
/// [`FolderError::NoCheck`] when nothing is there, [`FolderError::Read`] when it cannot be read,
/// [`FolderError::Record`] when it is no check of this version, [`FolderError::Altered`] when somebody
/// has altered it.
pub fn read_check(path: &Path) -> Result<PathCheck, FolderError> {
    read_sealed(path, CHECK, PathCheck::from_json, |path| FolderError::NoCheck { path })
}

/// True when the folder `path` holds the checkup of a landscape.
#[must_use]
pub fn is_checkup(path: &Path) -> bool {
    path.join(CHECKUP).is_file()
}

/// Reads the checkup of a landscape: `path` is its folder or its `checkup.json`.
///
/// # Errors
/// [`FolderError::NoCheckup`] when nothing is there, [`FolderError::Read`] when it cannot be read,
/// [`FolderError::Record`] when it is no checkup of this version, [`FolderError::Altered`] when somebody
/// has altered it.
pub fn read_checkup(path: &Path) -> Result<Checkup, FolderError> {
    read_sealed(path, CHECKUP, Checkup::from_json, |path| FolderError::NoCheckup { path })
}

/// Reads what `form` understands: `path` is the file, or the folder that holds it under `name`.
fn read<T>(
    path: &Path,
    name: &str,
    form: impl FnOnce(&str) -> Result<T, RecordError>,
    missing: impl FnOnce(PathBuf) -> FolderError,
) -> Result<T, FolderError> {
    let file = if path.is_dir() { path.join(name) } else { path.into() };
    let text = text_of(&file, || missing(path.into()))?;
    form(&text).map_err(|cause| FolderError::Record { path: file, cause })
}

/// The same of a file that is what was written, where a digest says that.
fn read_sealed<T>(
    path: &Path,
    name: &str,
    form: impl FnOnce(&str) -> Result<T, RecordError>,
    missing: impl FnOnce(PathBuf) -> FolderError,
) -> Result<T, FolderError> {
    let found = read(path, name, form, missing)?;
    let file = if path.is_dir() { path.join(name) } else { path.into() };
    digest::verify(&file).map(|()| found)
}

pub(crate) fn text_of(
    file: &Path,
    missing: impl FnOnce() -> FolderError,
) -> Result<String, FolderError> {
    fs::read_to_string(file).map_err(|cause| match cause.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => missing(),
        _ => FolderError::Read { path: file.into(), cause },
    })
}
