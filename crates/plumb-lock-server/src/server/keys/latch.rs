//! Answers of releases that a client may repeat: it then gets the same answer, and nothing is
//! released twice.
//!
//! They outlive no restart. A release that is repeated over one finds its lock a hold lower, or
//! gone, and says so.

use hashbrown::HashMap;

/// Answers that are remembered; beyond them new ones are not.
const KEPT_MAX: usize = 10_000;
/// The longest name, bytes: that of a key and what a client puts around it.
const NAME_BYTES_MAX: usize = 400;

/// The answers by the names that clients gave them.
#[derive(Debug, Default)]
pub(in crate::server) struct Latches {
    by_name: HashMap<Vec<u8>, Latch>,
    /// Before this moment none is over, nanoseconds; looked at when there is no room.
    over_from: u64,
}

#[derive(Clone, Copy, Debug)]
struct Latch {
    answer: u64,
    /// It is forgotten then, nanoseconds.
    until: u64,
}

impl Latches {
    /// What was answered under this name, at `now`.
    pub(super) fn answer(&self, name: &[u8], now: u64) -> Option<u64> {
        self.by_name.get(name).filter(|latch| latch.until > now).map(|latch| latch.answer)
    }

    /// Remembers an answer until then.
    pub(super) fn remember(&mut self, name: &[u8], answer: u64, (now, until): (u64, u64)) {
        if self.by_name.len() >= KEPT_MAX && now >= self.over_from {
            self.by_name.retain(|_, latch| latch.until > now);
            self.over_from = self.by_name.values().map(|latch| latch.until).min().unwrap_or(0);
        }
        if self.by_name.len() < KEPT_MAX && name.len() <= NAME_BYTES_MAX {
            self.over_from = self.over_from.min(until);
            self.by_name.insert(name.to_vec(), Latch { answer, until });
        }
    }

    /// The client has read the answer; false when there is none of this name.
    pub(super) fn forget(&mut self, name: &[u8]) -> bool {
        !self.by_name.is_empty() && self.by_name.remove(name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_remembered_for_a_time_and_until_it_was_read() {
        let mut latches = Latches::default();
        latches.remember(b"a", 1, (0, 10));
        assert_eq!(latches.answer(b"a", 9), Some(1));
        assert_eq!(latches.answer(b"a", 10), None);
        latches.remember(b"b", 0, (0, 10));
        assert!(latches.forget(b"b") && !latches.forget(b"b"));
        assert_eq!(latches.answer(b"b", 0), None);
    }

    #[test]
    fn no_more_are_kept_than_there_is_room_for() {
        let mut latches = Latches::default();
        for number in 0..=KEPT_MAX {
            latches.remember(&number.to_le_bytes(), 1, (0, 10));
        }
        assert_eq!(latches.by_name.len(), KEPT_MAX);
        latches.remember(b"late", 1, (10, 20)); // what is over makes room
        assert_eq!(latches.answer(b"late", 10), Some(1));
        assert_eq!(latches.by_name.len(), 1);
    }
}
