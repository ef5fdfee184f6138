//! Looking at the table without changing it.

use super::rules::Rules;
use super::slab::NONE;
use super::{Lock, Table};

/// An owner that holds something, for whoever keeps something of his own for each. When the owner
/// holds nothing any more, the number means nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId {
    /// Its place; places are used again.
    pub place: u32,
    generation: u32,
}

/// A lock, for whoever keeps something of his own for it. When the lock is gone it means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId {
    /// Its place; places are used again.
    pub place: u32,
    fence: u64,
}

/// Where a listing goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Places looked at.
    pub looked: u32,
    /// The cursor of the next page; `None` at the end.
    pub next: Option<u32>,
}

impl<R: Rules> Table<R> {
    /// The owner of this name, if it holds something.
    #[must_use]
    pub fn owner(&self, name: &[u8]) -> Option<OwnerId> {
        Some(self.owner_id(self.owners.find(name)?))
    }

    #[inline]
    pub(super) fn owner_id(&self, place: u32) -> OwnerId {
        OwnerId { place, generation: self.owners.rows[place].generation }
    }

    /// The name of an owner that still holds something.
    #[must_use]
    pub fn owner_name(&self, id: OwnerId) -> Option<&[u8]> {
        let row = self.owners.rows.get(id.place)?;
        (row.count > 0 && row.generation == id.generation && !row.dying).then(|| row.name())
    }

    /// The lock of this mode that is held on exactly this argument, and who holds it; of several
    /// the youngest.
    #[must_use]
    pub fn holder(&self, name: &[u8], argument: &[u8]) -> Option<(LockId, Lock<'_>)> {
        let granule = self.granules.find(self.names.find(name)?, argument)?;
        let at = self.on(granule).find(|at| !self.is_dying(*at))?;
        Some((self.lock_id(at), self.lock(at)))
    }

    /// The lock, if it still stands.
    #[must_use]
    pub fn by_id(&self, id: LockId) -> Option<Lock<'_>> {
        let entry = self.entries.get(id.place)?;
        let stands = entry.granule != NONE && entry.fence == id.fence && !self.is_dying(id.place);
        stands.then(|| self.lock(id.place))
    }

    /// Who holds a lock that still stands.
    #[must_use]
    pub fn who_holds(&self, id: LockId) -> Option<OwnerId> {
        self.by_id(id)?;
        Some(self.owner_id(self.entries[id.place].owner))
    }

    pub(super) fn lock_id(&self, at: u32) -> LockId {
        LockId { place: at, fence: self.entries[at].fence }
    }

    /// The locks of an owner, the youngest first.
    pub fn locks_of(&self, owner: &[u8]) -> impl Iterator<Item = Lock<'_>> {
        let found = self.owners.find(owner);
        found.into_iter().flat_map(|at| self.of(at)).map(|at| self.lock(at))
    }

    /// How many locks an owner has.
    #[must_use]
    pub fn count_of(&self, owner: &[u8]) -> u32 {
        self.owners.find(owner).map_or(0, |at| self.owners.rows[at].count)
    }

    /// The locks on exactly this argument, the youngest first.
    pub fn locks_on(&self, name: &[u8], argument: &[u8]) -> impl Iterator<Item = Lock<'_>> {
        let found = self.names.find(name);
        let granule = found.and_then(|name| self.granules.find(name, argument));
        let all = granule.into_iter().flat_map(|at| self.on(at));
        all.filter(|at| !self.is_dying(*at)).map(|at| self.lock(at))
    }

    /// All locks, in the order of their places.
    pub fn locks(&self) -> impl Iterator<Item = Lock<'_>> {
        self.occupied(0, self.entries.end())
    }

    /// Calls `visit` for the locks at `cursor` and behind, until it has looked at `most` places or
    /// `visit` answers false. A lock that stays while pages are asked for is shown exactly once.
    pub fn page(&self, cursor: u32, most: u32, mut visit: impl FnMut(&Lock<'_>) -> bool) -> Page {
        let end = self.entries.end().min(cursor.saturating_add(most));
        for at in cursor..end {
            if self.stands(at) && !visit(&self.lock(at)) {
                self.work_done(at + 1 - cursor);
                return Page { looked: at + 1 - cursor, next: Some(at + 1) };
            }
        }
        let looked = end.saturating_sub(cursor);
        self.work_done(looked);
        Page { looked, next: (end < self.entries.end()).then_some(end) }
    }

    fn occupied(&self, start: u32, end: u32) -> impl Iterator<Item = Lock<'_>> {
        (start..end).filter(|at| self.stands(*at)).map(|at| self.lock(at))
    }

    /// True when a lock stands at this place.
    pub(super) fn stands(&self, at: u32) -> bool {
        self.entries[at].granule != NONE && !self.is_dying(at)
    }

    /// Says when this lock is gone, or is another's: see [`next_ended`](Self::next_ended).
    pub fn watch(&mut self, id: LockId) {
        if self.by_id(id).is_some() {
            self.entries[id.place].watched = true;
        }
    }

    /// True when [`next_ended`](Self::next_ended) has something to say.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// A lock that was [watched](Self::watch) and is gone, or has another owner, fence number or
    /// mode.
    pub fn next_ended(&mut self) -> Option<LockId> {
        self.ended.pop()
    }

    /// A lock ends, or becomes another one.
    #[inline]
    pub(super) fn tell_watchers(&mut self, at: u32) {
        if self.entries[at].watched {
            self.entries[at].watched = false;
            self.ended.push(self.lock_id(at));
        }
    }
}
