//! A measurement in the log of a watch.

use plumb_measure::{FindingKind, RunRecord, show_ns};
use serde::{Deserialize, Serialize};

/// One measurement of a watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Entry {
    /// When it began, RFC 3339 in UTC.
    pub(super) at: String,
    /// The folder of its run, below that of the watch; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) run: Option<String>,
    /// Correct answers.
    #[serde(default)]
    pub(super) operations: u64,
    /// Failures.
    #[serde(default)]
    pub(super) failures: u64,
    /// Median and 95th percentile of the response, nanoseconds; absent without correct answers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) p95_ns: Option<u64>,
    /// Whether its figures may be used.
    pub(super) valid: bool,
    /// Why there are none, or what speaks against them first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) problem: Option<String>,
    /// Which thresholds were missed; absent where none was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) missed: Option<String>,
}

impl Entry {
    /// What came of a measurement that began at `at`, as its `record` in the folder `run` says.
    pub(super) fn of(at: String, run: String, record: &RunRecord) -> Self {
        let results = &record.results;
        let reasons = &record.validity.reasons;
        let missed = reasons.iter().find(|found| found.kind == FindingKind::ThresholdMissed);
        let times = results.first().and_then(|result| result.response_ns.as_ref());
        Self {
            at,
            run: Some(run),
            operations: results.iter().map(|result| result.operations).sum(),
            failures: results.iter().flat_map(|result| result.failures.values()).sum(),
            p50_ns: times.map(|times| times.p50),
            p95_ns: times.map(|times| times.p95),
            valid: record.validity.valid,
            problem: reasons.first().map(|found| found.text.clone()),
            missed: missed.map(|found| found.text.clone()),
        }
    }

    /// A measurement that began at `at` and came to nothing because of `problem`.
    pub(super) fn none(at: String, problem: String) -> Self {
        let problem = Some(problem);
        Self {
            at,
            run: None,
            operations: 0,
            failures: 0,
            p50_ns: None,
            p95_ns: None,
            valid: false,
            problem,
            missed: None,
        }
    }

    /// In a line, whatever of it comes from the other side.
    pub(super) fn shown(&self) -> String {
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".into(), show_ns);
        let problem = self.problem.as_ref().filter(|_| !self.valid);
        let remarks = problem.into_iter().chain(&self.missed).map(|text| format!("; {text}"));
        let remarks = remarks.collect::<String>().replace(char::is_control, " ");
        format!(
            "{}: p50 {}, p95 {}, {} failed{remarks}",
            self.at,
            time(self.p50_ns),
            time(self.p95_ns),
            self.failures
        )
    }
}
