//! How full the table is, and who filled it.

use std::collections::VecDeque;

/// Overflows that are remembered.
pub const OVERFLOWS_KEPT: usize = 10;
/// Holders named for each overflow.
pub const TOP_HOLDERS: usize = 3;
/// Rows of each kind that one KiB of table size holds.
///
/// One owner, one argument and one lock never need more than 512 bytes together, with the longest
/// texts.
pub const ROWS_PER_KIB: u64 = 2;

/// How large the table may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Owners, arguments and locks: each at most so many.
    pub rows: u32,
    /// Arguments that one request with wildcards may look at; beyond that it is refused.
    pub scan: u64,
}

impl Limits {
    /// The limits of a table of so many KiB.
    #[must_use]
    pub fn of_kib(kib: u64) -> Self {
        let rows = u32::try_from(kib.saturating_mul(ROWS_PER_KIB)).unwrap_or(u32::MAX >> 1);
        Self { rows: rows.min(u32::MAX >> 1), scan: 1_000_000 }
    }
}

/// Rows of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauge {
    /// In use.
    pub actual: u32,
    /// The most there ever were in use.
    pub peak: u32,
    /// The most there may be.
    pub maximum: u32,
}

impl Gauge {
    pub(super) fn see(&mut self, actual: u32) {
        self.actual = actual;
        self.peak = self.peak.max(actual);
    }
}

/// The three parts of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Owners.
    pub owners: Gauge,
    /// Arguments.
    pub arguments: Gauge,
    /// Locks.
    pub locks: Gauge,
}

/// A part of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TablePart {
    /// Owners.
    Owners,
    /// Arguments.
    Arguments,
    /// Locks.
    Locks,
}

impl TablePart {
    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Owners => "owners",
            Self::Arguments => "arguments",
            Self::Locks => "locks",
        }
    }
}

/// Someone, or something, and how many locks that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The owner; or the name, a space and the argument.
    pub text: Vec<u8>,
    /// Locks.
    pub locks: u32,
}

/// The table was full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// Overflows so far, this one included.
    pub number: u64,
    /// When, milliseconds since 1970, by the request that met it last.
    pub at_ms: u64,
    /// What had no room.
    pub part: TablePart,
    /// The owners that held most, the largest first; of a large table they come a moment later.
    pub owners: Vec<Holder>,
    /// The arguments that were held most, the largest first.
    pub arguments: Vec<Holder>,
}

/// The last overflows.
#[derive(Clone, Debug, Default)]
pub(super) struct Overflows {
    pub(super) count: u64,
    pub(super) last: VecDeque<Overflow>,
    /// Locks that have to go before the holders are looked for again: a client that meets a full
    /// table again and again must not make the server search it again and again.
    pub(super) rest: u32,
}

impl Overflows {
    pub(super) fn push(&mut self, overflow: Overflow) {
        if self.last.len() == OVERFLOWS_KEPT {
            self.last.pop_front();
        }
        self.last.push_back(overflow);
    }
}

/// The largest holders that were seen, by number of locks; of equal ones the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Top {
    pub(super) holders: Vec<Holder>,
}

impl Top {
    /// One more, whose text is asked for when it is among the largest.
    pub(super) fn see(&mut self, locks: u32, text: impl FnOnce() -> Vec<u8>) {
        let at = self.holders.partition_point(|other| other.locks >= locks);
        if at < TOP_HOLDERS {
            self.holders.insert(at, Holder { text: text(), locks });
            self.holders.truncate(TOP_HOLDERS);
        }
    }
}
