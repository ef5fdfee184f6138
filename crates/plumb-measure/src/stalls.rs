//! Stalls of TCP that have names, recognized by how long they last and what the kernel counted
//! meanwhile.

use std::ops::Range;

use crate::units::counted;
use crate::{Finding, FindingKind, Histogram, Scope, SlowSample, TcpTotals, grouped, show_ns};

const MS: u64 = 1_000_000;
/// How long Linux and other systems delay an acknowledgement: a round trip that waits for one takes
/// that long, to a tick of the kernel's timer.
const DELAYS: [Delay; 2] = [
    Delay { words: "40 ms, as Linux", range: 38 * MS..52 * MS, tick: 5 * MS },
    Delay { words: "200 ms, as Windows", range: 195 * MS..225 * MS, tick: 17 * MS },
];
/// Fewer round trips of one length are no cluster.
const CLUSTER_MIN: u64 = 3;
/// Of those the share that lies within a tick of the timer, at least: three in four.
const WITHIN_A_TICK: (u64, u64) = (3, 4);
/// Segments of an answer of which a piece waits: the first piece, the rest, and an acknowledgement of
/// its own.
const SEGMENTS_MAX: u64 = 3;
/// The shortest time after which Linux sends a segment again, in nanoseconds.
pub const RTO_MIN_NS: u64 = 200 * MS;
/// A connect that lasts this long may have had its first segment sent again after a second.
const SYN_AGAIN_NS: u64 = 950 * MS;

/// True when a round trip of `ns` nanoseconds may have waited for a delayed acknowledgement.
#[must_use]
pub fn may_be_delayed(ns: u64) -> bool {
    DELAYS.iter().any(|delay| delay.range.contains(&ns))
}

/// What stalls are recognized from.
#[derive(Clone, Copy, Debug)]
pub struct StallEvidence<'a> {
    /// From the send to the last byte of correct answers, nanoseconds.
    pub service: &'a Histogram,
    /// From the send to the first byte of correct answers, nanoseconds.
    pub first_byte: &'a Histogram,
    /// Times to connect, nanoseconds.
    pub connect: &'a Histogram,
    /// The slowest correct answers.
    pub slowest: &'a [SlowSample],
    /// Bytes of all answers.
    pub bytes_received: u64,
    /// What TCP did; `None` on other transports, which have none of these stalls.
    pub tcp: Option<&'a TcpTotals>,
    /// Whether this side acknowledged everything at once, so that nobody waited for that.
    pub quick_ack: bool,
}

/// How long acknowledgements are delayed.
struct Delay {
    words: &'static str,
    range: Range<u64>,
    /// The tick of the timer that ends them, and what a machine needs to wake, nanoseconds.
    tick: u64,
}

