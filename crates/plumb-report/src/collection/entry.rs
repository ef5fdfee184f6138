//! A run in the reduced form in which a report over many holds it: figures without histograms.

use std::path::{Path, PathBuf};

use plumb_folder::{Block, RECORD, wall_ns};
use plumb_measure::{
    Distribution, FarHost, Finding, ForeignLimit, HostUse, ResultRecord, RunRecord,
};

use crate::figures::{failures_of, total};
use crate::labels::LabelMap;
use crate::trust::Trust;
use crate::verdict;

/// Findings of a run that are kept, the gravest first.
const FINDINGS_MAX: usize = 12;

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    /// As the record says it: RFC 3339 in UTC.
    pub(super) started: String,
    /// The same, nanoseconds since 1970.
    pub(super) started_ns: Option<u64>,
    pub(super) version: String,
    /// How far the run as a whole may be used.
    pub(super) trust: Trust,
    /// The verdict and how the run ended, in capitals.
    pub(super) heading: String,
    /// The limit of foreign load that was raised for it; `None` where none was.
    pub(super) raised: Option<ForeignLimit>,
    pub(super) findings: Vec<Finding>,
    /// Findings beyond those that are kept.
    pub(super) findings_left_out: usize,
    /// Number of its plan.
    pub(super) plan: usize,
    pub(super) seed: u64,
    pub(super) block: Option<Block>,
    /// The tool's own cost at the median, nanoseconds.
    pub(super) floor_ns: Option<u64>,
    pub(super) points: Vec<Point>,
}

/// One result of a run.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) labels: LabelMap,
    pub(super) trust: Trust,
    pub(super) operations: u64,
    pub(super) failures: u64,
    pub(super) dropped: u64,
    pub(super) throughput_per_s: f64,
    pub(super) times: Option<Times>,
    /// What a layer has to say beside times and throughput.
    pub(super) figures: Vec<Measure>,
    /// Processor time an operation of both sides, nanoseconds.
    pub(super) client_cpu_ns: Option<u64>,
    pub(super) server_cpu_ns: Option<u64>,
    pub(super) machine: Option<Machine>,
}

/// Quantiles of the response time, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) count: u64,
    pub(super) p25: u64,
    pub(super) p50: u64,
    pub(super) p75: u64,
    pub(super) p90: u64,
    pub(super) p99: u64,
    pub(super) p999: u64,
    pub(super) max: u64,
}

/// A figure of a layer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measure {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) value: f64,
    /// Made of response times: where these may not be used it may not either.
    pub(super) of_times: bool,
}

/// What the machine that drove the load did, percent of all processors and counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Machine {
    pub(super) busy_pct: Option<f64>,
    pub(super) interrupt_pct: Option<f64>,
    pub(super) foreign_pct: Option<f64>,
    pub(super) steal_pct: Option<f64>,
    pub(super) swapped_pages: Option<u64>,
    pub(super) retransmitted: Option<u64>,
}

impl Entry {
    /// What is kept of a record.
    pub(super) fn of(path: &Path, record: &RunRecord, block: Option<Block>, plan: usize) -> Self {
        let reasons = &record.validity.reasons;
        Self {
            path: path.into(),
            started: record.started.clone(),
            started_ns: wall_ns(&record.started),
            version: record.plumb.version.clone(),
            trust: Trust::of_run(record),
            heading: verdict::heading(record),
            raised: verdict::raised(&record.validity),
            findings: reasons.iter().take(FINDINGS_MAX).cloned().collect(),
            findings_left_out: reasons.len().saturating_sub(FINDINGS_MAX),
            plan,
            seed: record.plan.seed,
            block,
            floor_ns: record.floor.as_ref().map(|floor| floor.service_ns.p50),
            points: record
                .results
                .iter()
                .map(|result| Point::of(result, record.far.as_ref()))
                .collect(),
        }
    }

    /// The folder as a table shows it: its last name, with that of the experiment it lies in.
    pub(super) fn name(&self) -> String {
        let folder = if self.path.file_name().is_some_and(|name| name == RECORD) {
            self.path.parent().unwrap_or(&self.path)
        } else {
            &self.path
        };
        folder.file_name().map_or_else(
            || folder.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    pub(super) fn operations(&self) -> u64 {
        total(self.points.iter().map(|point| point.operations))
    }

    pub(super) fn failures(&self) -> u64 {
        total(self.points.iter().map(|point| point.failures.saturating_add(point.dropped)))
    }
}

impl Point {
    fn of(result: &ResultRecord, far: Option<&FarHost>) -> Self {
        let mut figures: Vec<Measure> =
            result.figures.iter().map(|it| Measure::of(&it.name, &it.unit, it.value)).collect();
        if let Some(niping) = &result.niping {
            let av2 = niping.av2_ms.map(|ms| Measure::of("av2", "ms", ms));
            // a rate by name, the size over av2 by its definition
            let tr2 = niping.tr2_kb_s.map(|rate| Measure::of("tr2", "kB/s", rate));
            let tr2 = tr2.map(|rate| Measure { of_times: true, ..rate });
            figures.extend(av2.into_iter().chain(tr2));
        }
        if let (Some(_), Some(busy)) = (far, result.far.as_ref().and_then(|host| host.busy_pct)) {
            figures.push(Measure::of("far host busy", "%", busy));
        }
        Self {
            labels: result.labels.clone(),
            trust: Trust::of(&result.validity),
            operations: result.operations,
            failures: failures_of(result),
            dropped: result.dropped,
            throughput_per_s: result.throughput_per_s,
            times: result.response_ns.as_ref().map(Times::of),
            figures,
            client_cpu_ns: result.cpu.map(|cpu| cpu.client_ns_per_op),
            server_cpu_ns: result.cpu.and_then(|cpu| cpu.server_ns_per_op),
            machine: result.host.as_ref().map(Machine::of),
        }
    }
}

impl Measure {
    fn of(name: &str, unit: &str, value: f64) -> Self {
        let of_times = matches!(unit, "ns" | "us" | "ms" | "s");
        Self { name: name.into(), unit: unit.into(), value, of_times }
    }
}

impl Times {
    pub(super) fn of(times: &Distribution) -> Self {
        Self {
            count: times.count,
            p25: times.p25,
            p50: times.p50,
            p75: times.p75,
            p90: times.p90,
            p99: times.p99,
            p999: times.p999,
            max: times.max,
        }
    }
}

impl Machine {
    fn of(host: &HostUse) -> Self {
        Self {
            busy_pct: host.busy_pct,
            interrupt_pct: host.interrupt_pct,
            foreign_pct: host.foreign_pct,
            steal_pct: host.steal_pct,
            swapped_pages: host.swapped_pages,
            retransmitted: host.retransmitted,
        }
    }
}
