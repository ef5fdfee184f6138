//! Arguments that are locked: each stands once, with the locks on it.

use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher as _;

use super::index::{Index, short};
use super::slab::{NONE, Slab};

/// Arguments up to this length lie in their row; longer ones cost an allocation.
const INLINE_BYTES: usize = 43;

/// One argument of one name, in 64 bytes.
#[derive(Clone, Debug)]
pub(super) struct Granule {
    /// Number of the name; [`NONE`] in a freed row.
    pub(super) name: u32,
    /// The first of its locks.
    pub(super) head: u32,
    /// Locks on it.
    pub(super) count: u32,
    /// Locks on it in a mode that excludes others.
    pub(super) excluding: u32,
    /// Number of its wildcard mask within the name; [`NONE`] without a wildcard.
    pub(super) mask: u32,
    length: u8,
    text: [u8; INLINE_BYTES],
}

/// The arguments in use, and where each is.
#[derive(Debug)]
pub(super) struct Granules {
    pub(super) rows: Slab<Granule>,
    long: Slab<Box<[u8]>>,
    index: Index,
    hash: DefaultHashBuilder,
}

impl Granules {
    /// For at most so many arguments.
    pub(super) fn with_room(rows: u32) -> Self {
        Self {
            rows: Slab::with_room(rows),
            long: Slab::with_room(rows),
            index: Index::with_room(rows),
            hash: DefaultHashBuilder::default(),
        }
    }

    pub(super) fn argument(&self, index: u32) -> &[u8] {
        argument(&self.rows, &self.long, index)
    }

    #[inline]
    pub(super) fn find(&self, name: u32, wanted: &[u8]) -> Option<u32> {
        self.find_hashed(self.hash_of(name, wanted), name, wanted)
    }

    /// The same, for whoever knows its hash.
    #[inline]
    pub(super) fn find_hashed(&self, hash: u32, name: u32, wanted: &[u8]) -> Option<u32> {
        self.index.find(hash, |row| {
            self.rows[row].name == name && argument(&self.rows, &self.long, row) == wanted
        })
    }

    #[inline]
    pub(super) fn hash_of(&self, name: u32, bytes: &[u8]) -> u32 {
        short(self.hash.hash_one((name, bytes)))
    }

    /// Adds an argument that is not there yet, and has this hash.
    pub(super) fn insert(&mut self, hash: u32, name: u32, mask: u32, bytes: &[u8]) -> u32 {
        let mut text = [0; INLINE_BYTES];
        if bytes.len() <= INLINE_BYTES {
            text[..bytes.len()].copy_from_slice(bytes);
        } else {
            text[..4].copy_from_slice(&self.long.insert(bytes.into()).to_le_bytes());
        }
        let length = u8::try_from(bytes.len()).unwrap_or(u8::MAX); // 255 is the most there is
        let row = Granule { name, head: NONE, count: 0, excluding: 0, mask, length, text };
        let row = self.rows.insert(row);
        self.index.insert(hash, row);
        row
    }

    pub(super) fn remove(&mut self, index: u32) {
        let hash = self.hash_of(self.rows[index].name, self.argument(index));
        self.index.remove(hash, index);
        if let Some(number) = self.rows[index].long() {
            self.long[number] = Box::default();
            self.long.free(number);
        }
        self.rows[index].name = NONE;
        self.rows.free(index);
    }

    pub(super) fn allocated(&self) -> usize {
        self.rows.allocated() + self.long.allocated() + self.index.allocated()
    }
}

impl Granule {
    /// Where a long argument lies.
    fn long(&self) -> Option<u32> {
        let [a, b, c, d, ..] = self.text;
        (usize::from(self.length) > INLINE_BYTES).then(|| u32::from_le_bytes([a, b, c, d]))
    }
}

#[inline]
fn argument<'a>(rows: &'a Slab<Granule>, long: &'a Slab<Box<[u8]>>, index: u32) -> &'a [u8] {
    let row = &rows[index];
    match row.long() {
        None => &row.text[..usize::from(row.length)],
        Some(number) => &long[number],
    }
}
