//! From what was recorded to what is written down.

use std::collections::BTreeMap;

use plumb_measure::{
    ClientFigures, Codes, CpuUse, Distribution, DriverFacts, Histogram, LengthFigures, LoadFacts,
    Overlap, PartRecord, Recorded, Recorder, ResultRecord, RoundTrip, RoundTripTimes, Row,
    StallEvidence, Ticks, Validity,
};

use crate::drive::Ending;
use crate::load::LoadResult;
use crate::plan::LoadPlan;

/// Whether answers of one length were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Every answer must be as long as the others.
    Same,
    /// Answers may differ.
    Any,
}

/// The result of a load, all its rows together.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
pub fn result_record<P>(
    plan: &LoadPlan,
    labels: BTreeMap<String, String>,
    lengths: Lengths,
    load: &LoadResult<P>,
) -> ResultRecord {
    let recorder = &load.recorder;
    let (operations, failures) = (recorder.operations(), recorder.failures());
    let facts = LoadFacts {
        open: plan.open(),
        lag_bound: plan.lag_bound,
        one_length: lengths == Lengths::Same,
        cut_short: load.ending != Ending::Complete,
    };
    let slowest = load.slowest.clone().into_samples();
    let service = merged(recorder, |row| &row.service);
    let first_byte = merged(recorder, |row| &row.first_byte);
    let attempts = operations + failures.total() + recorder.refused();
    ResultRecord {
        labels,
        operations,
        failures: failures.iter().map(|(kind, n)| (kind.name().to_owned(), n)).collect(),
        connect_failures: recorder.connect_failures.total(),
        refused: recorder.refused(),
        dropped: recorder.dropped,
        duration_ns: load.duration_ns,
        throughput_per_s: operations as f64 * 1e9 / load.duration_ns.max(1) as f64,
        response_ns: Distribution::of(&merged(recorder, |row| &row.response)),
        service_ns: Distribution::of(&service),
        round_trip: round_trip(plan, recorder, &service),
        first_byte_ns: Distribution::of(&first_byte),
        connect_ns: Distribution::of(&recorder.connect),
        tls_ns: Distribution::of(&recorder.handshake),
        tls_resumed: (!recorder.handshake.is_empty()).then_some(recorder.resumed),
        failed_ns: failed(recorder),
        codes: codes(recorder, |row| &row.codes),
        unexpected_codes: codes(recorder, |row| &row.unexpected),
        length: length(recorder),
        bytes_sent: recorder.bytes_sent,
        bytes_received: recorder.bytes_received,
        cpu: load
            .cpu_ns
            .checked_div(attempts)
            .filter(|ns| *ns > 0)
            .map(|client_ns_per_op| CpuUse { client_ns_per_op, ..CpuUse::default() }),
        validity: Validity::of_load(recorder, facts)
            .with_stalls(&StallEvidence {
                service: &service,
                first_byte: &first_byte,
                connect: &recorder.connect,
                bytes_received: recorder.bytes_received,
                slowest: &slowest,
                tcp: load.tcp.as_ref(),
                quick_ack: plan.quick_ack,
            })
            .with(load.transports.mixed())
            .with(load.transports.not_smc())
            .with_handshake(load.handshake_complaint.as_deref()),
        transports: load.transports.uses().to_vec(),
        driver: driver_facts(plan, load),
        tcp: load.tcp,
        slowest,
        intervals: load.intervals.clone(),
        batches: match recorder.rows() {
            [row] => row.batches.means(),
            _ => None, // operations of different kinds have no common order
        },
        ..ResultRecord::default()
    }
}

/// The stamped messages of all rows together.
fn round_trip(plan: &LoadPlan, recorder: &Recorder, service: &Histogram) -> Option<RoundTrip> {
    let every = plan.stamps?;
    let mut all = RoundTripTimes::default();
    recorder.rows().iter().filter_map(|row| row.round_trip.as_ref()).for_each(|it| all.merge(it));
    RoundTrip::of(&all, every, Distribution::of(service).as_ref())
}

