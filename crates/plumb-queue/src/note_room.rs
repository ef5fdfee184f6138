//! Room for executions that are noted: what a store does not take in time is left out.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Message, Settled};

/// Executions that wait to be noted, at most, and bytes of them: whoever calls waits for none, so
/// that a disk that is slower than the calls would fill the memory with their documents.
const NOTES_MAX: u64 = 16_384;
const NOTED_BYTES_MAX: u64 = 64 << 20;

/// What waits to be noted.
#[derive(Debug)]
pub(super) struct NoteRoom {
    most: u64,
    notes: AtomicU64,
    bytes: AtomicU64,
    left_out: AtomicU64,
}

impl Default for NoteRoom {
    fn default() -> Self {
        Self::of(NOTES_MAX)
    }
}

impl NoteRoom {
    /// Room for `most` notes.
    pub(super) fn of(most: u64) -> Self {
        let (notes, bytes, left_out) = Default::default();
        Self { most, notes, bytes, left_out }
    }

    /// Takes `bytes` in; false when there is no room, which is counted. One that is alone is taken
    /// whatever its size.
    pub(super) fn enter(&self, bytes: u64) -> bool {
        let notes = self.notes.fetch_add(1, Ordering::SeqCst);
        let before = self.bytes.fetch_add(bytes, Ordering::SeqCst);
        let fits = notes < self.most && before.saturating_add(bytes) <= NOTED_BYTES_MAX;
        if notes == 0 || fits {
            return true;
        }
        self.leave(bytes);
        self.left_out.fetch_add(1, Ordering::SeqCst);
        false
    }

    /// One of so many `bytes` does not wait any more.
    pub(super) fn leave(&self, bytes: u64) {
        self.notes.fetch_sub(1, Ordering::SeqCst);
        self.bytes.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// How many were left out so far.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::SeqCst)
    }
}

/// Bytes of what is to be noted.
pub(super) fn noted_bytes(message: &Message, settled: &Settled) -> u64 {
    let trace = settled.kept.as_ref().map_or(0, |kept| kept.trace.len());
    let parameters = message.parameters.iter().map(|(name, value)| name.len() + value.len());
    (message.body.len() + trace + parameters.sum::<usize>()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_counted_and_one_alone_always_has() {
        let room = NoteRoom::of(3);
        assert!(room.enter(NOTED_BYTES_MAX + 1));
        assert!(!room.enter(1) && !room.enter(0));
        room.leave(NOTED_BYTES_MAX + 1);
        assert!(room.enter(NOTED_BYTES_MAX - 1) && room.enter(1) && room.enter(0));
        assert!(!room.enter(0));
        room.leave(1);
        assert!(room.enter(1));
        assert_eq!(room.left_out(), 3);
    }
}
