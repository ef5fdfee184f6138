//! Several clients at one server: what each measured, and what the server counted.

use serde::{Deserialize, Serialize};

use crate::{Finding, FindingKind, NipingFigures, Scope, grouped};

/// One client of several that ran at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientFigures {
    /// Its number, from one.
    pub client: u64,
    /// Address of its first connection; absent when none stood.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
    /// Correct answers.
    pub operations: u64,
    /// Failures of any kind.
    pub failures: u64,
    /// Correct answers a second.
    pub throughput_per_s: f64,
    /// Median response time, nanoseconds; absent when nothing succeeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50: Option<u64>,
    /// 99th percentile of the response time, nanoseconds; absent when nothing succeeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99: Option<u64>,
    /// The figures of niping.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub niping: Option<NipingFigures>,
    /// Messages that this client sent, those that are not recorded included.
    pub messages_sent: u64,
    /// Messages that the server counted of it; absent where it has several connections or the
    /// server does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub messages_at_server: Option<u64>,
}

/// What the counts of both sides say: `sent` messages of ours, `counted` by the server meanwhile.
/// Only a run without failures knows what it sent.
#[must_use]
pub fn counts_differ(sent: u64, counted: u64) -> Option<Finding> {
    let (scope, meaning) = match counted {
        _ if counted == sent => return None,
        _ if counted > sent => (Scope::Nothing, "others used it at the same time"),
        _ => (Scope::Everything, "it is not the server that was measured, or it lost messages"),
    };
    let text = format!(
        "the two sides counted differently: {} messages sent, {} counted by the server: {meaning}",
        grouped(sent),
        grouped(counted),
    );
    Some(Finding { kind: FindingKind::CountsDiffer, scope, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_at_the_server_is_a_remark_and_less_takes_everything_away() {
        assert_eq!(counts_differ(5, 5), None);
        assert_eq!(counts_differ(5, 6).map(|found| found.scope), Some(Scope::Nothing));
        assert_eq!(counts_differ(5, 4).map(|found| found.scope), Some(Scope::Everything));
    }
}
