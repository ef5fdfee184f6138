//! From what was recorded to what is written down.

use std::collections::BTreeMap;

use plumb_measure::{
    CpuUse, Distribution, DriverFacts, Histogram, LengthFigures, LoadFacts, Recorder, ResultRecord,
    Validity,
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
    let attempts = operations + failures.total();
    ResultRecord {
        labels,
        operations,
        failures: failures.iter().map(|(kind, n)| (kind.name().to_owned(), n)).collect(),
        dropped: recorder.dropped,
        duration_ns: load.duration_ns,
        throughput_per_s: operations as f64 * 1e9 / load.duration_ns.max(1) as f64,
        response_ns: merged(recorder, |row| &row.response),
        service_ns: merged(recorder, |row| &row.service),
        first_byte_ns: merged(recorder, |row| &row.first_byte),
        connect_ns: Distribution::of(&recorder.connect),
        tls_ns: Distribution::of(&recorder.handshake),
        codes: codes(recorder),
        length: length(recorder),
        bytes_sent: recorder.bytes_sent,
        bytes_received: recorder.bytes_received,
        cpu: load
            .cpu_ns
            .checked_div(attempts)
            .filter(|ns| *ns > 0)
            .map(|client_ns_per_op| CpuUse { client_ns_per_op, ..CpuUse::default() }),
        niping: None,
        figures: Vec::new(),
        attribution: None,
        validity: Validity::of_load(recorder, facts),
        driver: DriverFacts {
            name: None,
            wait: plan.waiting.describe().into(),
            threads: plan.threads.get() as u64,
            passes: recorder.passes,
            idle_passes: recorder.idle_passes,
            lag_ns: Distribution::of(&recorder.lag),
            quiet_closes: recorder.quiet_closes,
            warm_up_operations: load.warm_up_operations,
        },
        host: None,
        far: None,
        intervals: load.intervals.clone(),
        batches: match recorder.rows() {
            [row] => row.batches.means(),
            _ => None, // operations of different kinds have no common order
        },
    }
}

fn merged(
    recorder: &Recorder,
    which: impl Fn(&plumb_measure::Row) -> &Histogram,
) -> Option<Distribution> {
    let mut all = Histogram::new();
    recorder.rows().iter().for_each(|row| all.merge(which(row)));
    Distribution::of(&all)
}

fn codes(recorder: &Recorder) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (code, n) in recorder.rows().iter().flat_map(|row| row.codes.iter()) {
        *all.entry(code.to_string()).or_default() += n;
    }
    all
}

fn length(recorder: &Recorder) -> Option<LengthFigures> {
    let mut all = Histogram::new();
    recorder.rows().iter().for_each(|row| all.merge(&row.lengths.histogram()));
    (!all.is_empty()).then(|| LengthFigures {
        min: all.min(),
        p50: all.quantile(0.5),
        max: all.max(),
    })
}
