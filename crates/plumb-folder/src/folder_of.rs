//! A folder that holds several runs, and what a further process does with it.

use std::marker::PhantomData;
use std::path::Path;

use crate::error::FolderError;
use crate::place::Place;

/// The folder of what `K` stands for, made by this process or an earlier one.
#[derive(Debug)]
pub struct FolderOf<K> {
    pub(crate) place: Place,
    of: PhantomData<K>,
}

impl<K> FolderOf<K> {
    fn at(place: Place) -> Self {
        Self { place, of: PhantomData }
    }

    /// Makes the folder `path` and its parents. A folder that is there and empty is taken.
    ///
    /// # Errors
    /// [`FolderError::HoldsRun`], [`FolderError::HoldsExperiment`] or [`FolderError::NotEmpty`]
    /// when something is in it, [`FolderError::Create`] when it cannot be made.
    pub fn create_new(path: &Path) -> Result<Self, FolderError> {
        Place::create_new(path).map(Self::at)
    }

    /// Makes `parent/stem`, or `parent/stem-2`, `parent/stem-3` and so on where that is taken.
    /// Two processes that ask at once get two folders.
    ///
    /// # Errors
    /// [`FolderError::NamesTaken`] after a thousand names, [`FolderError::Create`] when a folder
    /// cannot be made.
    pub fn create_in(parent: &Path, stem: &str) -> Result<Self, FolderError> {
        Place::create_in(parent, stem).map(Self::at)
    }

    /// The folder `path`, for whoever goes on with what is in it.
    #[must_use]
    pub fn again(path: &Path) -> Self {
        Self::at(Place::of_another(path))
    }

    /// Where the folder is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.place.path()
    }
}
