//! One operation under way, and its moments.

use plumb_measure::Moments;

use crate::protocol::Op;

/// A moment on the clock of the run, nanoseconds, or none yet; in eight bytes, because what a
/// connection touches for every message should stay small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) const NONE: Self = Self(u64::MAX);

    pub(crate) fn at(ns: u64) -> Self {
        Self(ns)
    }

    pub(crate) fn get(self) -> Option<u64> {
        (self != Self::NONE).then_some(self.0)
    }
}

impl From<Option<u64>> for Moment {
    fn from(at: Option<u64>) -> Self {
        at.map_or(Self::NONE, Self)
    }
}

/// An operation under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    pub(crate) op: Op,
    /// It began within the recorded part of the run.
    pub(crate) counts: bool,
    /// When it should have begun; none: when it was sent.
    pub(crate) due: Moment,
    /// None until its bytes are handed to the kernel.
    pub(crate) sent: Moment,
    /// None until the first bytes of its answer have come.
    pub(crate) first: Moment,
}

impl Flight {
    /// An operation whose request is not sent yet.
    #[inline]
    pub(crate) fn new(op: Op, counts: bool, due: Option<u64>) -> Self {
        Self { op, counts, due: due.into(), sent: Moment::NONE, first: Moment::NONE }
    }

    /// Since when somebody waits for it, as far as it is known.
    pub(crate) fn since(&self) -> Option<u64> {
        self.due.get().or(self.sent.get())
    }

    /// True when somebody has waited for it for `limit_ns` at `now`.
    pub(crate) fn is_overdue(&self, now: u64, limit_ns: u64) -> bool {
        self.since().is_some_and(|since| now >= since.saturating_add(limit_ns))
    }

    /// The moments of an operation whose last byte came at `last`.
    #[inline]
    pub(crate) fn moments(&self, last: u64) -> Moments {
        let sent = self.sent.get().unwrap_or(last);
        let first = self.first.get().unwrap_or(last);
        Moments { due: self.due.get().unwrap_or(sent), sent, first, last }
    }
}
