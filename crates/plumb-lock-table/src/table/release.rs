//! Giving locks back, and taking them away.

use super::request::{Element, Elements, Malformed, Scope, check_owner};
use super::rules::{Fault, Rules};
use super::slab::NONE;
use super::{CROWD, Change, Changes, CrowdHash as _, Held, Lock, LockId, Table};

/// Which locks an administrator removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector<'a> {
    /// All of an owner.
    Owner(&'a [u8]),
    /// The one with this fence number, or those that one request took together.
    Fence(u64),
    /// Those on exactly this argument; wildcards in it are ordinary characters.
    Object {
        /// The name of the lock.
        name: &'a [u8],
        /// The argument.
        argument: &'a [u8],
        /// Only what this owner holds; `None`: whoever holds it.
        owner: Option<&'a [u8]>,
        /// Only what has this fence number; `None`: whatever there is.
        fence: Option<u64>,
    },
}

impl<R: Rules> Table<R> {
    /// Lowers the counters of `scope` of the owner's locks by one; a lock whose counters are both
    /// zero is gone. Each lock is named as it was taken: by mode, name and argument. With `fence`
    /// only locks of that fence number are touched. The number of locks that were lowered.
    ///
    /// # Errors
    /// [`Malformed`] when no table could serve it.
    pub fn dequeue<E: Elements + ?Sized>(
        &mut self,
        owner: &[u8],
        scope: Scope,
        elements: &E,
        fence: Option<u64>,
        changes: &mut impl Changes,
    ) -> Result<u32, Malformed> {
        check_owner(owner)?;
        let mut lowered = 0;
        for index in 0..elements.count() {
            let element = elements.at(index);
            let Some(at) = self.to_release(owner, &element) else {
                continue;
            };
            if fence.is_none_or(|fence| self.entries[at].fence == fence) {
                lowered += u32::from(self.lower(at, scope.counts(), changes));
            }
        }
        Ok(lowered)
    }

    fn to_release(&self, owner: &[u8], element: &Element<'_>) -> Option<u32> {
        let mode = element.mode.held()?;
        let name = self.names.find(element.name)?;
        let granule = self.granules.find(name, element.argument)?;
        if R::makes(Fault::ReleaseByStranger) {
            return self.on(granule).find(|at| self.entries[*at].mode == mode);
        }
        if self.granules.rows[granule].count > CROWD {
            return self.own(granule, self.owners.find(owner)?, mode);
        }
        // of few locks each tells its owner sooner than the owner is found
        self.on(granule).find(|at| {
            let entry = &self.entries[*at];
            entry.mode == mode
                && self.owners.rows[entry.owner].name() == owner
                && !self.is_dying(*at)
        })
    }

    fn lower(&mut self, at: u32, (dialog, update): (u16, u16), changes: &mut impl Changes) -> bool {
        let entry = &mut self.entries[at];
        let before = (entry.dialog, entry.update);
        entry.dialog = entry.dialog.saturating_sub(dialog);
        entry.update = entry.update.saturating_sub(update);
        if R::makes(Fault::ReleaseForgetsCounter) {
            (entry.dialog, entry.update) = (0, 0);
        }
        let after = (entry.dialog, entry.update);
        if after == (0, 0) {
            self.drop_lock(at, changes);
        } else if after != before {
            self.note(at, changes);
        }
        after != before
    }

    /// Sets the counters of `scope` of all the owner's locks to zero; the number of locks that
    /// are gone.
    ///
    /// # Errors
    /// [`Malformed`] when the owner cannot be one.
    pub fn clear(
        &mut self,
        owner: &[u8],
        scope: Scope,
        changes: &mut impl Changes,
    ) -> Result<u32, Malformed> {
        check_owner(owner)?;
        let Some(index) = self.owners.find(owner) else {
            return Ok(0);
        };
        let count = self.owners.rows[index].count;
        if scope == Scope::Both && count > self.at_once && !R::makes(Fault::ClearKeepsInherited) {
            // whether an inherited one is among them would have to be looked for
            changes.note(Change::Cleared { owner, scope, backup: self.backups > 0 });
            self.doom(index);
            return Ok(count);
        }
        let (dialog, update) = scope.counts();
        let (mut gone, mut backup, mut touched) = (0, false, false);
        self.work_done(count);
        let mut at = self.owners.rows[index].head;
        while at != NONE {
            let entry = &mut self.entries[at];
            let next = entry.next_of_owner;
            let spared = R::makes(Fault::ClearKeepsInherited) && entry.backup;
            let before = (entry.dialog, entry.update);
            if !spared {
                entry.dialog *= 1 - dialog;
                entry.update *= 1 - update;
                touched |= (entry.dialog, entry.update) != before;
                backup |= entry.backup;
            }
            if (entry.dialog, entry.update) == (0, 0) {
                self.unlink(at);
                gone += 1;
            }
            at = next;
        }
        if touched {
            changes.note(Change::Cleared { owner, scope, backup });
        }
        if R::makes(Fault::FenceReset) && self.entries.used() == 0 {
            self.next_fence = 1;
        }
        Ok(gone)
    }

