//! A table with what it shows.

use crate::table::Table;

/// A table under its title.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) table: Table,
}
