//! A folder that holds several runs, and what a further process does with it.

use std::marker::PhantomData;
use std::path::Path;

use crate::error::FolderError;
use crate::held::Held;
use crate::place::Place;

/// The folder of what `K` stands for, made by this process or an earlier one. No other process works
/// in it meanwhile.
#[derive(Debug)]
pub struct FolderOf<K> {
    pub(crate) place: Place,
    held: Held,
    of: PhantomData<K>,
}

impl<K> FolderOf<K> {
    fn at(place: Place) -> Result<Self, FolderError> {
        match Held::take(place.path()) {
            Ok(held) => Ok(Self { place, held, of: PhantomData }),
            Err(error) => {
                place.discard(&[]);
                Err(error)
            }
        }
    }

    /// Makes the folder `path` and its parents. A folder that is there and empty is taken.
    ///
    /// # Errors
    /// [`FolderError::HoldsRun`], [`FolderError::HoldsExperiment`] or [`FolderError::NotEmpty`]
    /// when something is in it, [`FolderError::Create`] or [`FolderError::Write`] when it cannot be
    /// made.
    pub fn create_new(path: &Path) -> Result<Self, FolderError> {
        Place::create_new(path).and_then(Self::at)
    }

    /// Makes `parent/stem`, or `parent/stem-2`, `parent/stem-3` and so on where that is taken.
    /// Two processes that ask at once get two folders.
    ///
    /// # Errors
    /// [`FolderError::NamesTaken`] after a thousand names, [`FolderError::Create`] or
    /// [`FolderError::Write`] when a folder cannot be made.
    pub fn create_in(parent: &Path, stem: &str) -> Result<Self, FolderError> {
        Place::create_in(parent, stem).and_then(Self::at)
    }

    /// The folder `path`, for whoever goes on with what is in it.
    ///
    /// # Errors
    /// [`FolderError::InUse`] while another process does, [`FolderError::Write`] when nothing can be
    /// written into it.
    pub fn again(path: &Path) -> Result<Self, FolderError> {
        Self::at(Place::of_another(path))
    }

    /// Where the folder is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Removes the named files, and the folder as far as it was made for this and nothing else is in
    /// it.
    pub(crate) fn give_back(self, files: &[&str]) {
        drop(self.held); // its file lies there, too
        self.place.discard(files);
    }
}
