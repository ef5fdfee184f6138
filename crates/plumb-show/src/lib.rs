//! What recordings of hosts say: as [`text`], as [`json`], and as a page or Markdown ([`page`],
//! [`recording`]).
//!
//! A [`Shown`] is one file with what was read of it and what checking it gave. Its figures and facts
//! have the same words in every form (`figures.rs`); which of them are drawn over time stands in
//! `charts.rs`, and at what moments in `moments.rs`.

mod charts;
mod figures;
mod json;
mod moments;
mod page;
mod processes;
pub mod recording;
mod scale;
mod text;
mod together;
mod windows;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use plumb_check::Report;
use plumb_nmon::{Nmon, Options, ReadError, Recording, Series, Window};

pub use json::of as json;
pub use page::of as page;
pub use text::files as text;

/// A file, what was read of it, and what checking each of its recordings gave.
#[derive(Debug)]
pub struct Shown {
    path: PathBuf,
    read: Nmon,
    checks: Vec<Report>,
}

impl Shown {
    /// What the file at `path` holds of `window`.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be read, or is no recording.
    pub fn open(path: &Path, window: Window) -> Result<Self, ReadError> {
        Ok(Self::of(path, plumb_nmon::open(path, &Options { window, ..Options::default() })?))
    }

    /// The same for charts: read once more, with every figure of the sections that are drawn.
    /// Those of all sections would take hundreds of times the memory.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be read, or is no recording.
    pub fn open_to_draw(path: &Path, window: Window) -> Result<Self, ReadError> {
        let read = plumb_nmon::open(path, &Options { window, ..Options::default() })?;
        let drawn: BTreeSet<&str> = read.recordings.iter().flat_map(charts::sections).collect();
        let series = Series::Of(drawn.into_iter().map(str::to_owned).collect());
        Ok(Self::of(path, plumb_nmon::open(path, &Options { series, window })?))
    }

    fn of(path: &Path, read: Nmon) -> Self {
        let checks = plumb_check::of_file(&read);
        Self { path: path.to_path_buf(), read, checks }
    }

    /// True when no figure was found that cannot be true.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.checks.iter().all(|check| check.findings().is_empty())
    }

    /// True when no snapshot of it could be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read.recordings.iter().all(|recording| recording.timeline.stamps().is_empty())
    }

    /// Every recording with what checking it gave.
    fn recordings(&self) -> impl Iterator<Item = (&Recording, &Report)> {
        self.read.recordings.iter().zip(&self.checks)
    }
}

/// What there is to say of `files` beside their figures: that the end of `window` was taken as a time of the
/// next day, and of which of them nothing was read.
#[must_use]
pub fn notes(files: &[Shown], window: Window) -> Vec<String> {
    let next_day =
        "--to is an earlier time of the day than --from: it is taken as one of the next day";
    let empty = files.iter().filter(|file| file.is_empty());
    let empty = empty.map(|it| format!("{}: no snapshot in it could be read", it.path.display()));
    window.ends_next_day().then(|| next_day.to_owned()).into_iter().chain(empty).collect()
}
