//! What streams have carried: bytes as their receiver counted them, and what that cost.

mod datagrams;

use serde::{Deserialize, Serialize};

use crate::real;
pub use datagrams::{DatagramFlow, GapClass};

use crate::{Figure, Finding, FindingKind, Scope, grouped};

/// How a rate of datagrams comes about.
const OF_DATAGRAMS: &str = "bytes received x 8 / s from the first datagram to one interval of \
                            sending behind the last";

/// All streams of one result together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamFigures {
    /// Streams at once.
    pub streams: u64,
    /// What the client sent; absent when it only received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_server: Option<OneWay>,
    /// What the server sent; absent when it only received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from_server: Option<OneWay>,
    /// Processor time of the client's threads that carried the streams, nanoseconds.
    pub client_cpu_ns: u64,
    /// Processor time of the server's threads that carried the streams, nanoseconds; 0 when it is not
    /// known, as of datagrams that a server receives.
    pub server_cpu_ns: u64,
    /// What was received when, by the clock of the receiver.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub intervals: Vec<StreamInterval>,
}

/// One direction of all streams together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OneWay {
    /// Bytes that the kernel of the sender took.
    pub sent_bytes: u64,
    /// Bytes that the receiver read.
    pub received_bytes: u64,
    /// From the first byte that any receiver read to the end of the last stream, nanoseconds by
    /// the receiver's clock. Of datagrams one interval of sending more: the last takes its time, too.
    pub span_ns: u64,
    /// `received_bytes * 8 / span_ns * 1e9`.
    pub bits_per_s: f64,
    /// Segments that the sender sent again; absent where the transport has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u64>,
    /// What became of its datagrams; absent where bytes flow over connections, and where the
    /// receiver's account of them was lost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub datagrams: Option<DatagramFlow>,
}

/// What was received in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamInterval {
    /// Start, nanoseconds after the start of the streams.
    pub start_ns: u64,
    /// What the server received; absent when the client sent nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_server: Option<Portion>,
    /// What the client received; absent when the server sent nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from_server: Option<Portion>,
}

/// Bytes of one direction in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Portion {
    /// Bytes that the receiver read.
    pub bytes: u64,
    /// Length by the receiver's clock, nanoseconds.
    pub duration_ns: u64,
    /// Datagrams that became known as lost; below zero when some came after all that had been
    /// overtaken. Absent where bytes flow over connections.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<i64>,
}

impl OneWay {
    /// One direction, its rate computed.
    #[must_use]
    pub fn new(sent_bytes: u64, received_bytes: u64, span_ns: u64) -> Self {
        let bits_per_s = bits_per_s(received_bytes, span_ns);
        Self { sent_bytes, received_bytes, span_ns, bits_per_s, retransmits: None, datagrams: None }
    }
}

impl OneWay {
    fn merge(&mut self, other: &Self) {
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.span_ns = self.span_ns.max(other.span_ns);
        self.bits_per_s = bits_per_s(self.received_bytes, self.span_ns);
        self.retransmits = match (self.retransmits, other.retransmits) {
            (Some(mine), Some(theirs)) => Some(mine + theirs),
            (known, None) | (None, known) => known,
        };
        merge_way(&mut self.datagrams, other.datagrams.as_ref(), DatagramFlow::merge);
    }

    /// As [`merge`](Self::merge) of what clients receive, each over sockets of its own.
    fn merge_received(&mut self, other: &Self) {
        let overflowed = |way: &Self| way.datagrams.as_ref().and_then(|flow| flow.overflowed);
        let dropped = [overflowed(self), overflowed(other)];
        self.merge(other);
        if let Some(flow) = &mut self.datagrams {
            flow.overflowed = dropped.into_iter().flatten().reduce(|mine, theirs| mine + theirs);
        }
    }
}

/// Adds one direction to another, of which nothing may be known.
fn merge_way<T: Clone>(mine: &mut Option<T>, other: Option<&T>, merge: fn(&mut T, &T)) {
    match (mine, other) {
        (Some(mine), Some(other)) => merge(mine, other),
        (mine @ None, Some(other)) => *mine = Some(other.clone()),
        (_, None) => {}
    }
}

/// Bits a second of `bytes` in `span_ns` nanoseconds; 0 in no time.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
pub fn bits_per_s(bytes: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { bytes as f64 * 8.0 * 1e9 / span_ns as f64 }
}

