//! Round trips taken apart by time stamps of the kernel: where each nanosecond of a sampled message
//! was spent.
//!
//! The kernel stamps the packet of a request when it reaches the driver, and that of its answer when
//! it comes in. With the two readings of the program around them the time of a message has three
//! parts: sending, away, waking. A server that tells how long it had the message splits what was
//! away once more. Only durations of one clock are subtracted: clocks of two machines are never
//! compared. The parts of a message add up to its service time, exactly.

mod record;
mod words;

use serde::{Deserialize, Serialize};

use crate::bounds::count;
use crate::{Moments, PartKind, Row};

pub use record::{RoundTrip, SlowestRoundTrips};
pub use words::{Away, RoundTripMeans};

/// How far the clock of the stamps may disagree with that of the run over one message, nanoseconds.
/// The two are read one behind the other, so an interruption between them is in the difference; a
/// clock that was set differs by more.
const CLOCKS_APART_NS: u64 = 10_000;

/// What is known of one message, nanoseconds on the wall clock, which the kernel stamps with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageStamps {
    /// Just before the call that sent it.
    pub called: u64,
    /// When its last packet was handed to the driver; `None` when the kernel did not say.
    pub sent: Option<u64>,
    /// When the last packet of the answer that was read came in; `None` when the kernel did not say.
    pub received: Option<u64>,
    /// Just after the call that read it.
    pub woken: u64,
    /// From the last packet of the request to that of the answer, nanoseconds by the clock of the network
    /// interface; `None` where it stamps nothing.
    pub by_interface_ns: Option<u64>,
}

/// How long a server had a message, nanoseconds by its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residence {
    /// From the packet in the kernel to the program that read it.
    pub waking_ns: u64,
    /// From there to the call that sent the answer.
    pub work_ns: u64,
    /// From that call to the packet at the driver.
    pub sending_ns: u64,
}

impl Residence {
    /// From packet in to packet out.
    #[must_use]
    pub fn total_ns(self) -> u64 {
        self.waking_ns.saturating_add(self.work_ns).saturating_add(self.sending_ns)
    }
}

/// What is known of the server's half of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerHalf {
    /// Nothing.
    #[default]
    Unknown,
    /// How long the server worked, nanoseconds, as its answer says (`Server-Timing`) or its own view of
    /// the work. When the packets came and left is not in it.
    Said(u64),
    /// All of it, by time stamps of its kernel.
    Told(Residence),
}

/// The parts of one message, nanoseconds. They add up to its service time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTripParts {
    /// At the client, from the call that sends to the driver.
    pub sending_ns: u64,
    /// From the driver to the packet of the answer in the kernel.
    pub away_ns: u64,
    /// At the client, from that packet to the program.
    pub waking_ns: u64,
    /// What is away is by the clock of the network interface: what its driver and itself take, both
    /// ways, is waking then.
    pub by_interface: bool,
}

/// Why a message was not taken apart. It stays in every other figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unsplit {
    /// The kernel did not say when the request reached the driver.
    NotSent,
    /// The kernel did not say when the answer came in.
    NotReceived,
    /// The clock was set meanwhile, or the stamps contradict each other.
    Clock,
    /// The server said nothing of it.
    Untold,
}

impl Unsplit {
    const ALL: [Self; 4] = [Self::NotSent, Self::NotReceived, Self::Clock, Self::Untold];

    /// The name in a record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotSent => "no-send-stamp",
            Self::NotReceived => "no-receive-stamp",
            Self::Clock => "clock",
            Self::Untold => "untold",
        }
    }
}

impl RoundTripParts {
    /// Takes a message of `service_ns` apart.
    ///
    /// # Errors
    /// [`Unsplit`]: why it cannot be.
    pub fn of(service_ns: u64, stamps: MessageStamps) -> Result<Self, Unsplit> {
        let sent = stamps.sent.ok_or(Unsplit::NotSent)?;
        let received = stamps.received.ok_or(Unsplit::NotReceived)?;
        let by_wall = stamps.woken.checked_sub(stamps.called).ok_or(Unsplit::Clock)?;
        let in_order = stamps.called <= sent && sent <= received && received <= stamps.woken;
        if !in_order || by_wall.abs_diff(service_ns) > CLOCKS_APART_NS {
            return Err(Unsplit::Clock);
        }
        let by_kernel_ns = received - sent;
        // another clock, whose time within that of the kernel can only be shorter
        let by_interface_ns = stamps.by_interface_ns.filter(|ns| *ns <= by_kernel_ns);
        let away_ns = by_interface_ns.unwrap_or(by_kernel_ns);
        let waking_ns = stamps.woken - received + (by_kernel_ns - away_ns);
        // what lies between the readings of the two clocks is the client's own, too
        let sending_ns = service_ns.checked_sub(away_ns + waking_ns).ok_or(Unsplit::Clock)?;
        Ok(Self { sending_ns, away_ns, waking_ns, by_interface: by_interface_ns.is_some() })
    }
}

/// A part of a message: its kind, its name, and how it was measured.
struct Part {
    kind: PartKind,
    name: &'static str,
    how: &'static str,
}

