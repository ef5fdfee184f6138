//! Do the parts of the table agree with each other?

use super::rules::Rules;
use super::slab::NONE;
use super::{CROWD, Table};

/// What a complete count found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Owners that hold something.
    pub owners: u32,
    /// Arguments that are locked.
    pub arguments: u32,
    /// Locks.
    pub locks: u32,
    /// Of these, inherited ones.
    pub backups: u32,
}

/// The parts of the table contradict each other: a fault of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lock table contradicts itself: {what}; please report this, and restart the server")]
pub struct Broken {
    what: &'static str,
}

impl<R: Rules> Table<R> {
    /// Counts everything and follows every list.
    ///
    /// # Errors
    /// [`Broken`] when the parts of the table contradict each other.
    pub fn verify(&self) -> Result<Census, Broken> {
        let mut census = Census::default();
        let mut excluding = 0;
        let mut crowd = 0;
        for at in 0..self.granules.rows.end() {
            let row = &self.granules.rows[at];
            if row.name == NONE {
                continue;
            }
            census.arguments += 1;
            let count = super::slab::number(self.on(at).count());
            hold(count == row.count, "the locks of an argument do not add up")?;
            hold(count > 0, "an argument without a lock")?;
            let found = self.granules.find(row.name, self.granules.argument(at));
            hold(found == Some(at), "an argument is not where it is looked for")?;
            let here = self.on(at).filter(|at| self.entries[*at].mode.excludes()).count();
            hold(super::slab::number(here) == row.excluding, "exclusive locks do not add up")?;
            excluding += row.excluding;
            crowd += if count > CROWD { count as usize } else { 0 };
        }
        hold(crowd == self.crowd.len(), "the crowd does not add up")?;
        for at in 0..self.owners.rows.end() {
            let row = &self.owners.rows[at];
            if row.count == 0 {
                continue;
            }
            census.owners += 1;
            let count = super::slab::number(self.of(at).count());
            hold(count == row.count, "the locks of an owner do not add up")?;
            hold(
                row.dying || self.owners.find(row.name()) == Some(at),
                "an owner is not where it is looked for",
            )?;
            census.locks += count;
        }
        let entries = (0..self.entries.end()).map(|at| &self.entries[at]);
        let backups = entries.filter(|entry| entry.granule != NONE && entry.backup);
        census.backups = super::slab::number(backups.count());
        let names = (0..self.names.rows.end()).map(|at| &self.names.rows[at]);
        let (by_name, named) = names.fold((0, 0), |(excluding, arguments), row| {
            (excluding + row.excluding, arguments + row.granules)
        });
        hold(by_name == excluding, "exclusive locks of the names do not add up")?;
        hold(named == census.arguments, "the arguments of the names do not add up")?;
        hold(census.backups == self.backups, "inherited locks do not add up")?;
        hold(census.owners == self.owners.rows.used(), "owners do not add up")?;
        hold(census.arguments == self.granules.rows.used(), "arguments do not add up")?;
        hold(census.locks == self.entries.used(), "locks do not add up")?;
        Ok(census)
    }
}

fn hold(sound: bool, what: &'static str) -> Result<(), Broken> {
    if sound { Ok(()) } else { Err(Broken { what }) }
}
