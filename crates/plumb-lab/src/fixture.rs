//! Runs and blocks that no machine made, for the tests beside the code.

use std::collections::BTreeMap;
use std::path::Path;

use plumb_folder::IntervalLog;
use plumb_measure::{
    CpuUse, Distribution, Finding, FindingKind, Histogram, HostFacts, Plan, Program, ResultRecord,
    RunRecord, SCHEMA, Scope, Status, Target, Validity,
};

use crate::block::{Block, Point};
use crate::order::Turn;

/// What is found of a run whose load generator was the limit.
pub(crate) const LIMITED: (FindingKind, Scope) = (FindingKind::DriverLimited, Scope::Latency);

/// The program that made and compares them.
pub(crate) fn plumb() -> Program {
    Program { version: "0.0.0".into() }
}

/// A run of one result under an `open` or a `closed` load, at 100 operations a second whose median
/// is `p50_ns`, of which something may be `found`.
pub(crate) fn run(load: &str, p50_ns: u64, found: Option<(FindingKind, Scope)>) -> RunRecord {
    let mut times = Histogram::new();
    times.record_n(p50_ns, 1_000);
    let finding = |(kind, scope)| Finding { kind, scope, text: "found".into() };
    let validity = Validity::of(found.map(finding));
    let text = |text: &str| text.to_owned();
    RunRecord {
        schema: SCHEMA.into(),
        plumb: plumb(),
        started: text("2026-11-21T08:30:48Z"),
        status: Status::Complete,
        plan: Plan {
            layer: text("net"),
            verb: text("ping"),
            command: Vec::new(),
            options: BTreeMap::new(),
            load: text(load),
            seed: 1,
        },
        host: HostFacts {
            name: text("here"),
            kernel: text("Linux"),
            cpus: 2,
            placement: text("not pinned"),
            clock: text("CLOCK_MONOTONIC"),
            clock_read_ns: 20,
            facts: BTreeMap::new(),
        },
        far: None,
        target: Target { address: text("there"), transport: None, server: None },
        validity: validity.clone(),
        floor: None,
        results: vec![ResultRecord {
            operations: 1_000,
            throughput_per_s: 100.0,
            response_ns: Distribution::of(&times),
            cpu: Some(CpuUse { client_ns_per_op: 9_000, ..CpuUse::default() }),
            validity,
            ..ResultRecord::default()
        }],
    }
}

/// `record` as the block of `turn` in `round`, of which the variants have their turns in order.
pub(crate) fn block(turn: Turn, round: u64, record: RunRecord) -> Block {
    let log = IntervalLog::of(Path::new(""));
    let points = record.results.iter().map(|result| Point::of(result, &log).unwrap()).collect();
    Block { turn, round, number: 100 * round + turn.variant as u64, record, points }
}
