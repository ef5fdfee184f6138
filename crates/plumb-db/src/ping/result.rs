//! What is known of a load of calls beside what every load leaves.

use plumb_engine::LoadResult;
use plumb_measure::{CpuUse, Histogram, ResultRecord};

use crate::drive::{WAIT, WAIT_ALONE};
use crate::statement::Over;

/// How long calls took since they were due.
pub(super) fn response(result: &LoadResult<()>) -> &Histogram {
    static NONE: std::sync::LazyLock<Histogram> = std::sync::LazyLock::new(Histogram::new);
    result.recorder.rows().first().map_or(&*NONE, |row| &row.response)
}

/// Counts operations that were looked into among those of `record`, and among those that have taken the
/// processor time of the load, `cpu_ns` nanoseconds.
pub(super) fn count_observed(record: &mut ResultRecord, observed: u64, cpu_ns: u64) {
    record.observed = observed;
    record.operations = record.operations.saturating_add(observed);
    let others = record.failures.values().copied().chain([record.refused]);
    let asked = others.fold(record.operations, u64::saturating_add);
    let cpu_ns = cpu_ns.checked_div(asked).filter(|ns| *ns > 0);
    record.cpu = cpu_ns
        .map(|client_ns_per_op| CpuUse { client_ns_per_op, ..record.cpu.unwrap_or_default() });
}

/// Names who asked, and how it waited; a rate counts calls that were looked into as well.
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
pub(super) fn name_driver(record: &mut ResultRecord, name: &str, over: Over) {
    record.throughput_per_s = record.operations as f64 * 1e9 / record.duration_ns.max(1) as f64;
    record.driver.name = Some(name.into());
    record.driver.wait = if over == Over::Kept { WAIT_ALONE } else { WAIT }.into();
    if let Some(trip) = &mut record.round_trip {
        trip.stamp_costs_ns = None; // not known: a call has more to it than its messages
    }
}
