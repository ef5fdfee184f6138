//! What the kernel says of TCP connections, and what it said around the slowest operations.

use serde::{Deserialize, Serialize};

/// What the kernel said of one connection at one moment (`TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpReading {
    /// Smoothed round-trip time, nanoseconds; it counts the time for which the other side delays
    /// its acknowledgements.
    pub rtt_ns: u64,
    /// Mean deviation of the round-trip time, nanoseconds.
    pub rttvar_ns: u64,
    /// Smallest round-trip time seen, nanoseconds; 0 before the first.
    pub rtt_min_ns: u64,
    /// Time after which a segment without acknowledgement is sent again, nanoseconds.
    pub rto_ns: u64,
    /// Segments sent again since the connection was begun, that of the connect included.
    pub retransmits: u64,
    /// Congestion window, segments.
    pub cwnd: u64,
    /// Segments sent and not acknowledged.
    pub unacked: u64,
    /// Of these, segments taken for lost.
    pub lost: u64,
    /// The largest segment that is sent, bytes.
    pub mss: u64,
    /// Segments with data sent, those sent again included.
    pub segments_sent: u64,
    /// Segments with data received.
    pub segments_received: u64,
    /// Bytes a second that were delivered when last measured; 0 before that, and where the kernel
    /// does not tell.
    pub delivery_rate: u64,
}

/// The TCP connections of one result over its recorded part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpTotals {
    /// Lives of connections that were read at their start and at their end.
    pub connections: u64,
    /// Segments sent again in the recorded part.
    pub retransmits: u64,
    /// Segments sent again to make connections, those of the warm-up included.
    pub connect_retransmits: u64,
    /// Segments with data sent.
    pub segments_sent: u64,
    /// Segments with data received.
    pub segments_received: u64,
    /// Segments taken for lost at the end.
    pub lost: u64,
    /// Smallest round-trip time that any connection saw, nanoseconds; 0 when none did.
    pub rtt_min_ns: u64,
    /// Largest smoothed round-trip time at the end, nanoseconds.
    pub rtt_max_ns: u64,
    /// Smallest congestion window at the end, segments.
    pub cwnd_min: u64,
    /// The smallest of the largest segments, bytes.
    pub mss: u64,
}

impl TcpTotals {
    /// Adds what happened on one connection between two readings of it.
    pub fn add(&mut self, before: &TcpReading, after: &TcpReading) {
        self.merge(&Self {
            connections: 1,
            retransmits: after.retransmits.saturating_sub(before.retransmits),
            connect_retransmits: 0,
            segments_sent: after.segments_sent.saturating_sub(before.segments_sent),
            segments_received: after.segments_received.saturating_sub(before.segments_received),
            lost: after.lost,
            rtt_min_ns: after.rtt_min_ns,
            rtt_max_ns: after.rtt_ns,
            cwnd_min: after.cwnd,
            mss: after.mss,
        });
    }

    /// Adds what other connections did.
    pub fn merge(&mut self, other: &Self) {
        self.connect_retransmits =
            self.connect_retransmits.saturating_add(other.connect_retransmits);
        if other.connections == 0 {
            return;
        }
        let first = self.connections == 0;
        let least = |mine: u64, theirs: u64| if first { theirs } else { mine.min(theirs) };
        self.cwnd_min = least(self.cwnd_min, other.cwnd_min);
        self.mss = least(self.mss, other.mss);
        self.rtt_min_ns = match (self.rtt_min_ns, other.rtt_min_ns) {
            (0, theirs) => theirs,
            (mine, 0) => mine,
            (mine, theirs) => mine.min(theirs),
        };
        self.rtt_max_ns = self.rtt_max_ns.max(other.rtt_max_ns);
        self.connections = self.connections.saturating_add(other.connections);
        self.retransmits = self.retransmits.saturating_add(other.retransmits);
        self.segments_sent = self.segments_sent.saturating_add(other.segments_sent);
        self.segments_received = self.segments_received.saturating_add(other.segments_received);
        self.lost = self.lost.saturating_add(other.lost);
    }
}