    /// Does a part of what [`clear`](Self::clear) does: sets the counters of `scope` of so many of
    /// the owner's locks to zero, from one of them on or from the first. How many are gone, and
    /// where to go on. A lock that was to be the next and is gone by then means the first again.
    pub fn clear_some(
        &mut self,
        owner: &[u8],
        scope: Scope,
        (from, most): (Option<LockId>, u32),
        changes: &mut impl Changes,
    ) -> (u32, Option<LockId>) {
        let Some(index) = self.owners.find(owner) else {
            return (0, None);
        };
        let known = from.filter(|id| self.by_id(*id).is_some());
        let known = known.map(|id| id.place).filter(|at| self.entries[*at].owner == index);
        let mut at = known.unwrap_or(self.owners.rows[index].head);
        let (dialog, update) = scope.counts();
        let (mut gone, mut looked) = (0, 0);
        while at != NONE && looked < most {
            let entry = &mut self.entries[at];
            let (next, before) = (entry.next_of_owner, (entry.dialog, entry.update));
            entry.dialog *= 1 - dialog;
            entry.update *= 1 - update;
            let after = (entry.dialog, entry.update);
            if after == (0, 0) {
                self.drop_lock(at, changes);
                gone += 1;
            } else if after != before {
                self.note(at, changes);
            }
            (at, looked) = (next, looked + 1);
        }
        self.work_done(looked);
        (gone, (at != NONE).then(|| self.lock_id(at)))
    }

    /// Removes locks whoever owns them; their number.
    pub fn remove(&mut self, selector: Selector<'_>, changes: &mut impl Changes) -> u32 {
        let mut doomed = std::mem::take(&mut self.doomed);
        match selector {
            Selector::Owner(owner) => {
                self.doomed = doomed;
                return self.clear(owner, Scope::Both, changes).unwrap_or(0); // nobody's name
            }
            Selector::Fence(fence) => {
                self.doomed = doomed;
                return self.remove_fence(fence, (0, self.entries.end()), changes).0;
            }
            Selector::Object { name, argument, owner, fence } => {
                let found = self.names.find(name);
                let granule = found.and_then(|name| self.granules.find(name, argument));
                let meant = |at: &u32| {
                    let lock = self.lock(*at);
                    owner.is_none_or(|owner| lock.owner == owner)
                        && fence.is_none_or(|fence| lock.fence == fence)
                };
                let all = granule.into_iter().flat_map(|at| self.on(at));
                doomed.extend(all.filter(|at| !self.is_dying(*at) && meant(at)));
            }
        }
        let gone = super::slab::number(doomed.len());
        for at in doomed.drain(..) {
            self.drop_lock(at, changes);
        }
        self.doomed = doomed;
        gone
    }

    /// Removes locks with this fence number among so many places, from the first on: how many, and
    /// where to go on when there are more places.
    pub fn remove_fence(
        &mut self,
        fence: u64,
        (first, places): (u32, u32),
        changes: &mut impl Changes,
    ) -> (u32, Option<u32>) {
        let all = self.entries.end();
        let end = all.min(first.saturating_add(places));
        let mut gone = 0;
        for at in first..end {
            if self.entries[at].fence == fence && self.stands(at) {
                self.drop_lock(at, changes);
                gone += 1;
            }
        }
        self.work_done(end.saturating_sub(first));
        (gone, (end < all).then_some(end))
    }

