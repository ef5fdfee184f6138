//! Rows with numbers that stay the same while a row lives.

use std::ops::{Index, IndexMut};

/// Stands for no row.
pub(super) const NONE: u32 = u32::MAX;

/// Rows by number; the number of a freed row is given out again.
#[derive(Debug)]
pub(super) struct Slab<T> {
    rows: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// For at most so many rows. Their addresses are set aside, so that no row ever moves: memory
    /// is taken as they are used. Where a system gives no addresses in advance, rows move when
    /// they become more.
    pub(super) fn with_room(most: u32) -> Self {
        const ASIDE_MAX: u32 = 1 << 26;
        let most = most.min(ASIDE_MAX) as usize;
        let (mut rows, mut free) = (Vec::new(), Vec::new());
        let _ = rows.try_reserve_exact(most).and_then(|()| free.try_reserve_exact(most));
        Self { rows, free }
    }

    /// Rows in use.
    pub(super) fn used(&self) -> u32 {
        number(self.rows.len() - self.free.len())
    }

    /// Rows in use or freed: numbers are below this.
    pub(super) fn end(&self) -> u32 {
        number(self.rows.len())
    }

    pub(super) fn insert(&mut self, row: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.rows[index as usize] = row;
                index
            }
            None => {
                self.rows.push(row);
                self.end() - 1
            }
        }
    }

    /// The caller sees to it that a freed row is known as such by its own content.
    pub(super) fn free(&mut self, index: u32) {
        self.free.push(index);
    }

    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.rows.get(index as usize)
    }

    /// Bytes that were taken, whether still in use or not.
    pub(super) fn allocated(&self) -> usize {
        self.rows.len() * size_of::<T>() + self.free.len() * size_of::<u32>()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a table has fewer than 2^32 rows")]
pub(super) fn number(count: usize) -> u32 {
    assert!(count < NONE as usize);
    count as u32
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.rows[index as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.rows[index as usize]
    }
}
