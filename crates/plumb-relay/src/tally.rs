//! What a relay tells: of each connection as it goes, and of all at its end.

use std::fmt;
use std::io;

use plumb_measure::{Histogram, show_ns};

use crate::plan::PathPlan;
use plumb_engine::{Peer, TurnedAway};

/// One connection through the relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The number of the connection, from one.
    pub handle: u64,
    /// Where its client is.
    pub peer: Peer,
    /// Bytes that came from the client.
    pub there_bytes: u64,
    /// Bytes that came from the target.
    pub back_bytes: u64,
}

/// Why a connection is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parted {
    /// Both sides closed it.
    Closed,
    /// One side reset it, and so the other was.
    Reset,
    /// It reached the limit of the plan.
    Cut,
    /// It was silent for too long and both sides were reset.
    IdleReset,
    /// It was forgotten while it was silent, and one side has given up since.
    Forgotten,
    /// The target could not be reached.
    Unreachable,
    /// The relay stopped.
    Stopped,
}

impl fmt::Display for Parted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "closed by both sides",
            Self::Reset => "reset by one side",
            Self::Cut => "cut",
            Self::IdleReset => "reset after it was idle",
            Self::Forgotten => "closed after it was forgotten",
            Self::Unreachable => "target not reached",
            Self::Stopped => "relay stopped",
        })
    }
}

/// Something the operator of a relay wants to know.
#[derive(Debug)]
pub enum RelayEvent<'a> {
    /// A connection came.
    Opened(&'a Passage),
    /// A connection is reset at once, as the plan demands.
    Refused(&'a Peer),
    /// A connection is not taken, and is reset.
    TurnedAway(&'a Peer, TurnedAway),
    /// The target did not take the connection.
    CannotReach(&'a Passage, &'a io::Error),
    /// A silent connection is forgotten: nothing passes any more.
    Forgot(&'a Passage),
    /// A connection is gone, after so many nanoseconds.
    Closed(&'a Passage, u64, Parted),
    /// The kernel hands over no more connections for the moment.
    CannotAccept(&'a io::Error),
}

impl fmt::Display for RelayEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened(it) => write!(f, "connection {} from {}", it.handle, it.peer),
            Self::Refused(peer) => write!(f, "connection from {peer} refused as planned"),
            Self::TurnedAway(peer, why) => write!(f, "connection from {peer} turned away: {why}"),
            Self::CannotReach(it, error) => {
                write!(f, "connection {}: cannot reach the target: {error}", it.handle)
            }
            Self::Forgot(it) => write!(f, "connection {} was idle and is forgotten", it.handle),
            Self::Closed(it, after_ns, parted) => write!(
                f,
                "connection {} from {} gone after {}: {} bytes there, {} back; {parted}",
                it.handle,
                it.peer,
                show_ns(*after_ns),
                it.there_bytes,
                it.back_bytes
            ),
            Self::CannotAccept(error) => {
                write!(f, "cannot accept connections for the moment: {error}")
            }
        }
    }
}

/// What passed in one direction.
#[derive(Debug)]
pub struct PathTotals {
    /// The plan of the direction.
    pub path: PathPlan,
    /// Bytes that came in.
    pub received: u64,
    /// Bytes that went out; less than came in when connections were lost.
    pub sent: u64,
    /// How much later than due pieces left, nanoseconds: what the relay itself adds.
    pub late: Histogram,
}

impl PathTotals {
    pub(crate) fn new(path: PathPlan) -> Self {
        Self { path, received: 0, sent: 0, late: Histogram::new() }
    }
}

/// What became of all connections.
#[derive(Debug)]
pub struct RelayTotals {
    /// Connections that were passed on, the lost ones included.
    pub connections: u64,
    /// Refused as the plan demands.
    pub refused: u64,
    /// Too many at once, or not among those allowed.
    pub turned_away: u64,
    /// Cut as the plan demands.
    pub cut: u64,
    /// Forgotten or reset because they were idle.
    pub idle: u64,
    /// The target could not be reached.
    pub unreachable: u64,
    /// From the clients to the target.
    pub there: PathTotals,
    /// From the target to the clients.
    pub back: PathTotals,
}
