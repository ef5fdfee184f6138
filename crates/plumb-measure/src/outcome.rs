//! How an operation ended: data, not an error.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bounds::{COUNT_MAX, TooMany};
use crate::units::grouped;

/// How one operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answered, and the answer is what was asked for.
    Ok,
    /// Not answered, or answered otherwise than asked for.
    Failed(FailureKind),
    /// Turned away for the moment, in the words that the protocol has for that: whoever asks may
    /// come again. Neither right nor wrong; only of a protocol whose plan allows it.
    Refused,
}

/// The kinds of failure that are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(usize)]
pub enum FailureKind {
    /// Nobody listens there, or the connection was turned away.
    ConnectRefused,
    /// No connection within the connect time-out.
    ConnectTimedOut,
    /// The network has no way there, or another error of `connect`.
    ConnectFailed,
    /// The start of the protocol (login, TLS handshake, preface) failed.
    HandshakeFailed,
    /// The server answered that it will not do it.
    Refused,
    /// The status of the answer is not one that the plan expects.
    UnexpectedStatus,
    /// The answer is not what the protocol or the request demands: wrong bytes, wrong length.
    Garbled,
    /// The head of the answer, or what announces a part of it, has no end within what is read.
    HeadTooLarge,
    /// The content of the answer is longer than the plan allows.
    BodyTooLarge,
    /// No complete answer within the operation time-out.
    TimedOut,
    /// The server closed the connection while an answer was due.
    Closed,
    /// The connection was reset while an answer was due.
    Reset,
    /// A lock is held by somebody else, or what was to be held is not.
    Collided,
    /// The answer is not what a check of the plan demands.
    CheckFailed,
    /// What was to be taken from the answer is not in it.
    NothingExtracted,
    /// The answer was right, but later than the plan allows.
    Late,
    /// The request could not be made: a value is missing, or it leads to another server.
    NotSent,
    /// A datagram, or the one that answers it, did not come within the operation time-out.
    Lost,
    /// The server refused a stream of HTTP/2 before it did anything for it (REFUSED_STREAM).
    StreamRefused,
    /// The server ended a stream of HTTP/2 before its answer was complete.
    StreamReset,
    /// The server ended a connection of HTTP/2 with an error.
    ConnectionError,
    /// The other side sent an answer while none was due: one that came twice, or belongs to nothing.
    /// Its connection was given up.
    Unasked,
}

impl FailureKind {
    /// Every kind, in the order in which reports list them.
    pub const ALL: [Self; 22] = [
        Self::ConnectRefused,
        Self::ConnectTimedOut,
        Self::ConnectFailed,
        Self::HandshakeFailed,
        Self::Refused,
        Self::UnexpectedStatus,
        Self::Garbled,
        Self::HeadTooLarge,
        Self::BodyTooLarge,
        Self::TimedOut,
        Self::Closed,
        Self::Reset,
        Self::Collided,
        Self::CheckFailed,
        Self::NothingExtracted,
        Self::Late,
        Self::NotSent,
        Self::Lost,
        Self::StreamRefused,
        Self::StreamReset,
        Self::ConnectionError,
        Self::Unasked,
    ];

    /// True of a failure that an answer shows; false where none came.
    #[must_use]
    pub fn is_of_an_answer(self) -> bool {
        match self {
            Self::ConnectRefused
            | Self::ConnectTimedOut
            | Self::ConnectFailed
            | Self::HandshakeFailed
            | Self::TimedOut
            | Self::Closed
            | Self::Reset
            | Self::NotSent
            | Self::Lost
            | Self::StreamRefused
            | Self::StreamReset
            | Self::ConnectionError => false,
            Self::Refused
            | Self::UnexpectedStatus
            | Self::Garbled
            | Self::HeadTooLarge
            | Self::BodyTooLarge
            | Self::Collided
            | Self::CheckFailed
            | Self::NothingExtracted
            | Self::Late
            | Self::Unasked => true,
        }
    }

    /// The name in the run record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect-refused",
            Self::ConnectTimedOut => "connect-timed-out",
            Self::ConnectFailed => "connect-failed",
            Self::HandshakeFailed => "handshake-failed",
            Self::Refused => "refused",
            Self::UnexpectedStatus => "unexpected-status",
            Self::Garbled => "garbled",
            Self::HeadTooLarge => "head-too-large",
            Self::BodyTooLarge => "body-too-large",
            Self::TimedOut => "timed-out",
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::Collided => "collided",
            Self::CheckFailed => "check-failed",
            Self::NothingExtracted => "nothing-extracted",
            Self::Late => "late",
            Self::NotSent => "not-sent",
            Self::Lost => "lost",
            Self::StreamRefused => "stream-refused",
            Self::StreamReset => "stream-reset",
            Self::ConnectionError => "connection-error",
            Self::Unasked => "unasked",
        }
    }
}

/// How often each [`FailureKind`] happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<FailureKind, u64>", into = "BTreeMap<FailureKind, u64>")]
pub struct Failures {
    counts: [u64; FailureKind::ALL.len()],
}

impl Failures {
    /// Counts one failure.
    pub fn count(&mut self, kind: FailureKind) {
        self.add(kind, 1);
    }

    /// Counts `n` failures of one kind.
    pub fn add(&mut self, kind: FailureKind, n: u64) {
        self.counts[kind as usize] += n;
    }

    /// How often `kind` happened.
    #[must_use]
    pub fn of(&self, kind: FailureKind) -> u64 {
        self.counts[kind as usize]
    }

    /// How many failures there were of any kind.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// True when nothing failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// The kinds that happened, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (FailureKind, u64)> + '_ {
        FailureKind::ALL.into_iter().map(|kind| (kind, self.of(kind))).filter(|(_, n)| *n > 0)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
    }
}

/// How many of `all` failures were `attempts` to connect, which no operation need have waited for, in words;
/// nothing where none was.
#[must_use]
pub fn attempts_to_connect(attempts: u64, all: u64) -> Option<String> {
    Some(match attempts {
        0 => return None,
        1 if all == 1 => "an attempt to connect".into(),
        1 => "1 of them an attempt to connect".into(),
        _ if attempts == all => "all of them attempts to connect".into(),
        _ => format!("{} of them attempts to connect", grouped(attempts)),
    })
}

impl TryFrom<BTreeMap<FailureKind, u64>> for Failures {
    type Error = TooMany;

    fn try_from(counts: BTreeMap<FailureKind, u64>) -> Result<Self, TooMany> {
        let mut failures = Self::default();
        for (kind, n) in counts {
            if n > COUNT_MAX {
                return Err(TooMany(n));
            }
            failures.counts[kind as usize] = n;
        }
        Ok(failures)
    }
}

impl From<Failures> for BTreeMap<FailureKind, u64> {
    fn from(failures: Failures) -> Self {
        failures.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_stands_at_its_own_place_under_its_own_name() {
        for (place, kind) in FailureKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn merged_counts_add_up() {
        let mut a = Failures::default();
        a.count(FailureKind::TimedOut);
        let mut b = a;
        b.count(FailureKind::Closed);
        a.merge(&b);
        assert_eq!(a.total(), 3);
        let listed: Vec<_> = a.iter().collect();
        assert_eq!(listed, [(FailureKind::TimedOut, 2), (FailureKind::Closed, 1)]);
    }
}