impl StallEvidence<'_> {
    /// The stalls that the evidence shows; none of them takes away a figure.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let Some(tcp) = self.tcp else {
            return Vec::new();
        };
        let mut delays = DELAYS.iter().filter(|_| !self.quick_ack);
        let delayed = delays.find_map(|delay| self.delayed_acknowledgement(tcp, delay));
        let found = [
            (FindingKind::DelayedAcknowledgement, delayed),
            (FindingKind::Retransmission, self.retransmission()),
            (FindingKind::ConnectRetransmission, self.connect_retransmission(tcp)),
        ];
        let named = |(kind, text): (FindingKind, Option<String>)| {
            text.map(|text| Finding { kind, scope: Scope::Nothing, text })
        };
        found.into_iter().filter_map(named).collect()
    }

    /// Round trips cluster where a delayed acknowledgement puts them: the path itself is much
    /// faster, small answers came in pieces, the first of them early, and nothing was lost. A server
    /// that works for exactly so long behind its first piece looks the same.
    fn delayed_acknowledgement(&self, tcp: &TcpTotals, delay: &Delay) -> Option<String> {
        let operations = self.service.count();
        let width = delay.range.end - delay.range.start;
        let stalled = between(self.service, &delay.range);
        let beside = between(self.service, &(delay.range.start - width / 2..delay.range.start))
            + between(self.service, &(delay.range.end..delay.range.end + width / 2));
        let (least, of) = WITHIN_A_TICK;
        let narrow = densest(self.service, delay) * of >= stalled * least;
        let cluster = stalled >= CLUSTER_MIN && beside * 2 <= stalled && narrow;
        let fast_path = tcp.rtt_min_ns > 0 && tcp.rtt_min_ns * 2 < delay.range.start;
        let answer_bytes = self.bytes_received.checked_div(operations)?;
        let pieces = tcp.segments_received.saturating_sub(operations) * 2 >= stalled;
        // what waited goes out in one piece: a server that writes an answer in many pieces, each of
        // which arrives, is itself what is slow
        let few = tcp.segments_received <= operations.saturating_mul(SEGMENTS_MAX);
        let early = between(self.first_byte, &delay.range) * 4 <= stalled;
        let lossless = tcp.retransmits * 2 <= stalled;
        if !(cluster && fast_path && answer_bytes <= tcp.mss && pieces && few && early && lossless)
        {
            return None;
        }
        let whole = grouped(operations);
        Some(format!(
            "{} of {whole} round trips took about {} delays an acknowledgement, on a path that \
             needs {}: {whole} answers came in {}, the first bytes early, with {}; either the server \
             writes an answer in pieces under Nagle's algorithm, and the last one waits for the \
             acknowledgement of the first, or it works for so long between them: --quick-ack tells, \
             with which a wait is gone",
            grouped(stalled),
            delay.words,
            show_ns(tcp.rtt_min_ns),
            counted(tcp.segments_received, "segment"),
            counted(tcp.retransmits, "retransmit"),
        ))
    }

    /// Slow operations on whose connection segments were sent again.
    fn retransmission(&self) -> Option<String> {
        let waited = |sample: &&SlowSample| {
            sample.service_ns >= RTO_MIN_NS && sample.tcp.is_some_and(|tcp| tcp.retransmits > 0)
        };
        let longest = self.slowest.iter().filter(waited).max_by_key(|it| it.service_ns)?;
        let count = self.slowest.iter().filter(waited).count();
        let around = longest.tcp?;
        Some(format!(
            "{count} of the {} slowest operations waited until a lost segment was sent again: the \
             longest, of {} on connection {}, with {} since the reading {} before its end; look \
             for loss on the way",
            self.slowest.len(),
            show_ns(longest.service_ns),
            longest.connection,
            counted(around.retransmits, "retransmit"),
            show_ns(around.since_ns),
        ))
    }

    /// Connects whose first segment was sent again.
    fn connect_retransmission(&self, tcp: &TcpTotals) -> Option<String> {
        let slow = self.connect.count() - self.connect.count_at_or_below(SYN_AGAIN_NS);
        if slow == 0 || tcp.connect_retransmits == 0 {
            return None;
        }
        Some(format!(
            "{} of {} connects took a second or longer (at most {}), with {} of their first \
             segment (SYN): it was lost, or dropped by a firewall or by a listener whose queue was \
             full, and is sent again after 1 s and more",
            grouped(slow),
            grouped(self.connect.count()),
            show_ns(self.connect.max()),
            counted(tcp.connect_retransmits, "retransmit"),
        ))
    }
}

/// The most values of its range that lie within one tick of each other.
fn densest(histogram: &Histogram, delay: &Delay) -> u64 {
    let Range { start, end } = delay.range;
    let windows = (start..end).step_by(usize::try_from(MS).unwrap_or(1));
    let counts = windows.map(|from| between(histogram, &(from..(from + delay.tick).min(end))));
    counts.max().unwrap_or(0)
}