/// Every part, at the place of its number.
const PARTS: [Part; 7] = [
    Part {
        kind: PartKind::Sending,
        name: "client sending",
        how: "from the call that sends to the time stamp of the packet at the driver",
    },
    Part {
        kind: PartKind::Away,
        name: "away",
        how: "from the time stamp of the request at the driver to that of the answer in the kernel: \
            the wire and all of the server, less what the server says that it worked, where it says so",
    },
    Part {
        kind: PartKind::Wire,
        name: "wire",
        how: "away, less what the server had the message for: the way there and back. No clocks of two \
            machines are compared",
    },
    Part {
        kind: PartKind::ServerWaking,
        name: "server waking",
        how: "told by the server: from the time stamp of the packet in its kernel to the program that \
            read it",
    },
    Part {
        kind: PartKind::Server,
        name: "server work",
        how: "told by the server: from the read to the call that sends; of a server without time stamps, \
            how long it worked by its own account",
    },
    Part {
        kind: PartKind::ServerSending,
        name: "server sending",
        how: "told by the server: from the call that sends to the time stamp of the packet at the driver",
    },
    Part {
        kind: PartKind::Waking,
        name: "client waking",
        how: "from the time stamp of the packet in the kernel to the program that read it",
    },
];

const SENDING: usize = 0;
const AWAY: usize = 1;
const WIRE: usize = 2;
const SERVER_WAKING: usize = 3;
const SERVER_WORK: usize = 4;
const SERVER_SENDING: usize = 5;
const WAKING: usize = 6;

/// The stamped messages of a row, taken apart; merged as rows are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RoundTripTimes {
    /// Their service times, with those of each part as if they had been told.
    row: Row,
    #[serde(deserialize_with = "count")]
    not_sent: u64,
    #[serde(deserialize_with = "count")]
    not_received: u64,
    #[serde(deserialize_with = "count")]
    clock: u64,
    #[serde(deserialize_with = "count")]
    untold: u64,
    /// Those whose time away is by the clock of the network interface.
    #[serde(deserialize_with = "count")]
    by_interface: u64,
}

impl RoundTripTimes {
    /// Adds a message with these `moments` and `parts`, and what is known of the server's half.
    ///
    /// # Errors
    /// [`Unsplit::Clock`] when the server had it for longer than it was away: it is not added then.
    pub fn record(
        &mut self,
        moments: Moments,
        parts: RoundTripParts,
        server: ServerHalf,
    ) -> Result<(), Unsplit> {
        let RoundTripParts { sending_ns, away_ns, waking_ns, by_interface } = parts;
        let (sending, waking) = ((SENDING, sending_ns), (WAKING, waking_ns));
        match server {
            ServerHalf::Unknown => {
                self.row.record_parts(moments, &[sending, (AWAY, away_ns), waking]);
            }
            ServerHalf::Said(server_ns) => {
                let left_ns = away_ns.checked_sub(server_ns).ok_or(Unsplit::Clock)?;
                let parts = [sending, (AWAY, left_ns), (SERVER_WORK, server_ns), waking];
                self.row.record_parts(moments, &parts);
            }
            ServerHalf::Told(told) => {
                let wire_ns = away_ns.checked_sub(told.total_ns()).ok_or(Unsplit::Clock)?;
                let parts = [
                    sending,
                    (WIRE, wire_ns),
                    (SERVER_WAKING, told.waking_ns),
                    (SERVER_WORK, told.work_ns),
                    (SERVER_SENDING, told.sending_ns),
                    waking,
                ];
                self.row.record_parts(moments, &parts);
            }
        }
        self.by_interface += u64::from(by_interface);
        Ok(())
    }

    /// Counts a stamped message that was not taken apart.
    pub fn leave_out(&mut self, why: Unsplit) {
        *self.left_out_mut(why) += 1;
    }

    /// Stamped messages that were not taken apart for this reason.
    #[must_use]
    pub fn left_out(&self, why: Unsplit) -> u64 {
        match why {
            Unsplit::NotSent => self.not_sent,
            Unsplit::NotReceived => self.not_received,
            Unsplit::Clock => self.clock,
            Unsplit::Untold => self.untold,
        }
    }

    fn left_out_mut(&mut self, why: Unsplit) -> &mut u64 {
        match why {
            Unsplit::NotSent => &mut self.not_sent,
            Unsplit::NotReceived => &mut self.not_received,
            Unsplit::Clock => &mut self.clock,
            Unsplit::Untold => &mut self.untold,
        }
    }

    /// Adds the messages of `other`, which happened later.
    pub fn merge(&mut self, other: &Self) {
        self.row.merge(&other.row);
        self.by_interface += other.by_interface;
        for why in Unsplit::ALL {
            *self.left_out_mut(why) += other.left_out(why);
        }
    }

    /// Forgets everything; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.row.clear();
        self.by_interface = 0;
        Unsplit::ALL.into_iter().for_each(|why| *self.left_out_mut(why) = 0);
    }
}

#[cfg(test)]
mod tests;
