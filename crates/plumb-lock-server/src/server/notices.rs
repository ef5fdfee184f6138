//! What clients are told without asking again: that locks were lost, or that one could be had.
//!
//! | channel | message |
//! |---|---|
//! | `lock:lost:OWNER` | why, and how many locks: `expired 2`, `connection 2`, `removed 2` |
//! | `lock:free:NAME:ARGUMENT` | `free`: nobody holds a lock on exactly this argument |
//! | `lock:events` | every loss, with its owner behind it |

use hashbrown::HashMap;
use plumb_lock_table::journal::Notes;
use plumb_lock_table::table::{Change, Changes, LockId, Rules};
use plumb_measure::Clock;

use super::LockServer;

const LOST: &[u8] = b"lock:lost:";
const FREE: &[u8] = b"lock:free:";
/// Every loss.
pub(super) const EVENTS: &[u8] = b"lock:events";

/// Why locks were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Their time was over.
    Expired,
    /// The connection of their owner ended.
    Connection,
    /// An administrator removed them.
    Removed,
}

impl Loss {
    fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Connection => "connection",
            Self::Removed => "removed",
        }
    }
}

/// Locks whose end somebody wants to hear of, with the channels of their arguments.
#[derive(Debug, Default)]
pub(super) struct Awaited(HashMap<LockId, Vec<u8>>);

/// Takes notes, and whose locks they end.
pub(super) struct Ends<'a> {
    pub(super) notes: &'a mut Notes,
    pub(super) owners: Vec<Vec<u8>>,
}

impl Changes for Ends<'_> {
    fn note(&mut self, change: Change<'_>) {
        self.notes.note(change);
        match change {
            Change::Lock(lock) if (lock.dialog, lock.update) == (0, 0) => {
                self.owners.push(lock.owner.to_vec());
            }
            Change::Lock(_) | Change::Cleared { .. } => {}
        }
    }
}

/// What a channel is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About<'a> {
    /// That a lock could be had.
    Lock { name: &'a [u8], argument: &'a [u8] },
    /// What an owner, or any, has lost.
    Losses,
    /// What clients say there.
    Other,
}

/// What a channel of this name is about.
pub(super) fn about(channel: &[u8]) -> About<'_> {
    if channel == EVENTS || channel.starts_with(LOST) {
        return About::Losses;
    }
    let rest = channel.strip_prefix(FREE).unwrap_or_default();
    match rest.iter().position(|byte| *byte == b':') {
        Some(colon) => About::Lock { name: &rest[..colon], argument: &rest[colon + 1..] },
        None => About::Other,
    }
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// An owner has lost locks.
    pub(super) fn tell_loss(&mut self, owner: &[u8], loss: Loss, locks: u32) {
        if locks == 0 || !self.channels.any_listens() {
            return;
        }
        let message = format!("{} {locks}", loss.name());
        self.publish(&[LOST, owner].concat(), message.as_bytes());
        self.publish(EVENTS, &[message.as_bytes(), b" ", owner].concat());
    }

    /// Each of these owners has lost a lock, as often as it is named.
    pub(super) fn tell_losses(&mut self, mut owners: Vec<Vec<u8>>, loss: Loss) {
        owners.sort_unstable();
        while let Some(owner) = owners.pop() {
            let others = owners.iter().rev().take_while(|other| **other == owner).count();
            owners.truncate(owners.len() - others);
            self.tell_loss(&owner, loss, u32::try_from(others + 1).unwrap_or(u32::MAX));
        }
    }

    /// Somebody listens to a channel from now on: what it is about may be free already.
    pub(super) fn begin_to_await(&mut self, channel: &[u8]) {
        let About::Lock { name, argument } = about(channel) else {
            return;
        };
        match self.table.holder(name, argument) {
            Some((lock, _)) => {
                self.table.watch(lock);
                self.awaited.0.insert(lock, channel.to_vec());
            }
            None => self.publish(channel, b"free"),
        }
    }

    /// A request was refused by a lock: whoever listens for it is told when that ends.
    pub(super) fn await_after_refusal(&mut self, lock: LockId) {
        if !self.channels.any_listens() {
            return;
        }
        let Some(held) = self.table.by_id(lock) else {
            return;
        };
        let channel = [FREE, held.name, b":", held.argument].concat();
        if self.channels.is_listened_to(&channel) {
            self.begin_to_await(&channel);
        }
    }

    /// A lock has ended.
    pub(super) fn tell_end(&mut self, lock: LockId) {
        if let Some(channel) = self.awaited.0.remove(&lock)
            && self.channels.is_listened_to(&channel)
        {
            self.begin_to_await(&channel); // the next one, or it is free
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_about_a_name_and_an_argument() {
        assert_eq!(about(b"lock:free:T:1:2"), About::Lock { name: b"T", argument: b"1:2" });
        assert_eq!(about(b"lock:free::key"), About::Lock { name: b"", argument: b"key" });
        assert_eq!(about(b"lock:free:T"), About::Other);
        assert_eq!(about(b"redisson_lock__channel:{k}"), About::Other);
        assert_eq!(about(b"lock:lost:a:b"), About::Losses);
        assert_eq!(about(b"lock:events"), About::Losses);
    }
}
