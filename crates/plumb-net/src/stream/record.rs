//! What is written down of streams.

use std::collections::BTreeMap;

use plumb_engine::{Ending, LoadResult, Stop};
use plumb_measure::{
    ByteSize, CpuUse, DriverFacts, FailureKind, Finding, FindingKind, Recorder, ResultRecord,
    Scope, Slowest, StreamFigures, Validity,
};

use crate::carriage::Delivery;

/// The load of streams, for whoever puts those of several processes together: they have no rows.
pub(super) fn load_of(delivery: &Delivery) -> LoadResult<()> {
    LoadResult {
        recorder: Recorder::new(0),
        crews: Vec::new(),
        protocols: Vec::new(),
        intervals: Vec::new(),
        ending: Ending::Complete,
        began_ns: delivery.began_ns,
        duration_ns: delivery.figures.span_ns(),
        connections: delivery.figures.streams,
        warm_up_operations: 0,
        cpu_ns: delivery.figures.client_cpu_ns,
        transports: delivery.transports.clone(),
        slowest: Slowest::default(),
        tcp: None,
        told_names: Vec::new(),
        handshake_complaint: None,
    }
}

/// What is written down.
pub(super) fn result(
    labels: BTreeMap<String, String>,
    (size, wait): (ByteSize, &str),
    delivery: Delivery,
    stop: &Stop,
) -> ResultRecord {
    let validity = Validity::of(findings(&delivery, stop))
        .with(delivery.transports.mixed())
        .with(delivery.transports.not_smc());
    let broken =
        (delivery.broken > 0).then(|| (FailureKind::Closed.name().to_owned(), delivery.broken));
    let mut result = ResultRecord {
        labels,
        failures: broken.into_iter().collect(),
        validity,
        transports: delivery.transports.uses().to_vec(),
        ..ResultRecord::default()
    };
    add_figures(&mut result, (size, wait), delivery.figures);
    result
}

/// Adds what streams have carried. An operation is a buffer of `size` that arrived.
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
pub(super) fn add_figures(
    result: &mut ResultRecord,
    (size, wait): (ByteSize, &str),
    figures: StreamFigures,
) {
    let operations = figures.received_bytes() / size.bytes();
    let span_ns = figures.span_ns();
    let both = |of: fn(&plumb_measure::OneWay) -> u64| {
        let way = |way: &Option<plumb_measure::OneWay>| way.as_ref().map_or(0, of);
        (way(&figures.to_server), way(&figures.from_server))
    };
    let directions = figures.to_server.iter().chain(&figures.from_server).count() as u64;
    result.operations = operations;
    result.duration_ns = span_ns;
    let per_s = |operations: u64| operations as f64 * 1e9 / span_ns as f64;
    result.throughput_per_s = if span_ns == 0 { 0.0 } else { per_s(operations) };
    result.bytes_sent = both(|way| way.sent_bytes).0;
    result.bytes_received = both(|way| way.received_bytes).1;
    result.cpu = cost(&figures, operations);
    result.figures = figures.figures();
    result.driver = DriverFacts {
        wait: wait.into(),
        threads: figures.streams * directions.max(1),
        ..DriverFacts::default()
    };
    result.stream = Some(figures);
}

pub(super) fn nothing_arrived() -> Finding {
    let text = "no byte arrived".into();
    Finding { kind: FindingKind::NoOperations, scope: Scope::Everything, text }
}

fn cost(figures: &StreamFigures, operations: u64) -> Option<CpuUse> {
    Some(CpuUse {
        client_ns_per_op: figures.client_cpu_ns.checked_div(operations)?,
        server_ns_per_op: figures.server_cpu_ns.checked_div(operations).filter(|ns| *ns > 0),
        ..CpuUse::default()
    })
}

fn findings(delivery: &Delivery, stop: &Stop) -> Vec<Finding> {
    let everything = |kind, text: String| Some(Finding { kind, scope: Scope::Everything, text });
    let figures = &delivery.figures;
    let nothing =
        (figures.received_bytes() == 0 && delivery.broken == 0).then(|| Some(nothing_arrived()));
    let broken = (delivery.broken > 0).then(|| {
        let cause = delivery.trouble.as_deref().unwrap_or("see the log of the server");
        let text = format!("{} of {} streams broke: {cause}", delivery.broken, figures.streams);
        everything(FindingKind::Failures, text)
    });
    // streams that broke have lost bytes on the way
    let differ = (delivery.broken == 0).then(|| figures.difference());
    let cut_short = stop
        .asked()
        .then(|| everything(FindingKind::CutShort, "the run ended before its plan did".into()));
    let ways = [("to the server", &figures.to_server), ("from the server", &figures.from_server)];
    let datagrams = ways.iter().flat_map(|(words, way)| {
        let flow = way.as_ref().and_then(|way| way.datagrams.as_ref());
        // of one that never began nothing is to be said
        let flow = flow.into_iter().filter(|flow| flow.sent > 0);
        flow.flat_map(|flow| flow.findings(words))
    });
    let whole = [nothing, broken, differ, cut_short].into_iter().flatten().flatten();
    whole.chain(datagrams).collect()
}

#[cfg(test)]
mod tests {
    use plumb_measure::OneWay;

    use super::*;

    #[test]
    fn in_no_time_there_is_no_rate() {
        let way = OneWay::new(1_200, 1_200, 0);
        let figures = StreamFigures { streams: 1, to_server: Some(way), ..Default::default() };
        let mut result = ResultRecord::default();
        add_figures(&mut result, (ByteSize::of(1_200), ""), figures);
        assert_eq!(result.operations, 1);
        assert!(result.throughput_per_s.abs() < f64::EPSILON, "{}", result.throughput_per_s);
    }
}
