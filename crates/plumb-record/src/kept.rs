//! The bytes of a body that are kept while it passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that all bodies may keep at one time, those that wait to be written included.
const ALL_BYTES_MAX: usize = 256 << 20;

/// What all bodies keep together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
    taken: Arc<AtomicUsize>,
}

/// A body: how long it was, and its bytes as long as there was room for them.
#[derive(Debug)]
pub(crate) struct Kept {
    room: Room,
    limit: usize,
    bytes: Vec<u8>,
    /// Bytes of the whole body.
    length: u64,
    omitted: Option<&'static str>,
}

impl Kept {
    /// An empty body of which at most `limit` bytes are kept.
    pub(crate) fn new(room: &Room, limit: usize) -> Self {
        Self { room: room.clone(), limit, bytes: Vec::new(), length: 0, omitted: None }
    }

    /// Goes on with `bytes`.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.omitted.is_some() {
            return;
        }
        if self.bytes.len() + bytes.len() > self.limit {
            self.omit("longer than --keep-body");
        } else if !self.room.take(bytes.len()) {
            self.omit("too many bodies under way at the same time");
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Bytes of the whole body.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The whole body.
    ///
    /// # Errors
    /// Why it was not kept.
    pub(crate) fn bytes(&self) -> Result<&[u8], &'static str> {
        self.omitted.map_or(Ok(self.bytes.as_slice()), Err)
    }

    fn omit(&mut self, why: &'static str) {
        self.omitted = Some(why);
        self.room.leave(self.bytes.len());
        self.bytes = Vec::new();
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.room.leave(self.bytes.len());
    }
}

impl Room {
    fn take(&self, bytes: usize) -> bool {
        let room = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= ALL_BYTES_MAX);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok()
    }

    fn leave(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_kept_as_a_whole_or_not_at_all() {
        let room = Room::default();
        let mut kept = Kept::new(&room, 5);
        kept.push(b"abc");
        assert_eq!((kept.bytes(), kept.length()), (Ok(&b"abc"[..]), 3));
        kept.push(b"def");
        assert_eq!(kept.bytes(), Err("longer than --keep-body"));
        kept.push(b"g");
        assert_eq!((kept.length(), room.taken.load(Ordering::Relaxed)), (7, 0));
    }

    #[test]
    fn all_bodies_together_have_a_limit() {
        let room = Room::default();
        let mut first = Kept::new(&room, usize::MAX);
        first.push(&vec![0; ALL_BYTES_MAX - 1]);
        let mut second = Kept::new(&room, usize::MAX);
        second.push(b"ab");
        assert_eq!(second.bytes(), Err("too many bodies under way at the same time"));
        drop(first);
        let mut third = Kept::new(&room, usize::MAX);
        third.push(b"ab");
        assert_eq!(third.bytes(), Ok(&b"ab"[..]));
        drop(third);
        assert_eq!(room.taken.load(Ordering::Relaxed), 0);
    }
}
