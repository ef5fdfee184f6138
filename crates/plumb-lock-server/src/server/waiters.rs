//! Requests that wait for locks: whoever waits longest is tried first, and only who can be granted.
//!
//! Requests for the same locks are refused by the same lock, whoever asks, but for its own holder.
//! They wait as one group: while the lock that its first request has met stands, the others need
//! no look. When it is gone, the first is tried; if that is granted, the next; if it is refused,
//! the whole group waits for the lock that refused it. A member whose owner holds that lock is
//! looked at by itself: its own locks refuse it less.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use plumb_lock_table::table::{LockId, OwnerId};

/// A request that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    /// Who asked.
    pub(super) client: usize,
    /// Its time is over then, nanoseconds.
    pub(super) until: u64,
    /// Its owner, if that held something already.
    pub(super) owner: Option<OwnerId>,
    /// What its owner held has ended meanwhile, and nobody had asked for that.
    pub(super) lost: bool,
    /// What it said.
    pub(super) command: Vec<u8>,
}

/// What stands in the way of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Met {
    /// The lock.
    pub(super) lock: LockId,
    /// Who holds it, as a number that is the same for the same owner; `None` when that is the
    /// owner of the request itself: then the lock refuses everybody who asks for the same.
    pub(super) holder: Option<u64>,
}

/// What a request waits for.
#[derive(Debug)]
pub(super) struct Wish {
    /// The locks it names, as a text that is the same for the same locks; `None` when others that
    /// name the same may be answered differently.
    pub(super) locks: Option<Vec<u8>>,
    /// Its owner, as [`Met::holder`] is.
    pub(super) owner: u64,
    /// What refused it.
    pub(super) met: Met,
}

#[derive(Debug)]
struct WaitingClient {
    waiter: Waiter,
    owner: u64,
    /// `None` when it waits for its time alone.
    group: Option<u64>,
}

#[derive(Debug)]
struct Group {
    locks: Option<Vec<u8>>,
    met: Met,
    /// The lock it met is gone, and its first member was not refused since.
    loose: bool,
    members: BTreeSet<u64>,
    by_owner: BTreeSet<(u64, u64)>,
}

/// The requests that wait, by the order in which they began to.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    next: u64,
    seats: BTreeMap<u64, WaitingClient>,
    groups: BTreeMap<u64, Group>,
    groups_so_far: u64,
    by_locks: HashMap<Vec<u8>, u64>,
    by_lock: BTreeSet<(LockId, u64)>,
    by_time: BTreeSet<(u64, u64)>,
    by_owner: BTreeSet<(OwnerId, u64)>,
    paused: BTreeSet<u64>,
    ready: BTreeSet<u64>,
}

impl Waiters {
    /// Requests that wait.
    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    /// When somebody is to be tried although no lock ended, nanoseconds; zero: at once.
    pub(super) fn wake_at(&self) -> Option<u64> {
        if self.ready.is_empty() { self.by_time.first().map(|(at, _)| *at) } else { Some(0) }
    }

    /// A request waits from now on; its number.
    pub(super) fn wait(&mut self, waiter: Waiter, wish: Wish) -> u64 {
        let number = self.sit(waiter, wish.owner);
        let group = self.group_for(wish);
        self.join(number, group);
        number
    }

    /// A request waits for nothing but its time; its number.
    pub(super) fn pause_until(&mut self, waiter: Waiter) -> u64 {
        self.sit(waiter, 0)
    }

    /// A request waits until all that wait so are [resumed](Self::resume); its number.
    pub(super) fn pause(&mut self, waiter: Waiter) -> u64 {
        let number = self.sit(waiter, 0);
        self.paused.insert(number);
        number
    }

    /// Those that were paused can be tried.
    pub(super) fn resume(&mut self) {
        self.ready.append(&mut self.paused);
    }

    /// True for a request that waits for a lock.
    pub(super) fn is_in_group(&self, number: u64) -> bool {
        self.seats.get(&number).is_some_and(|seat| seat.group.is_some())
    }

    fn sit(&mut self, waiter: Waiter, owner: u64) -> u64 {
        let number = self.next;
        self.next += 1;
        self.by_time.insert((waiter.until, number));
        if let Some(id) = waiter.owner {
            self.by_owner.insert((id, number));
        }
        self.seats.insert(number, WaitingClient { waiter, owner, group: None });
        number
    }

    /// The group that a request belongs to.
    fn group_for(&mut self, wish: Wish) -> u64 {
        let known = wish.locks.as_ref().and_then(|locks| self.by_locks.get(locks)).copied();
        let Some(known) = known else {
            return self.new_group(wish.locks, wish.met);
        };
        let fits = self.groups.get(&known).is_some_and(|group| {
            // the lock that the group met refuses this one, too, unless it is its own
            group.loose || group.met.holder != Some(wish.owner) || group.met.lock == wish.met.lock
        });
        if fits { known } else { self.new_group(None, wish.met) }
    }

    fn new_group(&mut self, locks: Option<Vec<u8>>, met: Met) -> u64 {
        let at = self.groups_so_far;
        self.groups_so_far += 1;
        if let Some(locks) = &locks {
            self.by_locks.insert(locks.clone(), at);
        }
        self.by_lock.insert((met.lock, at));
        let (members, by_owner) = (BTreeSet::new(), BTreeSet::new());
        self.groups.insert(at, Group { locks, met, loose: false, members, by_owner });
        at
    }

