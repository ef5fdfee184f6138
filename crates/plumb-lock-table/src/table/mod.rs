//! The lock table: who holds what, and who may have what.
//!
//! It is pure: no clock, no I/O, and the same requests in the same order give the same answers and
//! the same [`Change`]s. The semantics are in `docs/lock-semantics.md`.
//!
//! A request without wildcards costs one probe of a hash table and one for each wildcard mask in
//! use under its name. A request with wildcards looks at the arguments that start as it does, in
//! an ordered index that a name gets with its first such request.

mod census;
mod change;
mod dying;
mod grant;
mod granule;
mod index;
mod inherit;
mod judge;
mod mode;
mod name;
mod order;
mod owner;
mod pattern;
mod release;
mod replay;
mod request;
mod rules;
mod slab;
mod survey;
mod usage;
mod view;

use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;

pub use census::{Broken, Census};
pub use change::{Change, Changes, Impossible, Lock, Unnoted};
pub use inherit::Inherited;
pub use judge::Answer;
pub use mode::{Ask, Held, Mode};
pub use pattern::{WILDCARD, overlap};
pub use release::Selector;
pub use request::{
    ARGUMENT_BYTES_MAX, ELEMENTS_MAX, Element, Elements, Malformed, NAME_BYTES_MAX,
    OWNER_BYTES_MAX, Request, Scope, USER_BYTES_MAX,
};
pub use rules::{Fault, Rules, Sound};
pub use usage::{
    Gauge, Holder, Limits, OVERFLOWS_KEPT, Overflow, ROWS_PER_KIB, TOP_HOLDERS, TablePart, Usage,
};
pub use view::{LockId, OwnerId, Page};

use dying::{AT_ONCE, Dying};
use granule::Granules;
use hashbrown::DefaultHashBuilder;
use index::Index;
use name::Names;
use owner::Owners;
use slab::{NONE, Slab, number};
use survey::Survey;
use usage::Overflows;

/// Locks on one argument beyond which the lock of an owner is found by a probe, not a walk.
const CROWD: u32 = 8;

/// One lock, in 40 bytes.
#[derive(Clone, Copy, Debug)]
struct Entry {
    fence: u64,
    /// [`NONE`] in a freed row.
    granule: u32,
    owner: u32,
    next_of_owner: u32,
    prev_of_owner: u32,
    next_of_granule: u32,
    prev_of_granule: u32,
    dialog: u16,
    update: u16,
    mode: Held,
    backup: bool,
    /// Somebody wants to know when it is gone.
    watched: bool,
}

/// The lock table.
#[derive(Debug)]
pub struct Table<R = Sound> {
    limits: Limits,
    owners: Owners,
    names: Names,
    granules: Granules,
    entries: Slab<Entry>,
    /// The locks of crowded arguments, by argument, owner and mode.
    crowd: Index,
    hash: DefaultHashBuilder,
    next_fence: u64,
    backups: u32,
    peaks: Usage,
    overflows: Overflows,
    survey: Option<Survey>,
    scanned: Cell<u64>,
    /// Rows that were worked on beyond those of ordinary requests.
    worked: Cell<u64>,
    doomed: Vec<u32>,
    dying: Dying,
    at_once: u32,
    /// Names whose arguments are being put in order.
    unordered: VecDeque<u32>,
    /// Locks that were watched, and are gone.
    ended: Vec<LockId>,
    rules: PhantomData<R>,
}

impl Table {
    /// An empty table with the documented rules.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::with_rules(limits)
    }
}

impl<R: Rules> Table<R> {
    /// An empty table.
    #[must_use]
    pub fn with_rules(limits: Limits) -> Self {
        let gauge = Gauge { maximum: limits.rows, ..Gauge::default() };
        Self {
            limits,
            owners: Owners::with_room(limits.rows),
            names: Names::with_room(limits.rows),
            granules: Granules::with_room(limits.rows),
            entries: Slab::with_room(limits.rows),
            crowd: Index::with_room(limits.rows),
            hash: DefaultHashBuilder::default(),
            next_fence: 1,
            backups: 0,
            peaks: Usage { owners: gauge, arguments: gauge, locks: gauge },
            overflows: Overflows::default(),
            survey: None,
            scanned: Cell::new(0),
            worked: Cell::new(0),
            doomed: Vec::new(),
            dying: Dying::default(),
            at_once: AT_ONCE,
            unordered: VecDeque::new(),
            ended: Vec::new(),
            rules: PhantomData,
        }
    }

