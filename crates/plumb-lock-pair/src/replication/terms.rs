//! What primary and replica agree on: who may follow, how it makes itself known, how far it is.

use super::VERSION;

/// What is done while no replica has everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Without {
    /// Go on alone, and say so.
    #[default]
    Continue,
    /// Tell nobody of anything.
    Stop,
}

/// What a primary is told once.
#[derive(Clone, Copy, Debug)]
pub struct PrimaryPlan {
    /// What it does without a replica.
    pub without: Without,
    /// A replica that is silent for so long is away, nanoseconds.
    pub timeout_ns: u64,
    /// How often the replica is asked whether it is there, nanoseconds.
    pub ping_ns: u64,
    /// Bytes of batches that are kept for a replica that comes back.
    pub backlog_bytes: u64,
    /// Rows of its table.
    pub rows: u32,
}

/// How a replica makes itself known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The version of replication it speaks.
    pub version: u64,
    /// Rows of its table.
    pub rows: u64,
    /// A number of its own, so that it is known again.
    pub id: u64,
    /// The epoch of the locks that it has; 0: it has none, or a part of them;
    /// [`UNDECIDED`](Self::UNDECIDED).
    pub epoch: u64,
    /// The stream it was at; 0: none.
    pub stream: u64,
    /// The position it was at, bytes.
    pub position: u64,
}

impl Hello {
    /// The epoch that is said of locks that this server gave out itself, or may have lost, under one that
    /// nobody decided for: older than any that somebody did.
    pub const UNDECIDED: u64 = 1;
}

/// Why a replica is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It speaks another version.
    #[error(
        "the replica speaks version {0} of replication and this server version {VERSION}: run the \
         same release of plumb on both"
    )]
    Version(u64),
    /// Its table has another size.
    #[error(
        "the replica's table has {theirs} rows and this server's {ours}: give both the same \
         --table-size"
    )]
    Rows {
        /// Of the replica.
        theirs: u64,
        /// Of the primary.
        ours: u32,
    },
    /// It has locks of an epoch of which some may be missing at the primary.
    #[error(
        "the replica has locks of epoch {theirs}, which may be missing here, under epoch {ours}: \
         promote the replica, by force where it is not in sync, and start this server with \
         --replica-of it; or promote this server by force and start the replica again: what only \
         that one has is lost then"
    )]
    Lacks {
        /// Of the replica.
        theirs: u64,
        /// Of the primary.
        ours: u64,
    },
    /// It gave out locks by itself, or its journal lost something, and nobody decided for an epoch of either of the two.
    #[error(
        "the replica has locks that it gave out itself, or may have lost some, and this server, under \
         epoch {0}, has none of them: start that one without --replica-of, and this one with --replica-of it; or promote \
         this server by force and start the replica again: what only that one has is lost then"
    )]
    Undecided(u64),
    /// There is another one.
    #[error("another replica follows already, and one is the most: stop that one first")]
    Another,
}

/// What a replica that was taken begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// It has what it needs to go on.
    GoesOn,
    /// It gets everything.
    Snapshot,
}

/// How it is with the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// None has ever been here.
    None,
    /// It is away: replication is suspended.
    Suspended,
    /// It is being given everything.
    Filling,
    /// It has everything but the last changes; clients wait for it already.
    Joining,
    /// It has whatever anybody was told of.
    InSync,
}

impl State {
    /// The state, in a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Suspended => "suspended",
            Self::Filling => "filling",
            Self::Joining => "joining",
            Self::InSync => "in-sync",
        }
    }
}
