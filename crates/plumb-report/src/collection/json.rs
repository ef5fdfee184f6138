//! Many runs as one JSON document.

use std::collections::BTreeMap;

use plumb_comparison::Comparison;
use plumb_measure::{Finding, Program};
use serde::Serialize;

use super::Collection;
use super::cell::{Cell, rounded};
use super::claim::Claim;
use super::entry::{Entry, Times};
use super::kind::RunGroup;
use super::naming::place_of;
use super::plan::Plan;
use crate::labels::LabelMap;

/// Name and version of the form.
pub const SCHEMA: &str = "plumb.report/1";

/// The whole document. Numbers of plans are counted from zero.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    plumb: Program,
    summary: Vec<String>,
    runs: Vec<RunDocument<'a>>,
    plans: Vec<PlanDocument<'a>>,
    points: Vec<PointDocument<'a>>,
    experiments: Vec<ExperimentDocument<'a>>,
    not_shown: Vec<UnreadDocument<'a>>,
}

#[derive(Serialize)]
struct RunDocument<'a> {
    path: String,
    started: &'a str,
    plan: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u64>,
    seed: u64,
    plumb: &'a str,
    validity: Verdict<'a>,
    operations: u64,
    failures: u64,
    results: usize,
}

#[derive(Serialize)]
struct Verdict<'a> {
    valid: bool,
    latency_valid: bool,
    heading: &'a str,
    reasons: &'a [Finding],
}

#[derive(Serialize)]
struct PlanDocument<'a> {
    layer: &'a str,
    verb: &'a str,
    load: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    experiment: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<usize>,
    runs: u64,
    command: &'a str,
    facts: &'a BTreeMap<String, String>,
    machine: &'a BTreeMap<String, String>,
}

/// One point of one plan, over the runs that repeat it.
#[derive(Serialize)]
struct PointDocument<'a> {
    plan: usize,
    labels: &'a LabelMap,
    valid: bool,
    latency_valid: bool,
    runs: usize,
    runs_in_times: usize,
    runs_in_throughput: usize,
    operations: u64,
    failures: u64,
    dropped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    throughput_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    throughput_range_per_s: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_ns: Option<TimesDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_range_ns: Option<(u64, u64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_cpu_ns_per_op: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_cpu_ns_per_op: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    busy_pct: Option<f64>,
    figures: Vec<MeasureDocument<'a>>,
}

#[derive(Serialize)]
struct TimesDocument {
    count: u64,
    p25: u64,
    p50: u64,
    p75: u64,
    p90: u64,
    p99: u64,
    p999: u64,
    max: u64,
}

#[derive(Serialize)]
struct MeasureDocument<'a> {
    name: &'a str,
    unit: &'a str,
    value: f64,
}

#[derive(Serialize)]
struct ExperimentDocument<'a> {
    folder: String,
    variants: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'a Comparison>,
}

#[derive(Serialize)]
struct UnreadDocument<'a> {
    place: &'a str,
    reason: &'a str,
    remedy: &'a str,
}

/// The collection as indented JSON with a line end.
#[must_use]
pub fn render(collection: &Collection) -> String {
    let points =
        collection.kinds.iter().flat_map(|kind: &RunGroup| &kind.cells).map(point).collect();
    let experiments = collection.experiments.iter().map(|found| ExperimentDocument {
        folder: place_of(&found.folder),
        variants: &found.variants,
        comparison: found.comparison.as_ref(),
    });
    let unread = collection.unread.iter().map(|one| UnreadDocument {
        place: &one.place,
        reason: &one.reason,
        remedy: one.remedy,
    });
    let document = Document {
        schema: SCHEMA,
        plumb: Program { version: collection.version.into() },
        summary: Claim::all(collection).into_iter().map(|claim| claim.text).collect(),
        runs: collection.entries.iter().map(run).collect(),
        plans: collection.plans.iter().map(plan).collect(),
        points,
        experiments: experiments.collect(),
        not_shown: unread.collect(),
    };
    match serde_json::to_string_pretty(&document) {
        Ok(text) => text + "\n",
        Err(error) => unreachable!("a report is made of plain values: {error}"),
    }
}

fn run(entry: &Entry) -> RunDocument<'_> {
    let (valid, latency_valid) = entry.trust.allows();
    RunDocument {
        path: place_of(&entry.path),
        started: &entry.started,
        plan: entry.plan,
        round: entry.block.map(|block| block.round),
        seed: entry.seed,
        plumb: &entry.version,
        validity: Verdict {
            valid,
            latency_valid,
            heading: &entry.heading,
            reasons: &entry.findings,
        },
        operations: entry.operations(),
        failures: entry.failures(),
        results: entry.points.len(),
    }
}

fn plan(plan: &Plan) -> PlanDocument<'_> {
    PlanDocument {
        layer: &plan.layer,
        verb: &plan.verb,
        load: &plan.load,
        experiment: plan.variant.map(|(experiment, _)| experiment),
        variant: plan.variant.map(|(_, variant)| variant),
        runs: plan.runs,
        command: &plan.command,
        facts: &plan.facts,
        machine: &plan.machine,
    }
}

fn point(cell: &Cell) -> PointDocument<'_> {
    let figures = &cell.figures;
    let (valid, latency_valid) = cell.trust().allows();
    PointDocument {
        plan: cell.plan,
        labels: &cell.labels,
        valid,
        latency_valid,
        runs: cell.members.len(),
        runs_in_times: figures.timed,
        runs_in_throughput: figures.rated,
        operations: figures.operations,
        failures: figures.failures,
        dropped: figures.dropped,
        throughput_per_s: figures.rate,
        throughput_range_per_s: figures.rates,
        response_ns: figures.times.map(times),
        p50_range_ns: figures.medians,
        client_cpu_ns_per_op: figures.client_cpu_ns.map(rounded),
        server_cpu_ns_per_op: figures.server_cpu_ns.map(rounded),
        busy_pct: figures.busy_pct,
        figures: figures
            .measures
            .iter()
            .map(|it| MeasureDocument { name: &it.name, unit: &it.unit, value: it.value })
            .collect(),
    }
}

fn times(times: Times) -> TimesDocument {
    let Times { count, p25, p50, p75, p90, p99, p999, max } = times;
    TimesDocument { count, p25, p50, p75, p90, p99, p999, max }
}