    /// The fence number of the next grant.
    #[must_use]
    pub fn next_fence(&self) -> u64 {
        self.next_fence
    }

    /// Sees to it that the next fence number is at least `fence`.
    pub fn raise_fence(&mut self, fence: u64) {
        self.next_fence = self.next_fence.max(fence);
    }

    /// Locks that an update has inherited.
    #[must_use]
    pub fn backups(&self) -> u32 {
        self.backups
    }

    /// How full it is.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut usage = self.peaks;
        usage.owners.see(self.owners_used());
        usage.arguments.see(self.granules.rows.used());
        usage.locks.see(self.locks_used());
        usage
    }

    /// Owners that hold something.
    fn owners_used(&self) -> u32 {
        self.owners.rows.used() - self.dying.owners()
    }

    /// Locks that are held.
    fn locks_used(&self) -> u32 {
        self.entries.used() - self.dying.locks
    }

    /// Rows that were worked on so far, beyond the few of ordinary requests: looked at one by
    /// one, put in order, given back.
    #[must_use]
    pub fn worked(&self) -> u64 {
        self.worked.get()
    }

    fn work_done(&self, rows: u32) {
        self.worked.set(self.worked.get() + u64::from(rows));
    }

    /// Arguments that requests with wildcards have looked at one by one.
    #[must_use]
    pub fn scanned(&self) -> u64 {
        self.scanned.get()
    }

    /// Bytes allocated, whether in use or not; the ordered indexes of names are not counted.
    #[must_use]
    pub fn allocated(&self) -> usize {
        self.owners.allocated()
            + self.names.allocated()
            + self.granules.allocated()
            + self.entries.allocated()
            + self.crowd.allocated()
    }

    /// The last overflows, the oldest first.
    pub fn overflows(&self) -> impl Iterator<Item = &Overflow> {
        self.overflows.last.iter()
    }

    /// Overflows so far.
    #[must_use]
    pub fn overflow_count(&self) -> u64 {
        self.overflows.count
    }

    /// Forgets the overflows that were remembered.
    pub fn forget_overflows(&mut self) {
        self.overflows.last.clear();
    }

    /// The owner's lock of this mode on an argument.
    fn own(&self, granule: u32, owner: u32, mode: Held) -> Option<u32> {
        let row = &self.granules.rows[granule];
        if row.count > CROWD {
            let hash = self.hash.hash_one_of(granule, owner, mode);
            let same = |index: u32| {
                let entry = &self.entries[index];
                entry.granule == granule && entry.owner == owner && entry.mode == mode
            };
            return self.crowd.find(hash, same);
        }
        self.on(granule).find(|index| {
            let entry = &self.entries[*index];
            entry.owner == owner && entry.mode == mode
        })
    }

    /// The locks on an argument, the youngest first.
    fn on(&self, granule: u32) -> impl Iterator<Item = u32> {
        let head = self.granules.rows[granule].head;
        std::iter::successors(live(head), |index| live(self.entries[*index].next_of_granule))
    }

    /// The locks of an owner, the youngest first.
    fn of(&self, owner: u32) -> impl Iterator<Item = u32> {
        let head = self.owners.rows[owner].head;
        std::iter::successors(live(head), |index| live(self.entries[*index].next_of_owner))
    }

    /// A lock as others see it.
    fn lock(&self, index: u32) -> Lock<'_> {
        let entry = &self.entries[index];
        let owner = &self.owners.rows[entry.owner];
        let name = self.granules.rows[entry.granule].name;
        Lock {
            owner: owner.name(),
            user: owner.user(),
            since_ms: owner.since_ms,
            name: self.names.rows[name].text(),
            argument: self.granules.argument(entry.granule),
            mode: entry.mode,
            dialog: entry.dialog,
            update: entry.update,
            backup: entry.backup,
            fence: entry.fence,
        }
    }

    fn note(&self, index: u32, changes: &mut impl Changes) {
        if changes.listens() {
            changes.note(Change::Lock(self.lock(index)));
        }
    }
}

fn live(index: u32) -> Option<u32> {
    (index != NONE).then_some(index)
}

/// The hash of what a crowd is searched by.
trait CrowdHash {
    fn hash_one_of(&self, granule: u32, owner: u32, mode: Held) -> u32;
}

impl CrowdHash for DefaultHashBuilder {
    fn hash_one_of(&self, granule: u32, owner: u32, mode: Held) -> u32 {
        index::short(std::hash::BuildHasher::hash_one(self, (granule, owner, mode.letter())))
    }
}