/// What the kernel said of a connection around one operation on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpAround {
    /// From the earlier reading to the end of the operation, nanoseconds. Connections are read
    /// when they stand, when recording begins, in turn at the end of each interval, and after each
    /// operation that is among the slowest so far.
    pub since_ns: u64,
    /// Segments sent again between the two readings.
    pub retransmits: u64,
    /// The earlier reading.
    pub before: TcpReading,
    /// Right after the operation.
    pub after: TcpReading,
}

/// One of the slowest correct answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowSample {
    /// When the answer was complete, nanoseconds after the start of the run, of which this result
    /// may be one of many.
    pub at_ns: u64,
    /// From the due time to the last byte, nanoseconds.
    pub response_ns: u64,
    /// From the send to the last byte, nanoseconds.
    pub service_ns: u64,
    /// Which kind of operation, by its place in the plan, from zero.
    pub row: u16,
    /// Which connection, from zero.
    pub connection: u64,
    /// What TCP did around it; absent on other transports.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp: Option<TcpAround>,
    /// How much of the service time passed between the last packet of the answer in the kernel of this
    /// machine and the program, nanoseconds; absent where packets are not stamped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waking_ns: Option<u64>,
}

/// The slowest operations so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<SlowSample>", into = "Vec<SlowSample>")]
pub struct Slowest {
    /// Longest first.
    kept: Vec<SlowSample>,
}

/// Operations that are kept.
const KEPT: usize = 10;

impl Slowest {
    /// The response time, nanoseconds, that an operation must exceed to be kept; `None` while
    /// every one is.
    #[must_use]
    pub fn bar_ns(&self) -> Option<u64> {
        self.kept.get(KEPT - 1).map(|least| least.response_ns)
    }

    /// Keeps `sample` if it is among the slowest.
    pub fn offer(&mut self, sample: SlowSample) {
        let place = self.kept.partition_point(|kept| kept.response_ns >= sample.response_ns);
        if place < KEPT {
            self.kept.truncate(KEPT - 1);
            self.kept.insert(place, sample);
        }
    }

    /// The samples, longest first.
    #[must_use]
    pub fn into_samples(self) -> Vec<SlowSample> {
        self.kept
    }
}

impl From<Vec<SlowSample>> for Slowest {
    fn from(samples: Vec<SlowSample>) -> Self {
        let mut slowest = Self::default();
        samples.into_iter().for_each(|sample| slowest.offer(sample));
        slowest
    }
}

impl From<Slowest> for Vec<SlowSample> {
    fn from(slowest: Slowest) -> Self {
        slowest.into_samples()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(response_ns: u64) -> SlowSample {
        SlowSample {
            at_ns: 0,
            response_ns,
            service_ns: 0,
            row: 0,
            connection: 0,
            tcp: None,
            waking_ns: None,
        }
    }

    #[test]
    fn the_slowest_are_kept_longest_first() {
        let mut slowest = Slowest::default();
        for response_ns in (0..1000).map(|n| n * 7919 % 1009) {
            if slowest.bar_ns().is_none_or(|bar| response_ns > bar) {
                slowest.offer(sample(response_ns));
            }
        }
        let mut all: Vec<u64> = (0..1000).map(|n| n * 7919 % 1009).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let kept: Vec<u64> =
            slowest.into_samples().iter().map(|sample| sample.response_ns).collect();
        assert_eq!(kept, all[..10]);
    }

    #[test]
    fn connections_add_up_whatever_their_order() {
        let reading = |retransmits, cwnd, rtt_min_ns| TcpReading {
            retransmits,
            cwnd,
            rtt_min_ns,
            ..TcpReading::default()
        };
        let (mut one, mut other) = (TcpTotals::default(), TcpTotals::default());
        let lives = [(reading(1, 10, 0), reading(4, 2, 0)), (reading(0, 10, 5), reading(2, 7, 5))];
        lives.iter().for_each(|(before, after)| one.add(before, after));
        lives.iter().rev().for_each(|(before, after)| other.add(before, after));
        assert_eq!(one, other);
        assert_eq!((one.connections, one.retransmits), (2, 5));
        assert_eq!((one.cwnd_min, one.rtt_min_ns), (2, 5));
    }
}
