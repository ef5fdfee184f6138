//! Names of locks: the wildcard masks in use under each, and the order of its arguments.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::hash::BuildHasher as _;

use hashbrown::DefaultHashBuilder;

use super::index::{Index, short};
use super::pattern::Mask;
use super::slab::{NONE, Slab};

/// A name under which something is locked.
#[derive(Debug)]
pub(super) struct Name {
    text: Box<[u8]>,
    /// Arguments locked under it; zero in a freed row.
    pub(super) granules: u32,
    /// Locks under it in a mode that excludes others.
    pub(super) excluding: u32,
    /// The masks in use; a freed one has no members.
    pub(super) masks: Vec<MaskRow>,
    /// The arguments without wildcards in their order, once somebody has asked for many at once.
    pub(super) ordered: Option<Ordered>,
}

/// The arguments of a name in their order.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    pub(super) arguments: BTreeSet<(u128, u32)>,
    /// Rows from here on are not in it yet; [`NONE`] when it is complete.
    pub(super) until: u32,
}

/// A mask and the arguments that have it.
#[derive(Debug)]
pub(super) struct MaskRow {
    pub(super) mask: Mask,
    pub(super) members: BTreeSet<u32>,
}

impl Name {
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Notes one argument more; its mask's number.
    pub(super) fn add(&mut self, argument: &[u8]) -> u32 {
        self.granules += 1;
        let Some(mask) = Mask::of(argument) else {
            return NONE;
        };
        let known = self.masks.iter().position(|row| row.mask == mask);
        let at = known.or_else(|| self.masks.iter().position(|row| row.members.is_empty()));
        let row = MaskRow { mask, members: BTreeSet::new() };
        match at {
            Some(at) if known.is_none() => self.masks[at] = row,
            Some(_) => {}
            None => self.masks.push(row),
        }
        super::slab::number(at.unwrap_or(self.masks.len() - 1))
    }

    /// Files the argument that was added last.
    pub(super) fn file(&mut self, mask: u32, argument: &[u8], granule: u32) {
        if let Some(row) = self.masks.get_mut(mask as usize) {
            row.members.insert(granule);
        } else if let Some(ordered) = &mut self.ordered
            && granule < ordered.until
        {
            ordered.arguments.insert((order(argument), granule));
        }
    }

    pub(super) fn forget(&mut self, mask: u32, argument: &[u8], granule: u32) {
        self.granules -= 1;
        if let Some(row) = self.masks.get_mut(mask as usize) {
            row.members.remove(&granule);
            while self.masks.last().is_some_and(|row| row.members.is_empty()) {
                self.masks.pop();
            }
        } else if let Some(ordered) = &mut self.ordered {
            ordered.arguments.remove(&(order(argument), granule));
        }
    }
}

/// The first sixteen characters as a number that sorts as they do.
pub(super) fn order(argument: &[u8]) -> u128 {
    let mut start = [0; 16];
    let length = argument.len().min(16);
    start[..length].copy_from_slice(&argument[..length]);
    u128::from_be_bytes(start)
}

/// The largest [`order`] of an argument that starts with `start`.
pub(super) fn order_end(start: &[u8]) -> u128 {
    let mut end = [u8::MAX; 16];
    let length = start.len().min(16);
    end[..length].copy_from_slice(&start[..length]);
    u128::from_be_bytes(end)
}

/// The names in use, and where each is.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) rows: Slab<Name>,
    index: Index,
    hash: DefaultHashBuilder,
    /// The one that was found last, which is most often asked for again; or [`NONE`].
    last: Cell<u32>,
}

impl Names {
    /// For at most so many names.
    pub(super) fn with_room(rows: u32) -> Self {
        Self {
            rows: Slab::with_room(rows),
            index: Index::with_room(rows),
            hash: DefaultHashBuilder::default(),
            last: Cell::new(NONE),
        }
    }

    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<u32> {
        let last = self.last.get();
        if self.rows.get(last).is_some_and(|row| row.text() == text) {
            return Some(last);
        }
        let found = self.index.find(self.hash_of(text), |row| self.rows[row].text() == text);
        self.last.set(found.unwrap_or(NONE));
        found
    }

    #[inline]
    fn hash_of(&self, text: &[u8]) -> u32 {
        short(self.hash.hash_one(text))
    }

    pub(super) fn find_or_insert(&mut self, text: &[u8]) -> u32 {
        if let Some(index) = self.find(text) {
            return index;
        }
        let row =
            Name { text: text.into(), granules: 0, excluding: 0, masks: Vec::new(), ordered: None };
        let index = self.rows.insert(row);
        self.index.insert(self.hash_of(text), index);
        index
    }

    /// Gives the row back once nothing is locked under the name. The last names are kept: a name
    /// whose only lock comes and goes would be made anew for each.
    pub(super) fn release(&mut self, index: u32) {
        const KEPT: u32 = 1024;
        if self.rows[index].granules > 0 || self.rows.used() <= KEPT {
            return;
        }
        self.index.remove(self.hash_of(self.rows[index].text()), index);
        self.last.set(NONE);
        let row = &mut self.rows[index];
        (row.text, row.ordered) = (Box::default(), None);
        self.rows.free(index);
    }

    pub(super) fn allocated(&self) -> usize {
        self.rows.allocated() + self.index.allocated()
    }
}