    /// Ends what an owner holds on exactly this argument and did not inherit; the number of locks.
    pub fn end_of(
        &mut self,
        name: &[u8],
        argument: &[u8],
        owner: &[u8],
        changes: &mut impl Changes,
    ) -> u32 {
        let mut doomed = std::mem::take(&mut self.doomed);
        let granule = self.names.find(name).and_then(|name| self.granules.find(name, argument));
        if let (Some(granule), Some(owner)) = (granule, self.owners.find(owner)) {
            let entry = |at: &u32| &self.entries[*at];
            let own = |at: &u32| entry(at).owner == owner && !entry(at).backup;
            doomed.extend(self.on(granule).filter(own));
        }
        let gone = super::slab::number(doomed.len());
        doomed.drain(..).for_each(|at| self.drop_lock(at, changes));
        self.doomed = doomed;
        gone
    }

    /// Ends one lock; false when it was gone already.
    pub fn end(&mut self, id: LockId, changes: &mut impl Changes) -> bool {
        let there = self.by_id(id).is_some();
        if there {
            self.drop_lock(id.place, changes);
        }
        there
    }

    /// Ends a lock.
    pub(super) fn drop_lock(&mut self, at: u32, changes: &mut impl Changes) {
        if changes.listens() {
            changes.note(Change::Lock(Lock { dialog: 0, update: 0, ..self.lock(at) }));
        }
        self.unlink(at);
    }

    /// Takes a lock out of its lists, and gives back the rows that served it alone.
    pub(super) fn unlink(&mut self, at: u32) {
        self.tell_watchers(at);
        self.leave_crowd(at);
        let entry = self.entries[at];
        self.backups -= u32::from(entry.backup);
        self.overflows.rest = self.overflows.rest.saturating_sub(1);
        match entry.prev_of_granule {
            NONE => self.granules.rows[entry.granule].head = entry.next_of_granule,
            before => self.entries[before].next_of_granule = entry.next_of_granule,
        }
        if entry.next_of_granule != NONE {
            self.entries[entry.next_of_granule].prev_of_granule = entry.prev_of_granule;
        }
        self.leave_owner(at);
        self.entries[at].granule = NONE;
        self.entries.free(at);
        self.leave_granule(entry.granule, entry.mode);
    }

    /// Takes a lock out of its owner's list; an owner without locks is gone.
    pub(super) fn leave_owner(&mut self, at: u32) {
        let entry = self.entries[at];
        let row = &mut self.owners.rows[entry.owner];
        row.count -= 1;
        if entry.prev_of_owner == NONE {
            row.head = entry.next_of_owner;
        } else {
            self.entries[entry.prev_of_owner].next_of_owner = entry.next_of_owner;
        }
        if entry.next_of_owner != NONE {
            self.entries[entry.next_of_owner].prev_of_owner = entry.prev_of_owner;
        }
        if self.owners.rows[entry.owner].count == 0 {
            self.owners.remove(entry.owner);
        }
    }

    fn leave_granule(&mut self, granule: u32, mode: Held) {
        let row = &mut self.granules.rows[granule];
        let (name, mask) = (row.name, row.mask);
        row.count -= 1;
        let empty = row.count == 0;
        if mode.excludes() {
            row.excluding -= 1;
            self.names.rows[name].excluding -= 1;
        }
        self.disband(granule);
        if empty {
            let Self { names, granules, .. } = self;
            names.rows[name].forget(mask, granules.argument(granule), granule);
            self.granules.remove(granule);
            self.names.release(name);
        }
    }

    /// Called before the lock leaves its argument or changes its mode.
    pub(super) fn leave_crowd(&mut self, at: u32) {
        let entry = self.entries[at];
        let count = self.granules.rows[entry.granule].count;
        if count <= CROWD {
            return;
        }
        self.drop_from_crowd(at);
    }

    fn drop_from_crowd(&mut self, at: u32) {
        let entry = self.entries[at];
        let hash = self.hash.hash_one_of(entry.granule, entry.owner, entry.mode);
        self.crowd.remove(hash, at);
    }

    /// Called when an argument has one lock less.
    fn disband(&mut self, granule: u32) {
        if self.granules.rows[granule].count == CROWD {
            let all: Vec<u32> = self.on(granule).collect();
            all.into_iter().for_each(|at| self.drop_from_crowd(at));
        }
    }
}