/// How busy the load generator was.
fn driver_facts<P>(plan: &LoadPlan, load: &LoadResult<P>) -> DriverFacts {
    let recorder = &load.recorder;
    DriverFacts {
        name: None,
        wait: plan.waiting.describe().into(),
        tick: Some(Ticks::of_client(plan.tick)),
        threads: plan.threads.get() as u64,
        passes: recorder.passes,
        idle_passes: recorder.idle_passes,
        lag_ns: Distribution::of(&recorder.lag),
        start_up_ns: Distribution::of(&recorder.start_up),
        quiet_closes: recorder.quiet_closes,
        warm_up_operations: load.warm_up_operations,
    }
}

fn merged(recorder: &Recorder, which: impl Fn(&Row) -> &Histogram) -> Histogram {
    let mut all = Histogram::new();
    recorder.rows().iter().for_each(|row| all.merge(which(row)));
    all
}

/// The part of a load that one of its rows recorded, under the `name` of the row.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
pub fn part_record<P>(name: String, row: &Row, load: &LoadResult<P>) -> PartRecord {
    PartRecord {
        name,
        operations: row.response.count(),
        failures: row.failures.iter().map(|(kind, n)| (kind.name().to_owned(), n)).collect(),
        throughput_per_s: row.response.count() as f64 * 1e9 / load.duration_ns.max(1) as f64,
        response_ns: Distribution::of(&row.response),
        service_ns: Distribution::of(&row.service),
        first_byte_ns: Distribution::of(&row.first_byte),
        failed_ns: row.failed.as_deref().and_then(Distribution::of),
        codes: row.codes.iter().map(|(code, n)| (code.to_string(), n)).collect(),
        length: length_figures(&row.lengths),
        ..PartRecord::default()
    }
}

/// The figures of each of several clients that drove `loads` of one plan at the same time.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
pub fn client_figures(loads: &[LoadResult<()>]) -> Vec<ClientFigures> {
    let of = |(client, load): (u64, &LoadResult<()>)| {
        let recorder = &load.recorder;
        let times = merged(recorder, |row| &row.response);
        let known = !times.is_empty();
        let operations = recorder.operations();
        ClientFigures {
            client,
            address: load.transports.first().map(|transport| transport.local.clone()),
            operations,
            failures: recorder.failures().total(),
            throughput_per_s: operations as f64 * 1e9 / load.duration_ns.max(1) as f64,
            carried_kb_s: None,
            p50: known.then(|| times.quantile(0.5)),
            p99: known.then(|| times.quantile(0.99)),
            niping: None,
            messages_sent: operations + load.warm_up_operations,
            messages_at_server: None,
        }
    };
    (1..).zip(loads).map(of).collect()
}

/// What the clients that drove `loads` did while all of them ran; `payload_bytes` of a message that
/// comes back as it went.
#[must_use]
pub fn client_overlap(loads: &[LoadResult<()>], payload_bytes: Option<u64>) -> Option<Overlap> {
    let recorded =
        loads.iter().map(|load| Recorded { began_ns: load.began_ns, intervals: &load.intervals });
    Overlap::of(&recorded.collect::<Vec<_>>(), payload_bytes)
}

fn failed(recorder: &Recorder) -> Option<Distribution> {
    let mut all = Histogram::new();
    recorder.rows().iter().flat_map(|row| row.failed.as_deref()).for_each(|row| all.merge(row));
    Distribution::of(&all)
}

fn codes(recorder: &Recorder, which: impl Fn(&Row) -> &Codes) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (code, n) in recorder.rows().iter().flat_map(|row| which(row).iter()) {
        *all.entry(code.to_string()).or_default() += n;
    }
    all
}

fn length(recorder: &Recorder) -> Option<LengthFigures> {
    let mut all = plumb_measure::Lengths::default();
    recorder.rows().iter().for_each(|row| all.merge(&row.lengths));
    length_figures(&all)
}

fn length_figures(lengths: &plumb_measure::Lengths) -> Option<LengthFigures> {
    let all = lengths.histogram();
    let quartile = |q| (all.min() < all.max()).then(|| lengths.quantile(q));
    (!all.is_empty()).then(|| LengthFigures {
        min: all.min(),
        p25: quartile(0.25),
        p50: lengths.quantile(0.5),
        p75: quartile(0.75),
        max: all.max(),
    })
}
