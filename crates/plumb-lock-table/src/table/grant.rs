//! Granting a request.

use std::ops::ControlFlow;

use super::judge::{Answer, Located, Needs, Refused};
use super::request::{Element, Elements, Malformed, Request};
use super::rules::{Fault, Rules};
use super::slab::NONE;
use super::{
    AT_ONCE, CROWD, Change, Changes, CrowdHash as _, Entry, Held, Lock, Mode, Table, TablePart,
};

/// Slices of released locks whose rows are given back for one request of a full table.
const SLICES_MAX: u32 = 20;

/// What judging a request has found out already.
#[derive(Clone, Copy)]
struct Known {
    /// The owner's row, when there is one.
    owner: Option<u32>,
    /// The hash of its name.
    hash: u32,
    /// Where the only element stands; `None` when there are several: each may make room for the
    /// next, or take it.
    place: Option<Located>,
}

impl<R: Rules> Table<R> {
    /// Takes all locks of a request, or none.
    ///
    /// # Errors
    /// [`Malformed`] when no table could serve it.
    pub fn enqueue<E: Elements + ?Sized>(
        &mut self,
        request: &Request<'_, E>,
        changes: &mut impl Changes,
    ) -> Result<Answer<'_>, Malformed> {
        request.check()?;
        let hash = self.owners.hash_of(request.owner);
        let owner = self.owners.find_hashed(hash, request.owner);
        let mut judged = self.judge(owner, request);
        for _ in 0..SLICES_MAX {
            if !judged.as_ref().is_ok_and(|needs| self.wants_room(needs)) {
                break;
            }
            self.reap(AT_ONCE);
            judged = self.judge(owner, request); // arguments that it found may be gone
        }
        let judged = judged.and_then(|needs| self.has_room(owner, &needs).map(|()| needs));
        let needs = match judged {
            Ok(needs) => needs,
            Err(Refused::Full { part }) => {
                self.overflow(part, request.since_ms);
                return Ok(Answer::Full { part });
            }
            Err(refused) => {
                if R::makes(Fault::HalfARequest)
                    && let Refused::Held { index, .. } = refused
                {
                    self.take_all(request, index, Known { owner, hash, place: None }, changes);
                }
                return Ok(self.answer(refused, owner));
            }
        };
        let count = request.elements.count();
        let known = Known { owner, hash, place: (count == 1).then_some(needs.place) };
        let (fence, taken_by) = self.take_all(request, count, known, changes);
        let newcomer = taken_by.filter(|_| owner.is_none()).map(|owner| self.owner_id(owner));
        Ok(Answer::Granted { fence, newcomer })
    }

    /// Would the locks of a request be granted? Nothing is taken, whatever its modes. Room is not
    /// looked at.
    ///
    /// # Errors
    /// [`Malformed`] when no table could serve it.
    pub fn check<E: Elements + ?Sized>(
        &mut self,
        request: &Request<'_, E>,
    ) -> Result<Answer<'_>, Malformed> {
        request.check()?;
        let owner = self.owners.find(request.owner);
        Ok(match self.judge(owner, request) {
            Ok(_) => Answer::Granted { fence: 0, newcomer: None },
            Err(refused) => self.answer(refused, owner),
        })
    }

    /// True when arguments of locks that are gone may take the room that is needed.
    fn wants_room(&self, needs: &Needs) -> bool {
        self.is_reaping() && self.granules.rows.used() + needs.arguments > self.limits.rows
    }

    fn has_room(&self, owner: Option<u32>, needs: &Needs) -> Result<(), Refused> {
        let most = self.limits.rows;
        let full = |part| Err(Refused::Full { part });
        let slack = u32::from(R::makes(Fault::OneTooMany));
        if needs.locks > 0 && owner.is_none() && self.owners_used() >= most {
            return full(TablePart::Owners);
        }
        if self.granules.rows.used() + needs.arguments > most + slack {
            return full(TablePart::Arguments);
        }
        if self.locks_used() + needs.locks > most + slack {
            return full(TablePart::Locks);
        }
        Ok(())
    }

    /// Takes the first `count` elements, which were judged; the highest fence number among them,
    /// and the row of their owner.
    fn take_all<E: Elements + ?Sized>(
        &mut self,
        request: &Request<'_, E>,
        count: usize,
        mut known: Known,
        changes: &mut impl Changes,
    ) -> (u64, Option<u32>) {
        let fresh = self.next_fence;
        let mut highest = 0;
        for index in 0..count {
            let element = request.elements.at(index);
            let fence = match element.mode {
                Mode::R => self.promote(request.owner, &element, fresh, changes),
                mode => {
                    let kept = R::makes(Fault::CheckIsKept).then_some(Held::E);
                    let Some(held) = mode.held().or(kept) else { continue };
                    self.take(request, (&element, held), &mut known, changes)
                }
            };
            highest = highest.max(fence);
        }
        if highest == fresh {
            self.next_fence += 1;
        }
        self.see_peaks();
        (highest, known.owner)
    }

    /// Notes how full the table is, after each operation that may have filled it.
    pub(super) fn see_peaks(&mut self) {
        self.peaks.owners.see(self.owners_used());
        self.peaks.arguments.see(self.granules.rows.used());
        self.peaks.locks.see(self.locks_used());
    }

    /// Takes one lock that nothing refuses; its fence number.
    fn take<E: ?Sized>(
        &mut self,
        request: &Request<'_, E>,
        (element, mode): (&Element<'_>, Held),
        known: &mut Known,
        changes: &mut impl Changes,
    ) -> u64 {
        let (hash, name) = (known.hash, request.owner);
        let owner = known
            .owner
            .unwrap_or_else(|| self.owners.insert(hash, name, request.user, request.since_ms));
        known.owner = Some(owner);
        let granule = self.granule_of(element, known.place);
        let (mut dialog, mut update) = request.scope.counts();
        if R::makes(Fault::BothCountedOnce) && dialog == 1 {
            update = 0;
        }
        let index = match self.own(granule, owner, mode) {
            Some(index) => {
                let entry = &self.entries[index];
                (dialog, update) = (entry.dialog + dialog, entry.update + update);
                index
            }
            None => self.new_lock(owner, granule, mode),
        };
        let entry = &mut self.entries[index];
        (entry.dialog, entry.update) = (dialog, update);
        let fence = entry.fence;
        self.note(index, changes);
        fence
    }

    pub(super) fn new_owner(&mut self, name: &[u8], user: &[u8], since_ms: u64) -> u32 {
        self.owners.insert(self.owners.hash_of(name), name, user, since_ms)
    }

    pub(super) fn granule_of(&mut self, element: &Element<'_>, known: Option<Located>) -> u32 {
        let place = known.unwrap_or_default();
        if let Some(granule) = place.granule {
            return granule;
        }
        let (name, hash) = match place.name {
            Some(name) => (name, place.hash),
            None => {
                let name = self.names.find_or_insert(element.name);
                (name, self.granules.hash_of(name, element.argument))
            }
        };
        let found = match known {
            Some(_) => None,
            None => self.granules.find_hashed(hash, name, element.argument),
        };
        found.unwrap_or_else(|| {
            let row = &mut self.names.rows[name];
            let mask = if element.name.is_empty() {
                row.granules += 1;
                NONE // under the empty name nothing is a wildcard
            } else {
                row.add(element.argument)
            };
            let granule = self.granules.insert(hash, name, mask, element.argument);
            self.names.rows[name].file(mask, element.argument, granule);
            granule
        })
    }

    /// A new lock with empty counters and the next fence number.
    pub(super) fn new_lock(&mut self, owner: u32, granule: u32, mode: Held) -> u32 {
        let fence = self.next_fence;
        let next_of_granule = self.granules.rows[granule].head;
        let index = self.entries.insert(Entry {
            fence,
            granule,
            owner: NONE,
            next_of_owner: NONE,
            prev_of_owner: NONE,
            next_of_granule,
            prev_of_granule: NONE,
            dialog: 0,
            update: 0,
            mode,
            backup: false,
            watched: false,
        });
        self.join_owner(index, owner);
        if next_of_granule != NONE {
            self.entries[next_of_granule].prev_of_granule = index;
        }
        let row = &mut self.granules.rows[granule];
        (row.head, row.count) = (index, row.count + 1);
        let count = row.count;
        if mode.excludes() {
            self.exclude(granule);
        }
        if count == CROWD + 1 {
            let all: Vec<u32> = self.on(granule).collect();
            all.into_iter().for_each(|index| self.join_crowd(index));
        } else if count > CROWD {
            self.join_crowd(index);
        }
        index
    }

    pub(super) fn join_owner(&mut self, index: u32, owner: u32) {
        let row = &mut self.owners.rows[owner];
        let next = std::mem::replace(&mut row.head, index);
        row.count += 1;
        if next != NONE {
            self.entries[next].prev_of_owner = index;
        }
        let entry = &mut self.entries[index];
        (entry.owner, entry.next_of_owner, entry.prev_of_owner) = (owner, next, NONE);
    }

    pub(super) fn exclude(&mut self, granule: u32) {
        let row = &mut self.granules.rows[granule];
        row.excluding += 1;
        self.names.rows[row.name].excluding += 1;
    }

    pub(super) fn join_crowd(&mut self, index: u32) {
        let entry = &self.entries[index];
        self.crowd.insert(self.hash.hash_one_of(entry.granule, entry.owner, entry.mode), index);
    }

    /// Makes an E of the own O on exactly this argument, with its counters and the fence number
    /// `fence`; the O of others that overlap it are gone.
    fn promote(
        &mut self,
        owner: &[u8],
        element: &Element<'_>,
        fence: u64,
        changes: &mut impl Changes,
    ) -> u64 {
        let (Some(owner), Some(name)) = (self.owners.find(owner), self.names.find(element.name))
        else {
            return 0;
        };
        let at = self.granules.find(name, element.argument);
        let Some(own) = self.own_optimistic(Some(owner), at) else {
            return 0;
        };
        if !R::makes(Fault::PromotionKeepsOptimistic) {
            self.delete_optimistic(owner, name, (element.argument, at), changes);
        }
        let Entry { granule, dialog, update, backup, .. } = self.entries[own];
        let Some(index) = self.own(granule, owner, Held::E) else {
            self.make_exclusive(own, fence, changes);
            return fence;
        };
        self.tell_watchers(index);
        let entry = &mut self.entries[index];
        (entry.dialog, entry.update) = (entry.dialog + dialog, entry.update + update);
        self.backups += u32::from(backup && !entry.backup);
        entry.backup |= backup;
        self.drop_lock(own, changes);
        self.entries[index].fence = fence;
        self.note(index, changes);
        fence
    }

    /// Makes an E of an O whose owner has no E on its argument.
    fn make_exclusive(&mut self, at: u32, fence: u64, changes: &mut impl Changes) {
        let granule = self.entries[at].granule;
        self.tell_watchers(at);
        self.leave_crowd(at);
        (self.entries[at].mode, self.entries[at].fence) = (Held::E, fence);
        self.exclude(granule);
        if self.granules.rows[granule].count > CROWD {
            self.join_crowd(at);
        }
        self.note(at, changes);
        // behind the E: whoever copies changes takes an owner without a lock for gone, and what
        // was promised to it for forgotten
        let gone = Lock { mode: Held::O, dialog: 0, update: 0, ..self.lock(at) };
        changes.note(Change::Lock(gone));
    }

    fn delete_optimistic(
        &mut self,
        owner: u32,
        name: u32,
        argument: (&[u8], Option<u32>),
        changes: &mut impl Changes,
    ) {
        let mut doomed = std::mem::take(&mut self.doomed);
        let mut room = u64::MAX; // the same search has just been within its limit
        let _ = self.overlaps(name, argument, &mut room, &mut |table, granule| {
            let foreign = |index: &u32| {
                let entry = &table.entries[*index];
                entry.owner != owner && entry.mode == Held::O && !table.is_dying(*index)
            };
            doomed.extend(table.on(granule).filter(foreign));
            ControlFlow::<()>::Continue(())
        });
        for index in doomed.drain(..) {
            self.drop_lock(index, changes);
        }
        self.doomed = doomed;
    }
}
