//! Runs under a limit of foreign load that was raised, and runs of which nobody knows the load.

use plumb_measure::{ForeignLimit, HostUse, LimitSource, RunRecord, Validity};

use super::single_ping;

/// A run beside a compiler, under a limit that the environment raised.
pub(crate) fn limit_raised() -> RunRecord {
    let limit =
        ForeignLimit { share: "60%".parse().expect("a share"), source: LimitSource::Environment };
    judged(HostUse { foreign_pct: Some(38.0), ..super::machine() }, limit)
}

/// A run that was too short for its machine to tell what others took.
pub(crate) fn not_checked() -> RunRecord {
    judged(HostUse { foreign_pct: None, ..super::machine() }, ForeignLimit::default())
}

fn judged(host: HostUse, limit: ForeignLimit) -> RunRecord {
    let mut record = single_ping();
    let result = &mut record.results[0];
    result.validity = std::mem::take(&mut result.validity).with_host(&host, limit);
    result.host = Some(host);
    record.validity = Validity::of_all([("", &record.results[0].validity)]);
    record
}
