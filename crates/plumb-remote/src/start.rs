//! How remotes began a load together, and what that means for its intervals.

use std::collections::BTreeMap;

use plumb_engine::layer::RemoteLoad;
use plumb_measure::{ResultRecord, show_ns};
use serde_json::Value;

/// Names in a record how far apart remotes began: the most of all loads.
const SPREAD: &str = "remotes-start-spread-ns";

/// How far apart the parts of a load began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonStart {
    remotes: usize,
    /// Between the first and the last, as far as their clocks are known, nanoseconds.
    spread_ns: u64,
    /// What the least known of their clocks may be off, nanoseconds.
    uncertainty_ns: u64,
}

impl CommonStart {
    /// That of the parts `loads`; the least known of the clocks may be off by `uncertainty_ns`.
    #[must_use]
    pub fn of(loads: &[RemoteLoad], uncertainty_ns: u64) -> Self {
        let started = || loads.iter().filter_map(|load| load.started_ns);
        Self {
            remotes: started().count(),
            spread_ns: started().max().unwrap_or(0) - started().min().unwrap_or(0),
            uncertainty_ns,
        }
    }

    /// Says so in `result` and among the `options` in force.
    pub fn testify(self, result: &mut ResultRecord, options: &mut BTreeMap<String, Value>) {
        let most_ns = options.get(SPREAD).and_then(Value::as_u64).unwrap_or(0);
        options.insert(SPREAD.into(), most_ns.max(self.spread_ns).into());
        if self.remotes < 2 {
            return; // there is nobody to begin together with
        }
        let interval_ns = result.intervals.iter().map(|it| it.duration_ns).max().unwrap_or(0);
        let too_far = self.is_too_far(interval_ns);
        let validity = std::mem::take(&mut result.validity);
        result.validity = validity.with_remotes(self.said(), too_far);
    }

    fn said(self) -> String {
        let Self { remotes, spread_ns, uncertainty_ns } = self;
        let (spread, off) = (show_ns(spread_ns), show_ns(uncertainty_ns));
        format!("{remotes} remotes began within {spread} of each other, by clocks known to {off}")
    }

    /// Rates of an interval are sums only where it is the same for all of them.
    fn is_too_far(self, interval_ns: u64) -> bool {
        interval_ns > 0 && self.spread_ns.saturating_add(self.uncertainty_ns) > interval_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_that_began_an_interval_apart_are_too_far() {
        let ms = 1_000_000;
        let start = CommonStart { remotes: 8, spread_ns: 90 * ms, uncertainty_ns: 5 * ms };
        assert!(!start.is_too_far(100 * ms));
        assert!(!start.is_too_far(0), "there are no intervals");
        let unknown = CommonStart { uncertainty_ns: 20 * ms, ..start };
        assert!(unknown.is_too_far(100 * ms));
        let said = "8 remotes began within 90.0 ms of each other, by clocks known to 20.0 ms";
        assert_eq!(unknown.said(), said);
    }
}
