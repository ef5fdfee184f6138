//! Owners whose locks are released all at once.
//!
//! A million locks are not taken out of the table in a moment. They are gone in a moment all the
//! same: the owner is marked, nobody finds it or meets its locks any more, and its rows are given
//! back in slices.

use std::collections::VecDeque;

use super::rules::Rules;
use super::{Table, number};

/// Locks of an owner that are taken out at once.
pub(super) const AT_ONCE: u32 = 256;

/// Owners whose locks are gone, and whose rows are still there.
#[derive(Debug, Default)]
pub(super) struct Dying {
    owners: VecDeque<u32>,
    /// Their locks.
    pub(super) locks: u32,
}

impl Dying {
    pub(super) fn owners(&self) -> u32 {
        number(self.owners.len())
    }
}

impl<R: Rules> Table<R> {
    /// Takes out at most so many locks at once when an owner releases all; the rest follows with
    /// [`reap`](Self::reap).
    pub fn set_at_once(&mut self, locks: u32) {
        self.at_once = locks;
    }

    /// True while rows of released locks are left.
    #[must_use]
    pub fn is_reaping(&self) -> bool {
        self.dying.locks > 0
    }

    /// All locks of an owner are gone from now on.
    pub(super) fn doom(&mut self, owner: u32) {
        self.owners.forget(owner);
        let row = &mut self.owners.rows[owner];
        row.dying = true;
        self.dying.locks += row.count;
        self.dying.owners.push_back(owner);
    }

    /// True for a lock that is gone and whose row is still there.
    #[inline]
    pub(super) fn is_dying(&self, entry: u32) -> bool {
        self.dying.locks > 0 && self.owners.rows[self.entries[entry].owner].dying
    }

    /// Gives back the rows of at most so many locks that are gone.
    pub fn reap(&mut self, most: u32) {
        for done in 0..most {
            let Some(owner) = self.dying.owners.front().copied() else {
                self.work_done(done);
                return;
            };
            let at = self.owners.rows[owner].head;
            if self.owners.rows[owner].count == 1 {
                self.dying.owners.pop_front();
            }
            self.dying.locks -= 1;
            self.unlink(at);
        }
        self.work_done(most);
    }
}
