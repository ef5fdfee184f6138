//! Where rows are, by their hash.

use hashbrown::HashTable;

/// Rows that one part holds on average when the table is full.
const PART_ROWS: u32 = 4_096;
/// Parts of the largest index.
const PARTS_MAX: u32 = 1 << 14;

/// Where a row is. With its hash beside it, an index that grows reads no rows.
#[derive(Clone, Copy, Debug)]
struct Slot {
    row: u32,
    hash: u32,
}

/// An index in parts. Each grows by itself, so that no insertion moves more than one part:
/// everybody waits while it does.
#[derive(Debug)]
pub(super) struct Index {
    parts: Box<[HashTable<Slot>]>,
    /// The highest bits of a hash say in which part it is; so many.
    bits: u32,
}

impl Index {
    /// An empty index for at most so many rows.
    pub(super) fn with_room(rows: u32) -> Self {
        let parts = (rows / PART_ROWS).clamp(1, PARTS_MAX).next_power_of_two();
        let bits = parts.trailing_zeros();
        Self { parts: (0..parts).map(|_| HashTable::new()).collect(), bits }
    }

    #[inline]
    fn part(&self, hash: u32) -> usize {
        // of 64 bits none is lost
        usize::try_from((u64::from(hash) << self.bits) >> u32::BITS).unwrap_or(0)
    }

    /// The row of this hash that is the `same`.
    #[inline]
    pub(super) fn find(&self, hash: u32, same: impl Fn(u32) -> bool) -> Option<u32> {
        let same = |slot: &Slot| slot.hash == hash && same(slot.row);
        self.parts[self.part(hash)].find(spread(hash), same).map(|slot| slot.row)
    }

    /// Adds a row that is not there yet.
    #[inline]
    pub(super) fn insert(&mut self, hash: u32, row: u32) {
        let part = self.part(hash);
        let moved = |slot: &Slot| spread(slot.hash);
        self.parts[part].insert_unique(spread(hash), Slot { row, hash }, moved);
    }

    /// Takes a row out, if it is there.
    #[inline]
    pub(super) fn remove(&mut self, hash: u32, row: u32) {
        let part = self.part(hash);
        if let Ok(found) = self.parts[part].find_entry(spread(hash), |slot| slot.row == row) {
            found.remove();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(HashTable::len).sum()
    }

    pub(super) fn allocated(&self) -> usize {
        self.parts.iter().map(HashTable::allocation_size).sum()
    }
}

/// The half of a hash that an index keeps.
#[inline]
pub(super) fn short(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or(0) // it has 32 bits
}

/// A hash as a part wants it: it looks at the highest bits and at the lowest.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_and_no_part_grows_beyond_its_share() {
        const ROWS: u32 = 1 << 20;
        let mut index = Index::with_room(ROWS);
        let hash_of = |row: u32| row.wrapping_mul(0x9e37_79b9); // each once
        for row in 0..ROWS {
            index.insert(hash_of(row), row);
        }
        for row in (0..ROWS).step_by(101) {
            assert_eq!(index.find(hash_of(row), |it| it == row), Some(row));
            assert_eq!(index.find(hash_of(row) ^ 1, |it| it == row), None);
            index.remove(hash_of(row), row);
            assert_eq!(index.find(hash_of(row), |it| it == row), None);
        }
        assert_eq!(index.len(), (ROWS - ROWS.div_ceil(101)) as usize);
        let largest = index.parts.iter().map(HashTable::len).max();
        assert!(largest.is_some_and(|rows| rows < 2 * PART_ROWS as usize), "{largest:?}");
    }

    #[test]
    fn a_small_table_has_one_part() {
        let mut index = Index::with_room(3);
        index.insert(u32::MAX, 7);
        assert_eq!(index.find(u32::MAX, |row| row == 7), Some(7));
    }
}
