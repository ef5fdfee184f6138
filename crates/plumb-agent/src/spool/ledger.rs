//! What an agent has made, and where all of it is.

use super::{Put, SpoolLimits, WhenFull};
use crate::change::Position;

/// Messages of one queue of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    /// How many.
    pub messages: u64,
    /// Changes in them.
    pub changes: u64,
    /// Bytes of their documents.
    pub bytes: u64,
}

impl Stock {
    pub(super) fn add(&mut self, changes: u64, bytes: u64) {
        self.messages += 1;
        self.changes += changes;
        self.bytes += bytes;
    }

    pub(super) fn remove(&mut self, changes: u64, bytes: u64) {
        self.messages = self.messages.saturating_sub(1);
        self.changes = self.changes.saturating_sub(changes);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// The ledger of an agent: each change that was made has a number, and is delivered, in one of three
/// queues, dropped, or deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The agent.
    pub name: String,
    /// Changes that its source brought.
    pub seen: u64,
    /// Changes that the source is known to have lost.
    pub never_seen: u64,
    /// Changes that were made for delivery: the number of the last one.
    pub produced: u64,
    /// Changes that the other side has confirmed.
    pub delivered: u64,
    /// Messages that the other side has confirmed.
    pub delivered_messages: u64,
    /// Changes for which there was no room.
    pub dropped: u64,
    /// Changes that somebody deleted.
    pub deleted: u64,
    /// What waits to be sent.
    pub main: Stock,
    /// What failed for the last time.
    pub failed: Stock,
    /// What was not delivered in its time.
    pub expired: Stock,
    /// Where the source goes on.
    pub position: Position,
}

impl Ledger {
    /// Changes in the spool.
    #[must_use]
    pub fn in_spool(&self) -> u64 {
        self.main.changes + self.failed.changes + self.expired.changes
    }

    /// True when everything that was made is somewhere.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.produced == self.delivered + self.in_spool() + self.dropped + self.deleted
    }

    /// Messages in the spool.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.main.messages + self.failed.messages + self.expired.messages
    }

    /// Bytes in the spool.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.main.bytes + self.failed.bytes + self.expired.bytes
    }
}

impl SpoolLimits {
    /// Whether a put is kept or dropped; `None` when it has to wait.
    pub(super) fn judge(&self, ledger: &Ledger, put: &Put) -> Option<bool> {
        let Some(bundle) = &put.bundle else { return Some(true) };
        let bytes = ledger.bytes() + bundle.body.len() as u64;
        // one that is larger than all the room is taken into an empty spool
        let fits =
            ledger.messages() < self.messages && (bytes <= self.bytes || ledger.messages() == 0);
        match (fits, self.when_full) {
            (true, _) => Some(true),
            (false, WhenFull::Drop) => Some(false),
            (false, WhenFull::Wait) => None,
        }
    }
}
