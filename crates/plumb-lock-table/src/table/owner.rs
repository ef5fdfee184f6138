//! Owners that hold something.

use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher as _;

use super::index::{Index, short};
use super::request::{OWNER_BYTES_MAX, USER_BYTES_MAX};
use super::slab::{NONE, Slab};

/// An owner that holds at least one lock.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    /// The first of its locks.
    pub(super) head: u32,
    /// Its locks; zero in a freed row.
    pub(super) count: u32,
    /// Tells this owner from those that had the same row before.
    pub(super) generation: u32,
    /// The hash of its name.
    hash: u32,
    /// When its first lock was granted, milliseconds since 1970.
    pub(super) since_ms: u64,
    /// All its locks are gone; their rows are still there.
    pub(super) dying: bool,
    name: Text<OWNER_BYTES_MAX>,
    user: Text<USER_BYTES_MAX>,
}

/// Short text in place.
#[derive(Clone, Copy, Debug)]
struct Text<const N: usize> {
    length: u8,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    /// As much of `text` as there is room for.
    fn new(text: &[u8]) -> Self {
        let length = text.len().min(N);
        let mut bytes = [0; N];
        bytes[..length].copy_from_slice(&text[..length]);
        Self { length: u8::try_from(length).unwrap_or(0), bytes }
    }

    fn get(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Owner {
    pub(super) fn name(&self) -> &[u8] {
        self.name.get()
    }

    pub(super) fn user(&self) -> &[u8] {
        self.user.get()
    }
}

/// The owners in use, and where each is.
#[derive(Debug)]
pub(super) struct Owners {
    pub(super) rows: Slab<Owner>,
    /// Owners that there ever were.
    generations: u32,
    index: Index,
    hash: DefaultHashBuilder,
}

impl Owners {
    /// For at most so many owners.
    pub(super) fn with_room(rows: u32) -> Self {
        Self {
            rows: Slab::with_room(rows),
            generations: 0,
            index: Index::with_room(rows),
            hash: DefaultHashBuilder::default(),
        }
    }

    #[inline]
    pub(super) fn find(&self, name: &[u8]) -> Option<u32> {
        self.find_hashed(self.hash_of(name), name)
    }

    /// The same, for whoever knows the hash of the name.
    #[inline]
    pub(super) fn find_hashed(&self, hash: u32, name: &[u8]) -> Option<u32> {
        self.index.find(hash, |row| self.rows[row].name() == name)
    }

    #[inline]
    pub(super) fn hash_of(&self, name: &[u8]) -> u32 {
        short(self.hash.hash_one(name))
    }

    /// Adds an owner that is not there yet, and whose name has this hash.
    pub(super) fn insert(&mut self, hash: u32, name: &[u8], user: &[u8], since_ms: u64) -> u32 {
        self.generations = self.generations.wrapping_add(1);
        let row = Owner {
            head: NONE,
            count: 0,
            generation: self.generations,
            hash,
            since_ms,
            dying: false,
            name: Text::new(name),
            user: Text::new(user),
        };
        let index = self.rows.insert(row);
        self.index.insert(hash, index);
        index
    }

    /// Nobody finds the owner any more; its row stays.
    pub(super) fn forget(&mut self, index: u32) {
        self.index.remove(self.rows[index].hash, index);
    }

    pub(super) fn remove(&mut self, index: u32) {
        if !self.rows[index].dying {
            self.forget(index);
        }
        self.rows.free(index);
    }

    pub(super) fn allocated(&self) -> usize {
        self.rows.allocated() + self.index.allocated()
    }
}