impl StreamFigures {
    /// Adds the streams that another client carried at the same time. Bytes add up exactly; the span is
    /// the longer one, because each begins when the first byte of its own came. Intervals stay as they
    /// are: those of the other need not begin with them.
    pub fn merge(&mut self, other: &Self) {
        self.streams += other.streams;
        self.client_cpu_ns = self.client_cpu_ns.saturating_add(other.client_cpu_ns);
        self.server_cpu_ns = self.server_cpu_ns.saturating_add(other.server_cpu_ns);
        merge_way(&mut self.to_server, other.to_server.as_ref(), OneWay::merge);
        merge_way(&mut self.from_server, other.from_server.as_ref(), OneWay::merge_received);
    }

    /// Takes what the intervals hold for a direction of which the receiver's account is lost, or has no
    /// end: until there it is known.
    #[must_use]
    pub fn with_what_intervals_know(mut self) -> Self {
        type OfInterval = fn(&StreamInterval) -> Option<Portion>;
        let ways: [(&mut Option<OneWay>, OfInterval); 2] = [
            (&mut self.to_server, |interval| interval.to_server),
            (&mut self.from_server, |interval| interval.from_server),
        ];
        for (way, of) in ways {
            let portions = || self.intervals.iter().filter_map(of);
            let bytes: u64 = portions().map(|portion| portion.bytes).sum();
            if let Some(way) = way.as_mut().filter(|way| way.span_ns == 0)
                && bytes > 0
            {
                (way.received_bytes, way.span_ns) =
                    (bytes, portions().map(|portion| portion.duration_ns).sum());
                way.bits_per_s = bits_per_s(way.received_bytes, way.span_ns);
            }
        }
        self
    }

