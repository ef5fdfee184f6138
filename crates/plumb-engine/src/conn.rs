//! One connection of a load: its channel, its user, and the operations under way.

use std::collections::VecDeque;

use crate::channel::Channel;
use crate::protocol::{Op, Protocol};
use crate::timer::Wake;

/// An operation under way. Times are nanoseconds on the clock of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) op: Op,
    /// It began within the recorded part of the run.
    pub(crate) counts: bool,
    /// When it should have begun; `None`: when it was sent.
    pub(crate) due: Option<u64>,
    /// `None` until its bytes are handed to the kernel.
    pub(crate) sent: Option<u64>,
    /// `None` until the first bytes of its answer have come.
    pub(crate) first: Option<u64>,
}

/// What a connection is doing.
#[derive(Debug)]
pub(crate) enum Phase<L> {
    /// Not there; tried again at `retry_at`.
    Down { retry_at: u64 },
    /// On its way since `since`.
    Connecting { channel: Channel<L>, since: u64 },
    /// The transport's handshake runs since `since`.
    Handshaking { channel: Channel<L>, since: u64 },
    /// The protocol's unrecorded start runs since `since`.
    Greeting { channel: Channel<L>, since: u64 },
    /// In use.
    Open { channel: Channel<L> },
    /// Its user is done.
    Finished,
}

impl<L> Phase<L> {
    pub(crate) fn channel(&mut self) -> Option<&mut Channel<L>> {
        match self {
            Self::Connecting { channel, .. }
            | Self::Handshaking { channel, .. }
            | Self::Greeting { channel, .. }
            | Self::Open { channel } => Some(channel),
            Self::Down { .. } | Self::Finished => None,
        }
    }
}

/// One connection of a load, through all its lives.
#[derive(Debug)]
pub(crate) struct Conn<P: Protocol, L> {
    pub(crate) user: P::User,
    pub(crate) wire: P::Wire,
    pub(crate) phase: Phase<L>,
    pub(crate) flights: VecDeque<Flight>,
    /// The user does nothing before this; the next operation is then due.
    pub(crate) resume_at: Option<u64>,
    /// Tells events of this life from those of an earlier one.
    pub(crate) generation: u32,
    /// Lives since one in which an operation succeeded.
    pub(crate) attempts: u32,
    pub(crate) wake: Wake,
    /// Stands in the queue of free connections.
    pub(crate) queued: bool,
}

/// The first wait after a failed attempt; it doubles up to [`BACKOFF_MAX_NS`].
const BACKOFF_NS: u64 = 10_000_000;
const BACKOFF_MAX_NS: u64 = 1_000_000_000;

impl<P: Protocol, L> Conn<P, L> {
    pub(crate) fn new(user: P::User) -> Self {
        Self {
            user,
            wire: P::Wire::default(),
            phase: Phase::Down { retry_at: 0 },
            flights: VecDeque::new(),
            resume_at: None,
            generation: 0,
            attempts: 0,
            wake: Wake::default(),
            queued: false,
        }
    }

    pub(crate) fn open(&self) -> bool {
        matches!(self.phase, Phase::Open { .. })
    }

    /// How long to wait before the next attempt: nothing after a connection that had worked.
    pub(crate) fn backoff_ns(&self) -> u64 {
        match self.attempts {
            0 => 0,
            n => (BACKOFF_NS << (n - 1).min(10)).min(BACKOFF_MAX_NS),
        }
    }

    /// The next moment at which something must happen even if the other side stays silent.
    pub(crate) fn deadline(&self, connect_ns: u64, operation_ns: u64) -> Option<u64> {
        match &self.phase {
            Phase::Down { retry_at } => Some(*retry_at),
            Phase::Connecting { since, .. }
            | Phase::Handshaking { since, .. }
            | Phase::Greeting { since, .. } => Some(since + connect_ns),
            Phase::Open { .. } => {
                let oldest = self.flights.front().and_then(|flight| flight.sent);
                let overdue = oldest.map(|sent| sent + operation_ns);
                [overdue, self.resume_at].into_iter().flatten().min()
            }
            Phase::Finished => None,
        }
    }
}
