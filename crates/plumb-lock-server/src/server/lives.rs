//! How long owners and keys live: with their connection, for a time, or until they are released.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use plumb_lock_table::table::{LockId, OwnerId};

/// Never.
pub(super) const NEVER: u64 = u64::MAX;

/// What ends an owner that nobody releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// The end of its connection.
    Connection,
    /// The end of a lease of so many milliseconds, at this moment in nanoseconds.
    Lease { at: u64, ms: u64 },
    /// This moment, nanoseconds, unless a connection takes it up: its own was lost by a restart.
    Grace(u64),
    /// Nothing.
    Kept,
}

/// A lock that a Redis client took as a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) lock: LockId,
    /// When it ends, nanoseconds; [`NEVER`] without a time.
    pub(super) until: u64,
    /// The connection that took it.
    pub(super) connection: u64,
}

/// Something whose time is over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Over {
    Owner(OwnerId),
    Key(LockId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Owner,
    Key,
}

/// The lives of all owners and keys. Nothing in it moves as a whole when it grows.
#[derive(Debug, Default)]
pub(super) struct Lives {
    owners: Vec<Option<(OwnerId, Life)>>,
    keys: Keys,
    ends: BTreeSet<(u64, Kind, u32)>,
    graces: usize,
}

/// Keys by the places of their locks, in parts of so many places.
#[derive(Debug, Default)]
struct Keys {
    parts: Vec<HashMap<u32, Key>>,
}

impl Keys {
    const PLACES: u32 = 4_096;

    fn part(&self, place: u32) -> Option<&HashMap<u32, Key>> {
        self.parts.get((place / Self::PLACES) as usize)
    }

    fn get(&self, place: u32) -> Option<&Key> {
        self.part(place)?.get(&place)
    }

    fn insert(&mut self, place: u32, key: Key) -> Option<Key> {
        let at = (place / Self::PLACES) as usize;
        if self.parts.len() <= at {
            self.parts.resize_with(at + 1, HashMap::new);
        }
        self.parts[at].insert(place, key)
    }

    fn remove(&mut self, place: u32) -> Option<Key> {
        self.parts.get_mut((place / Self::PLACES) as usize)?.remove(&place)
    }
}

impl Life {
    /// How long it was promised without a sign, milliseconds; zero: until it is released. `None`
    /// without a promise.
    pub(super) fn promised(self) -> Option<u64> {
        match self {
            Self::Lease { ms, .. } => Some(ms),
            Self::Kept => Some(0),
            Self::Connection | Self::Grace(_) => None,
        }
    }

    fn end(self) -> Option<u64> {
        match self {
            Self::Lease { at, .. } | Self::Grace(at) => Some(at),
            Self::Connection | Self::Kept => None,
        }
    }
}

impl Lives {
    /// For at most so many owners, whose addresses are set aside where the system gives them.
    pub(super) fn with_room(owners: u32) -> Self {
        const ASIDE_MAX: u32 = 1 << 26;
        let mut lives = Self::default();
        let _ = lives.owners.try_reserve_exact(owners.min(ASIDE_MAX) as usize);
        lives
    }

    /// The first moment at which something ends.
    pub(super) fn next(&self) -> Option<u64> {
        self.ends.first().map(|(at, _, _)| *at)
    }

    /// Times that run: of owners with a lease or some grace, and of keys. That of an owner that has
    /// released everything counts until it is over.
    pub(super) fn leases(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn set(&mut self, id: OwnerId, life: Life) {
        let place = id.place as usize;
        if self.owners.len() <= place {
            self.owners.resize(place + 1, None);
        }
        if let Some((_, old)) = self.owners[place] {
            self.graces -= usize::from(matches!(old, Life::Grace(_)));
            if let Some(at) = old.end() {
                self.ends.remove(&(at, Kind::Owner, id.place));
            }
        }
        self.graces += usize::from(matches!(life, Life::Grace(_)));
        if let Some(at) = life.end() {
            self.ends.insert((at, Kind::Owner, id.place));
        }
        self.owners[place] = Some((id, life));
    }

    /// True when the owner has a life of its own here.
    pub(super) fn knows(&self, id: OwnerId) -> bool {
        matches!(self.owners.get(id.place as usize), Some(Some((other, _))) if *other == id)
    }

    /// True while an owner may wait for a new connection.
    pub(super) fn any_grace(&self) -> bool {
        self.graces > 0
    }

    pub(super) fn of(&self, id: OwnerId) -> Life {
        match self.owners.get(id.place as usize) {
            Some(Some((other, life))) if *other == id => *life,
            _ => Life::Kept,
        }
    }

    pub(super) fn set_key(&mut self, key: Key) {
        let place = key.lock.place;
        if let Some(old) = self.keys.insert(place, key) {
            self.ends.remove(&(old.until, Kind::Key, place));
        }
        if key.until != NEVER {
            self.ends.insert((key.until, Kind::Key, place));
        }
    }

    pub(super) fn key(&self, lock: LockId) -> Option<Key> {
        self.keys.get(lock.place).filter(|key| key.lock == lock).copied()
    }

    pub(super) fn forget_key(&mut self, lock: LockId) {
        if let Some(key) = self.keys.remove(lock.place) {
            self.ends.remove(&(key.until, Kind::Key, lock.place));
        }
    }

    /// True when the time of an owner is over at `now`.
    pub(super) fn is_over(&self, id: OwnerId, now: u64) -> bool {
        self.knows(id) && self.of(id).end().is_some_and(|at| at <= now)
    }

    /// Forgets an owner that ends before its turn.
    pub(super) fn forget(&mut self, id: OwnerId) {
        if self.knows(id) {
            self.set(id, Life::Kept);
            self.owners[id.place as usize] = None;
        }
    }

    /// Takes something whose time is over at `now`.
    pub(super) fn over(&mut self, now: u64) -> Option<Over> {
        let (at, kind, place) = *self.ends.first()?;
        if at > now {
            return None;
        }
        self.ends.pop_first();
        match kind {
            Kind::Owner => self.owners[place as usize].take().map(|(id, life)| {
                self.graces -= usize::from(matches!(life, Life::Grace(_)));
                Over::Owner(id)
            }),
            Kind::Key => self.keys.remove(place).map(|key| Over::Key(key.lock)),
        }
    }
}