    /// Bytes received in both directions.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.ways().map(|way| way.received_bytes).sum()
    }

    /// The longer of the spans of both directions, nanoseconds.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        self.ways().map(|way| way.span_ns).max().unwrap_or(0)
    }

    fn ways(&self) -> impl Iterator<Item = &OneWay> {
        self.to_server.iter().chain(&self.from_server)
    }

    /// Rates, segments sent again and processor time a gigabyte, each with its formula.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let figure = |name: &str, value, unit: &str, formula: &str| Figure {
            name: name.into(),
            value,
            unit: unit.into(),
            formula: formula.into(),
        };
        let mut figures = Vec::new();
        for (name, way) in
            [("bits to server", &self.to_server), ("bits from server", &self.from_server)]
        {
            if let Some(way) = way.as_ref().filter(|way| way.span_ns > 0) {
                let formula = match &way.datagrams {
                    Some(_) => OF_DATAGRAMS,
                    None => "bytes received x 8 / s from the first byte to the end",
                };
                figures.push(figure(name, way.bits_per_s, "bit/s", formula));
            }
        }
        for (name, way) in [("to server", &self.to_server), ("from server", &self.from_server)] {
            let flow = way.as_ref().and_then(|way| way.datagrams.as_ref());
            figures.extend(flow.into_iter().flat_map(|flow| flow.figures(name)));
        }
        let again: Vec<u64> = self.ways().filter_map(|way| way.retransmits).collect();
        if !again.is_empty() {
            let value = real(again.iter().sum());
            figures.push(figure("sent again", value, "segments", "of the sender's TCP sockets"));
        }
        let bytes = self.received_bytes();
        for (name, cpu_ns) in
            [("client CPU", self.client_cpu_ns), ("server CPU", self.server_cpu_ns)]
        {
            if bytes > 0 && cpu_ns > 0 {
                let formula = "processor time of the threads that carry / 1e9 bytes received";
                // nanoseconds a byte are seconds a gigabyte
                figures.push(figure(name, real(cpu_ns) / real(bytes), "s/GB", formula));
            }
        }
        figures
    }

    /// Where the two sides counted differently although every stream ended well.
    #[must_use]
    pub fn difference(&self) -> Option<Finding> {
        let apart = |way: &OneWay| match way.datagrams {
            // some may be lost, and none can come that was not sent
            Some(_) => way.received_bytes.saturating_sub(way.sent_bytes),
            None => way.sent_bytes.abs_diff(way.received_bytes),
        };
        let way = self.ways().find(|way| apart(way) > 0)?;
        Some(Finding {
            kind: FindingKind::CountsDiffer,
            scope: Scope::Everything,
            text: format!(
                "the two sides counted differently: {} bytes sent, {} received",
                grouped(way.sent_bytes),
                grouped(way.received_bytes)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> StreamFigures {
        StreamFigures {
            streams: 1,
            to_server: Some(OneWay::new(5_000_000_000, 5_000_000_000, 2_000_000_000)),
            client_cpu_ns: 2_500_000_000,
            server_cpu_ns: 5_000_000_000,
            ..StreamFigures::default()
        }
    }

    #[test]
    fn rates_and_cost_follow_from_what_was_received() {
        let listed: Vec<(String, String)> = figures()
            .figures()
            .into_iter()
            .map(|figure| (figure.name, format!("{} {}", figure.value, figure.unit)))
            .collect();
        let expected = [
            ("bits to server", "20000000000 bit/s"),
            ("client CPU", "0.5 s/GB"),
            ("server CPU", "1 s/GB"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(listed, expected);
    }

    #[test]
    fn streams_of_several_clients_add_up() {
        let part = |span_ns, bytes| StreamFigures {
            streams: 2,
            to_server: Some(OneWay { retransmits: Some(3), ..OneWay::new(bytes, bytes, span_ns) }),
            client_cpu_ns: 5,
            ..StreamFigures::default()
        };
        let mut all = StreamFigures::default();
        all.merge(&part(1_000_000_000, 400));
        all.merge(&part(2_000_000_000, 600));
        let way = all.to_server.as_ref().expect("a way");
        assert_eq!(
            (way.sent_bytes, way.received_bytes, way.span_ns),
            (1_000, 1_000, 2_000_000_000)
        );
        assert!((way.bits_per_s - 4_000.0).abs() < 1e-9);
        assert_eq!((all.streams, all.client_cpu_ns, way.retransmits), (4, 10, Some(6)));
        assert_eq!(all.from_server, None);
    }

    #[test]
    fn what_receivers_dropped_adds_up_and_a_server_is_one_receiver() {
        let way = |overflowed| {
            let flow = DatagramFlow { overflowed, ..DatagramFlow::default() };
            Some(OneWay { datagrams: Some(flow), ..OneWay::default() })
        };
        let part = |overflowed| StreamFigures {
            to_server: way(overflowed),
            from_server: way(overflowed),
            ..StreamFigures::default()
        };
        let mut all = StreamFigures::default();
        [Some(100), None, Some(50)].map(part).iter().for_each(|part| all.merge(part));
        let dropped = |way: Option<OneWay>| way.unwrap().datagrams.unwrap().overflowed;
        assert_eq!((dropped(all.to_server), dropped(all.from_server)), (Some(100), Some(150)));
    }

    #[test]
    fn no_time_and_no_bytes_divide_by_nothing() {
        assert!(bits_per_s(5, 0).abs() < f64::EPSILON);
        let nothing = StreamFigures { to_server: Some(OneWay::default()), ..Default::default() };
        assert_eq!(nothing.figures(), [], "a rate that nobody knows is none");
    }

    #[test]
    fn what_intervals_hold_stands_for_an_account_that_is_lost() {
        let portion = |bytes| Some(Portion { bytes, duration_ns: 500_000_000, lost: None });
        let interval = |bytes| StreamInterval { to_server: portion(bytes), ..Default::default() };
        let lost = StreamFigures {
            to_server: Some(OneWay::new(9_000, 0, 0)),
            from_server: Some(OneWay::new(8, 8, 1_000)),
            intervals: vec![interval(5_000), interval(3_000)],
            ..StreamFigures::default()
        };
        let known = lost.clone().with_what_intervals_know();
        assert_eq!(known.to_server, Some(OneWay::new(9_000, 8_000, 1_000_000_000)));
        assert_eq!(known.from_server, lost.from_server);
        let nothing = StreamFigures { intervals: Vec::new(), ..lost };
        assert_eq!(nothing.clone().with_what_intervals_know(), nothing);
    }

    #[test]
    fn counts_that_differ_are_a_finding() {
        assert_eq!(figures().difference(), None);
        let mut lost = figures();
        lost.from_server = Some(OneWay::new(10, 9, 1));
        let found = lost.difference().expect("a finding");
        assert_eq!(found.kind, FindingKind::CountsDiffer);
        assert!(found.text.contains("10 bytes sent, 9 received"));
    }
}
