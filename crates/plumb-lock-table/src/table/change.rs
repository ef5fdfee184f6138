//! Changes of the table as records: for a journal, a copy, or a replica.

use super::Held;
use super::request::Scope;

/// A lock, as it stands in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock<'a> {
    /// Who holds it.
    pub owner: &'a [u8],
    /// On whose behalf.
    pub user: &'a [u8],
    /// When the owner got its first lock, milliseconds since 1970.
    pub since_ms: u64,
    /// The name of the lock.
    pub name: &'a [u8],
    /// Its argument.
    pub argument: &'a [u8],
    /// How it is held.
    pub mode: Held,
    /// How often the dialog owner holds it.
    pub dialog: u16,
    /// How often the update owner holds it.
    pub update: u16,
    /// True once an update has inherited it.
    pub backup: bool,
    /// The fence number of its grant.
    pub fence: u64,
}

/// One change. Applied to the same table in the same order, changes give the same table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The lock of this owner, name, argument and mode now stands so; with both counters zero it
    /// is gone.
    Lock(Lock<'a>),
    /// The owner's counters of this scope are zero, whatever they were.
    Cleared {
        /// The owner.
        owner: &'a [u8],
        /// Which counters.
        scope: Scope,
        /// True when a lock that an update had inherited was among them.
        backup: bool,
    },
}

/// Takes note of changes, in their order.
pub trait Changes {
    /// One change has been made.
    fn note(&mut self, change: Change<'_>);

    /// False when nothing is done with what is noted: then it need not be.
    fn listens(&self) -> bool {
        true
    }
}

/// Takes no note.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unnoted;

impl Changes for Unnoted {
    #[inline]
    fn note(&mut self, _: Change<'_>) {}

    #[inline]
    fn listens(&self) -> bool {
        false
    }
}

/// Why a change cannot be applied: it was not made by a table like this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// The table is too small for it.
    #[error("the table is too small for it; give it at least the size it had")]
    Full,
    /// A text is longer than a table takes.
    #[error("a name, an argument, an owner or a user in it is too long")]
    TooLong,
}
