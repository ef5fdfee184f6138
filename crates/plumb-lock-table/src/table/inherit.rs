//! Locks pass from the dialog to the update.

use super::request::{Malformed, check_owner};
use super::rules::{Fault, Rules};
use super::{CROWD, Change, Changes, Lock, Table, TablePart};

/// What became of an inheritance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherited {
    /// So many locks have passed.
    Passed {
        /// Locks.
        locks: u32,
    },
    /// The table has no room for what both hold from now on; nothing has changed.
    Full {
        /// In which part.
        part: TablePart,
    },
    /// A lock that both held already would be counted more than 65,535 times; nothing has changed.
    Counter,
}

impl<R: Rules> Table<R> {
    /// Passes what `from` holds with its update counters to the owner `to`, where each lock keeps
    /// its fence number and is marked as inherited. What `from` also holds with its dialog
    /// counters stays with it.
    ///
    /// # Errors
    /// [`Malformed`] when an owner cannot be one, or both are the same.
    pub fn inherit(
        &mut self,
        from: &[u8],
        to: &[u8],
        since_ms: u64,
        changes: &mut impl Changes,
    ) -> Result<Inherited, Malformed> {
        check_owner(from)?;
        check_owner(to)?;
        if from == to {
            return Err(Malformed::SameOwner);
        }
        let Some(source) = self.owners.find(from) else {
            return Ok(Inherited::Passed { locks: 0 });
        };
        let target = self.owners.find(to);
        let mut heirs = std::mem::take(&mut self.doomed);
        heirs.extend(self.of(source).filter(|at| self.entries[*at].update > 0));
        let verdict = self.may_inherit(&heirs, source, target);
        if let Err(refused) = verdict {
            heirs.clear();
            self.doomed = heirs;
            return Ok(refused);
        }
        let locks = super::slab::number(heirs.len());
        if locks > 0 {
            let user = self.owners.rows[source].user().to_vec();
            let target = target.unwrap_or_else(|| self.new_owner(to, &user, since_ms));
            for at in heirs.drain(..).rev() {
                self.pass(at, target, changes);
            }
        }
        self.doomed = heirs;
        self.see_peaks();
        Ok(Inherited::Passed { locks })
    }

    fn may_inherit(
        &self,
        heirs: &[u32],
        source: u32,
        target: Option<u32>,
    ) -> Result<(), Inherited> {
        let most = self.limits.rows;
        let (mut more, mut fewer) = (0, 0);
        for at in heirs {
            let entry = &self.entries[*at];
            let own = target.and_then(|target| self.own(entry.granule, target, entry.mode));
            match own.map(|own| &self.entries[own]) {
                Some(own) if own.update.checked_add(entry.update).is_none() => {
                    return Err(Inherited::Counter);
                }
                Some(_) => fewer += u32::from(entry.dialog == 0),
                None => more += u32::from(entry.dialog > 0),
            }
        }
        if self.locks_used() + more > most + fewer {
            return Err(Inherited::Full { part: TablePart::Locks });
        }
        let leaves = self.owners.rows[source].count == super::slab::number(heirs.len())
            && heirs.iter().all(|at| self.entries[*at].dialog == 0);
        let owners = self.owners_used() - u32::from(leaves);
        if !heirs.is_empty() && target.is_none() && owners >= most {
            return Err(Inherited::Full { part: TablePart::Owners });
        }
        Ok(())
    }

    fn pass(&mut self, at: u32, target: u32, changes: &mut impl Changes) {
        let giver = self.entries[at];
        let update = if R::makes(Fault::InheritanceForgetsCounter) { 1 } else { giver.update };
        let heir = self.own(giver.granule, target, giver.mode);
        // first what is gone, then what is new: a copy never needs more rows than this table
        if giver.dialog == 0 && heir.is_none() {
            changes.note(Change::Lock(Lock { update: 0, ..self.lock(at) }));
            self.hand_over(at, target);
            return self.mark_inherited(at, update, giver.fence, changes);
        }
        self.entries[at].update = 0;
        if giver.dialog == 0 {
            self.drop_lock(at, changes);
        } else {
            self.note(at, changes);
        }
        let (heir, own) = match heir {
            Some(heir) => (heir, self.entries[heir].update),
            None => (self.new_lock(target, giver.granule, giver.mode), 0),
        };
        let fence = if own + self.entries[heir].dialog == 0 {
            giver.fence
        } else {
            self.entries[heir].fence.max(giver.fence)
        };
        self.mark_inherited(heir, own + update, fence, changes);
    }

    fn mark_inherited(&mut self, at: u32, update: u16, fence: u64, changes: &mut impl Changes) {
        if self.entries[at].fence != fence {
            self.tell_watchers(at);
        }
        let entry = &mut self.entries[at];
        (entry.update, entry.fence) = (update, fence);
        self.backups += u32::from(!std::mem::replace(&mut entry.backup, true));
        self.note(at, changes);
    }

    /// The lock stays where it is and has another owner.
    fn hand_over(&mut self, at: u32, target: u32) {
        self.tell_watchers(at);
        self.leave_crowd(at);
        self.leave_owner(at);
        self.join_owner(at, target);
        if self.granules.rows[self.entries[at].granule].count > CROWD {
            self.join_crowd(at);
        }
    }
}
