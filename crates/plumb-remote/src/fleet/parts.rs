//! What came of each remote's part of one load.

use plumb_engine::layer::RemoteLoad;
use plumb_engine::{Ending, IntervalRecords, LoadResult};
use plumb_measure::{ResultRecord, Slowest, Transports};

/// The parts of one load while they come in.
#[derive(Debug)]
pub(super) struct Parts {
    parts: Vec<PartState>,
    /// How many of them are not over.
    open: usize,
}

#[derive(Debug, Default)]
struct PartState {
    /// What its intervals told, as long as it has not ended by itself.
    so_far: Option<LoadResult<()>>,
    outcome: Option<LoadResult<()>>,
    started_ns: Option<u64>,
    result: Option<ResultRecord>,
    lost: Option<String>,
}

impl PartState {
    /// True when everything is there, or nothing more will come.
    fn is_over(&self) -> bool {
        self.lost.is_some() || (self.outcome.is_some() && self.result.is_some())
    }
}

impl Parts {
    pub(super) fn new(count: usize) -> Self {
        Self { parts: (0..count).map(|_| PartState::default()).collect(), open: count }
    }

    /// True when everything is there of each that is not lost.
    pub(super) fn are_over(&self) -> bool {
        self.open == 0
    }

    /// Changes the part `at`, unless it is over; true when it is by that.
    fn change(&mut self, at: usize, change: impl FnOnce(&mut PartState)) -> bool {
        let part = &mut self.parts[at];
        if part.is_over() {
            return false;
        }
        change(part);
        self.open -= usize::from(part.is_over());
        part.is_over()
    }

    pub(super) fn interval(&mut self, at: usize, records: &IntervalRecords) {
        self.change(at, |part| match &mut part.so_far {
            None => part.so_far = Some(begun(records)),
            Some(so_far) if so_far.recorder.shape() == records.recorder.shape() => {
                so_far.recorder.merge(&records.recorder);
                so_far.duration_ns = so_far.duration_ns.max(end_ns(records));
                so_far.cpu_ns = so_far.cpu_ns.saturating_add(cpu_ns(records));
                so_far.intervals.push(records.figures);
            }
            Some(_) => {} // of another plan: the assembly says so
        });
    }

    pub(super) fn loaded(&mut self, at: usize, started_ns: Option<u64>, outcome: LoadResult<()>) {
        self.change(at, |part| (part.started_ns, part.outcome) = (started_ns, Some(outcome)));
    }

    pub(super) fn result(&mut self, at: usize, result: ResultRecord) {
        self.change(at, |part| part.result = Some(result));
    }

    /// Nothing more comes of the part `at`; true when that was not known, and not over.
    pub(super) fn lose(&mut self, at: usize, cause: &str) -> bool {
        self.change(at, |part| part.lost = Some(cause.to_owned()))
    }

    /// What is known of each, in their order.
    pub(super) fn into_loads(self, names: impl Iterator<Item = String>) -> Vec<RemoteLoad> {
        let of = |(part, name): (PartState, String)| RemoteLoad {
            name,
            load: part.outcome.or(part.so_far),
            started_ns: part.started_ns,
            result: part.result,
            lost: part.lost,
        };
        self.parts.into_iter().zip(names).map(of).collect()
    }
}

/// When the interval ended, nanoseconds after the start of the recorded part.
fn end_ns(records: &IntervalRecords) -> u64 {
    records.figures.start_ns.saturating_add(records.figures.duration_ns)
}

/// The processor time that its threads used in it, nanoseconds.
fn cpu_ns(records: &IntervalRecords) -> u64 {
    records.drivers.iter().fold(0, |sum, (_, ns)| sum.saturating_add(*ns))
}

/// A load of which only its first interval is known.
fn begun(records: &IntervalRecords) -> LoadResult<()> {
    LoadResult {
        recorder: records.recorder.clone(),
        crews: Vec::new(),
        protocols: Vec::new(),
        intervals: vec![records.figures],
        ending: Ending::Complete,
        began_ns: records.began_ns,
        duration_ns: end_ns(records),
        connections: 0,
        warm_up_operations: 0,
        cpu_ns: cpu_ns(records),
        transports: Transports::default(),
        slowest: Slowest::default(),
        tcp: None,
        told_names: Vec::new(),
        handshake_complaint: None,
    }
}