    fn join(&mut self, number: u64, at: u64) {
        let (Some(seat), Some(group)) = (self.seats.get_mut(&number), self.groups.get_mut(&at))
        else {
            return;
        };
        seat.group = Some(at);
        group.members.insert(number);
        group.by_owner.insert((seat.owner, number));
    }

    /// A lock is gone: the first of each group that waited for it can be tried.
    pub(super) fn ended(&mut self, lock: LockId) {
        while let Some((met, at)) = self.by_lock.range((lock, 0)..).next().copied()
            && met == lock
        {
            self.by_lock.remove(&(lock, at));
            if let Some(group) = self.groups.get_mut(&at) {
                group.loose = true;
                self.ready.extend(group.members.first());
            }
        }
    }

    /// Those whose time is over at `now` can be tried, at most `most` of them.
    pub(super) fn late(&mut self, now: u64, most: usize) {
        for _ in 0..most {
            match self.by_time.first() {
                Some((until, number)) if *until <= now => {
                    self.ready.insert(*number);
                    self.by_time.pop_first();
                }
                _ => return,
            }
        }
    }

    /// What an owner holds has ended without its asking: its requests are not granted any more.
    pub(super) fn lose(&mut self, id: OwnerId) {
        while let Some((owner, number)) = self.by_owner.range((id, 0)..).next().copied()
            && owner == id
        {
            self.by_owner.remove(&(owner, number));
            if let Some(seat) = self.seats.get_mut(&number) {
                seat.waiter.lost = true;
                self.ready.insert(number);
            }
        }
    }

    /// Takes the one that waits longest among those that can be tried. Whoever takes it says what
    /// became of it: [`answered`](Self::answered) or [`refused`](Self::refused).
    pub(super) fn pop(&mut self) -> Option<(u64, &Waiter)> {
        let number = self.ready.pop_first()?;
        self.seats.get(&number).map(|seat| (number, &seat.waiter))
    }

    /// A request was tried and is refused by this lock now.
    pub(super) fn refused(&mut self, number: u64, met: Met) {
        let Some((owner, at)) = self.place(number) else {
            return;
        };
        let Some(group) = self.groups.get_mut(&at) else {
            return;
        };
        let first = group.members.first() == Some(&number);
        if first {
            // the lock it met before may still stand, when it was tried for another reason
            self.by_lock.remove(&(group.met.lock, at));
            (group.met, group.loose) = (met, false);
            self.by_lock.insert((met.lock, at));
            if let Some(holder) = met.holder {
                let theirs = group.by_owner.range((holder, 0)..=(holder, u64::MAX));
                self.ready.extend(theirs.map(|(_, number)| *number).find(|it| *it != number));
            }
        } else if group.met.lock == met.lock && met.holder.is_none() {
            // its own lock refuses it, and so all of its owner
        } else {
            let next = next_of(group, owner, number);
            self.ready.extend(next);
            if group.met.lock != met.lock {
                self.part(number, owner, at);
                let alone = self.new_group(None, met);
                self.join(number, alone);
            }
        }
    }

    /// A request waits no longer.
    pub(super) fn answered(&mut self, number: u64) -> Option<Waiter> {
        let place = self.place(number);
        self.ready.remove(&number);
        self.paused.remove(&number);
        let seat = self.seats.remove(&number)?;
        self.by_time.remove(&(seat.waiter.until, number));
        if let Some(id) = seat.waiter.owner {
            self.by_owner.remove(&(id, number));
        }
        if let Some((owner, at)) = place {
            self.leave(number, owner, at);
        }
        Some(seat.waiter)
    }

    fn place(&self, number: u64) -> Option<(u64, u64)> {
        let seat = self.seats.get(&number)?;
        Some((seat.owner, seat.group?))
    }

    /// One that was tried, or hangs up, leaves its group: who comes next is tried in its stead.
    fn leave(&mut self, number: u64, owner: u64, at: u64) {
        if let Some(group) = self.groups.get(&at) {
            let holds = group.met.holder == Some(owner);
            let next = if holds { next_of(group, owner, number) } else { None };
            self.ready.extend(next);
        }
        self.part(number, owner, at);
        if let Some(group) = self.groups.get(&at)
            && group.loose
        {
            self.ready.extend(group.members.first());
        }
    }

    fn part(&mut self, number: u64, owner: u64, at: u64) {
        let Some(group) = self.groups.get_mut(&at) else {
            return;
        };
        group.members.remove(&number);
        group.by_owner.remove(&(owner, number));
        if !group.members.is_empty() {
            return;
        }
        if let Some(group) = self.groups.remove(&at) {
            self.by_lock.remove(&(group.met.lock, at));
            if let Some(locks) = group.locks {
                self.by_locks.remove(&locks);
            }
        }
    }
}

/// The next member of the same owner.
fn next_of(group: &Group, owner: u64, number: u64) -> Option<u64> {
    let behind = (std::ops::Bound::Excluded((owner, number)), std::ops::Bound::Unbounded);
    let next = group.by_owner.range(behind).next();
    next.filter(|(other, _)| *other == owner).map(|(_, number)| *number)
}
