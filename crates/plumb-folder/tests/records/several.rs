//! Several clients at one server, and several streams to one.

use plumb_measure::{
    ClientFigures, OneWay, Overlap, Portion, ResultRecord, RunRecord, StreamFigures,
    StreamInterval, Validity, carried_kb_s, counts_differ,
};

use super::build::{labels, run};
use super::single_ping;

/// Four clients at one server, which counted a message more than the last of them sent.
pub(crate) fn four_clients() -> RunRecord {
    let mut record = single_ping();
    let result = &mut record.results[0];
    result.labels.insert("clients".into(), "4".into());
    let each = |client: u64| ClientFigures {
        client,
        address: Some(format!("10.20.0.{client}:40000")),
        operations: 13_000,
        throughput_per_s: 1_300.0,
        carried_kb_s: Some(carried_kb_s(1_000, 1_300.0)),
        p50: Some(180_000 + client * 1_000),
        p99: Some(290_000),
        niping: result.niping,
        messages_sent: 13_201,
        messages_at_server: Some(if client == 4 { 13_202 } else { 13_201 }),
        ..ClientFigures::default()
    };
    result.clients = (1..=4).map(each).collect();
    result.overlap = Some(Overlap {
        span_ns: 9_000_000_000,
        operations: 46_800,
        throughput_per_s: 5_200.0,
        carried_kb_s: Some(carried_kb_s(1_000, 5_200.0)),
    });
    result.niping = None;
    result.validity = Validity::of(counts_differ(52_804, 52_805));
    record.validity = Validity::of_all([("", &result.validity)]);
    record
}

/// One and five streams to the server, and what each second of them carried.
pub(crate) fn streams() -> RunRecord {
    let of = |streams: u64, bytes: u64| {
        let seconds = (0..2).map(|second| StreamInterval {
            start_ns: second * 1_000_000_000,
            to_server: Some(Portion { bytes: bytes / 2, duration_ns: 1_000_000_000, lost: None }),
            from_server: None,
        });
        let figures = StreamFigures {
            streams,
            to_server: Some(OneWay {
                retransmits: Some(streams - 1),
                ..OneWay::new(bytes, bytes, 2_000_000_000)
            }),
            client_cpu_ns: 1_900_000_000,
            server_cpu_ns: 1_700_000_000,
            intervals: seconds.collect(),
            ..StreamFigures::default()
        };
        ResultRecord {
            labels: labels(&[("streams", &streams.to_string()), ("direction", "to server")]),
            operations: bytes / 262_144,
            duration_ns: figures.span_ns(),
            bytes_sent: bytes,
            figures: figures.figures(),
            validity: Validity::of([]),
            stream: Some(figures),
            ..ResultRecord::default()
        }
    };
    let results = vec![of(1, 10_000_000_000), of(5, 16_000_000_000)];
    let mut record = run("net", "stream", "10.20.0.5:3298", results);
    record.floor = None;
    record
}
