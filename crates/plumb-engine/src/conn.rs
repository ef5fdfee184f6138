//! One connection of a load: its channel, its user, and the operations under way.

use std::num::NonZeroUsize;

use plumb_socket::Wake;

use crate::channel::Channel;
use crate::flight::{Flight, Moment};
use crate::flights::Flights;
use crate::protocol::Protocol;

/// What a connection is doing.
#[derive(Debug)]
pub(crate) enum Phase<L> {
    /// Not there; tried again at `retry_at`, never while that is `u64::MAX`.
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
    #[inline]
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
///
/// What every message touches stands first, in as few lines of the processor's cache as can be: with hundreds
/// of connections each of them has left the cache by the next message.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Conn<P: Protocol, L> {
    pub(crate) phase: Phase<L>,
    pub(crate) wake: Wake,
    /// The user does nothing before this; the next operation is then due.
    pub(crate) resume_at: Moment,
    /// Tells events of this life from those of an earlier one.
    pub(crate) generation: u32,
    /// Lives since one in which an operation ended.
    pub(crate) attempts: u16,
    /// An operation was answered in this life.
    pub(crate) answered: bool,
    pub(crate) flights: Flights,
    pub(crate) wire: P::Wire,
    /// The number of its user, which is that of the user's own connection too.
    pub(crate) owner: usize,
    /// Where it leads.
    pub(crate) route: u16,
    /// The next connection of the same user.
    pub(crate) beside: Option<NonZeroUsize>,
    /// What waits for the connection to stand, or for other requests that go with it.
    pub(crate) request: Vec<u8>,
    /// Operations that an earlier life of the connection did nothing for.
    pub(crate) unprocessed: Vec<Flight>,
    /// Lives before this one.
    pub(crate) lives: usize,
    /// Stands in the queue of free connections.
    pub(crate) queued: bool,
    pub(crate) script: ScriptState,
}

/// Where a user is in its script; of users without one it stays as it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScriptState {
    /// The user began, or is to begin, at this time, and has no connection yet.
    pub(crate) begins: Moment,
    /// The user takes part.
    pub(crate) here: bool,
    /// The user has come to the end and waits for the next beginning.
    pub(crate) resting: bool,
    /// What is due next waited for a connection, or for a user that is free.
    pub(crate) waited: bool,
}

impl ScriptState {
    /// Of a user that has not begun.
    const NONE: Self = Self { begins: Moment::NONE, here: false, resting: false, waited: false };
}

/// The first wait after two attempts in a row that led to no end of an operation; it doubles up to
/// [`BACKOFF_MAX_NS`], by which an outage of the server can seem longer than it was.
const BACKOFF_NS: u64 = 10_000_000;
const BACKOFF_MAX_NS: u64 = 100_000_000;
/// A hello by datagram is said again after this.
const ASK_AGAIN_NS: u64 = 200_000_000;

impl<P: Protocol, L> Conn<P, L> {
    /// The connection of user `owner` over `route`, which is not there yet.
    pub(crate) fn new(owner: usize, route: u16) -> Self {
        Self {
            phase: Phase::Down { retry_at: 0 },
            wake: Wake::default(),
            resume_at: Moment::NONE,
            generation: 0,
            attempts: 0,
            answered: false,
            flights: Flights::default(),
            wire: P::Wire::default(),
            owner,
            route,
            beside: None,
            request: Vec::new(),
            unprocessed: Vec::new(),
            lives: 0,
            queued: false,
            script: ScriptState::NONE,
        }
    }

    #[inline]
    pub(crate) fn open(&self) -> bool {
        matches!(self.phase, Phase::Open { .. })
    }

    /// How long to wait before the next attempt: nothing after a life in which an operation ended. However
    /// it did, what is due next fails or succeeds at the server, and not here; what a server had not begun
    /// with does neither.
    pub(crate) fn backoff_ns(&self) -> u64 {
        match self.attempts {
            0 => 0,
            n => (BACKOFF_NS << (n - 1).min(4)).min(BACKOFF_MAX_NS),
        }
    }

    /// The next moment at which something must happen even if the other side stays silent.
    #[inline]
    pub(crate) fn deadline(&self, connect_ns: u64, operation_ns: u64) -> Option<u64> {
        match &self.phase {
            Phase::Down { retry_at } => (*retry_at != u64::MAX).then_some(*retry_at),
            Phase::Greeting { since, .. } if P::DATAGRAMS => {
                let asked = self.flights.front().and_then(|flight| flight.sent.get());
                Some((since + connect_ns).min(asked.unwrap_or(*since) + ASK_AGAIN_NS))
            }
            Phase::Connecting { since, .. }
            | Phase::Handshaking { since, .. }
            | Phase::Greeting { since, .. } => Some(since + connect_ns),
            Phase::Open { .. } => {
                let oldest = self.flights.front().and_then(|flight| flight.sent.get());
                let overdue = oldest.map(|sent| sent + operation_ns);
                [overdue, self.resume_at.get()].into_iter().flatten().min()
            }
            Phase::Finished => None,
        }
    }
}