/// Values in a range, as far as the buckets of a histogram tell.
fn between(histogram: &Histogram, range: &Range<u64>) -> u64 {
    histogram.count_at_or_below(range.end - 1) - histogram.count_at_or_below(range.start - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TcpAround, TcpReading};

    /// `n` round trips of 100 us, then those of `slow`.
    fn times(n: u64, slow: impl IntoIterator<Item = u64>) -> Histogram {
        let mut times = Histogram::new();
        times.record_n(MS / 10, n);
        slow.into_iter().for_each(|ns| times.record(ns));
        times
    }

    /// 100 us of path, small segments, and so many of them for the answers.
    fn tcp(segments_received: u64) -> TcpTotals {
        TcpTotals {
            connections: 1,
            rtt_min_ns: MS / 10,
            mss: 1_448,
            segments_received,
            ..TcpTotals::default()
        }
    }

    fn evidence<'a>(service: &'a Histogram, tcp: &'a TcpTotals) -> StallEvidence<'a> {
        const NONE: &[SlowSample] = &[];
        StallEvidence {
            service,
            first_byte: service,
            connect: service,
            slowest: NONE,
            bytes_received: service.count() * 1_000,
            tcp: Some(tcp),
            quick_ack: false,
        }
    }

    #[test]
    fn small_answers_in_two_pieces_that_cluster_at_forty_milliseconds_are_named() {
        let service = times(90, (0..10).map(|n| 40 * MS + n * MS / 3));
        let (first_byte, tcp) = (times(100, []), tcp(200));
        let findings =
            StallEvidence { first_byte: &first_byte, ..evidence(&service, &tcp) }.findings();
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].kind, FindingKind::DelayedAcknowledgement);
        let text = "10 of 100 round trips took about 40 ms, as Linux delays an acknowledgement, on \
                    a path that needs 100 us: 100 answers came in 200 segments, the first bytes \
                    early, with 0 retransmits; ";
        assert!(findings[0].text.starts_with(text), "{}", findings[0].text);
    }

    #[test]
    fn forty_milliseconds_alone_are_no_delayed_acknowledgement() {
        let service = times(90, (0..10).map(|n| 40 * MS + n * MS / 3));
        let first_byte = times(100, []);
        let none = |tcp: &TcpTotals, bytes_received| {
            let evidence = StallEvidence {
                first_byte: &first_byte,
                bytes_received,
                ..evidence(&service, tcp)
            };
            assert_eq!(evidence.findings(), []);
        };
        none(&tcp(100), 100_000); // in one piece
        none(&tcp(200), 200_000); // too large for one piece
        none(&tcp(1_100), 100_000); // a server that drips, ten pieces of each answer
        none(&TcpTotals { rtt_min_ns: 39 * MS, ..tcp(200) }, 100_000); // the path takes as long
        none(&TcpTotals { retransmits: 9, ..tcp(200) }, 100_000);
        let late = evidence(&service, &tcp(200)).findings();
        assert_eq!(late, [], "the server thought for so long");
        let spread = times(0, (1..=100).map(|n| n * MS));
        let tcp = tcp(200);
        let spread = StallEvidence { first_byte: &first_byte, ..evidence(&spread, &tcp) };
        assert_eq!(spread.findings(), [], "no cluster");
        let work = times(0, (0..100).map(|n| 36 * MS + n * MS * 14 / 100));
        let work = StallEvidence { first_byte: &first_byte, ..evidence(&work, &tcp) };
        assert_eq!(work.findings(), [], "work of any length between 36 and 50 ms");
        let at_once = StallEvidence { quick_ack: true, ..evidence(&service, &tcp) };
        let at_once = StallEvidence { first_byte: &first_byte, ..at_once };
        assert_eq!(at_once.findings(), [], "nobody waited for an acknowledgement");
        let empty = Histogram::new();
        assert_eq!(evidence(&empty, &tcp).findings(), []);
    }

    #[test]
    fn other_transports_have_none_of_these_stalls() {
        let (service, connect) = (times(90, (0..10).map(|_| 40 * MS)), times(1, [1_000 * MS]));
        let first_byte = times(100, []);
        let tcp = TcpTotals { connect_retransmits: 1, ..tcp(200) };
        let there = StallEvidence {
            first_byte: &first_byte,
            connect: &connect,
            ..evidence(&service, &tcp)
        };
        assert_eq!(there.findings().len(), 2);
        assert_eq!(StallEvidence { tcp: None, ..there }.findings(), []);
    }

    #[test]
    fn a_slow_operation_with_a_retransmit_waited_for_it() {
        let around = |retransmits| TcpAround {
            since_ns: 700 * MS,
            retransmits,
            before: TcpReading::default(),
            after: TcpReading::default(),
        };
        let sample = |service_ns, retransmits| SlowSample {
            at_ns: 0,
            response_ns: service_ns,
            service_ns,
            row: 0,
            connection: 3,
            tcp: Some(around(retransmits)),
            waking_ns: None,
        };
        let (times, tcp) = (times(1, []), tcp(1));
        let slowest = [sample(204 * MS, 1), sample(900 * MS, 0), sample(90 * MS, 2)];
        let evidence = |slowest| StallEvidence { slowest, ..evidence(&times, &tcp) };
        let findings = evidence(&slowest).findings();
        assert_eq!(findings.len(), 1);
        let text = "1 of the 3 slowest operations waited until a lost segment was sent again: the \
                    longest, of 204 ms on connection 3, with 1 retransmit since the reading 700 ms \
                    before its end; look for loss on the way";
        assert_eq!(findings[0].text, text);
        assert_eq!(evidence(&slowest[1..]).findings(), [], "neither loss nor time alone");
    }

    #[test]
    fn a_connect_of_a_second_with_a_second_syn_is_named() {
        let (service, connect) = (times(9, []), times(2, [1_003 * MS]));
        let of = |connect_retransmits| {
            let tcp = TcpTotals { connect_retransmits, ..tcp(9) };
            StallEvidence { connect: &connect, ..evidence(&service, &tcp) }.findings()
        };
        assert_eq!(of(0), []);
        let findings = of(1);
        assert_eq!(findings[0].kind, FindingKind::ConnectRetransmission);
        assert!(findings[0].text.starts_with("1 of 3 connects took a second or longer"));
    }
}
