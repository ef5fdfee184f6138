//! What came of each remote's part of one load.

use plumb_engine::layer::RemoteLoad;
use plumb_engine::{CrewFigures, Ending, IntervalRecords, LoadResult};
use plumb_measure::{ResultRecord, Slowest, Transports};

/// The parts of one load while they come in.
#[derive(Debug)]
pub(super) struct Parts(Vec<PartState>);

#[derive(Debug, Default)]
struct PartState {
    /// What its intervals told, as long as it has not ended by itself.
    so_far: Option<LoadResult<()>>,
    outcome: Option<LoadResult<()>>,
    started_ns: Option<u64>,
    result: Option<ResultRecord>,
    lost: Option<String>,
}

impl Parts {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| PartState::default()).collect())
    }

    /// True when everything is there of each that is not lost.
    pub(super) fn are_over(&self) -> bool {
        self.0
            .iter()
            .all(|part| part.lost.is_some() || (part.outcome.is_some() && part.result.is_some()))
    }

    pub(super) fn interval(&mut self, at: usize, records: &IntervalRecords) {
        let part = &mut self.0[at];
        match &mut part.so_far {
            None => part.so_far = Some(begun(records)),
            Some(so_far) => {
                so_far.recorder.merge(&records.recorder);
                let end_ns = records.figures.start_ns + records.figures.duration_ns;
                so_far.duration_ns = so_far.duration_ns.max(end_ns);
                so_far.cpu_ns += records.drivers.iter().map(|(_, ns)| ns).sum::<u64>();
                so_far.intervals.push(records.figures);
            }
        }
    }

    pub(super) fn loaded(&mut self, at: usize, started_ns: Option<u64>, outcome: LoadResult<()>) {
        let part = &mut self.0[at];
        (part.started_ns, part.outcome) = (started_ns, Some(outcome));
    }

    pub(super) fn result(&mut self, at: usize, result: ResultRecord) {
        self.0[at].result = Some(result);
    }

    /// Nothing more comes of the part `at`; true when that was not known, and not over.
    pub(super) fn lose(&mut self, at: usize, cause: &str) -> bool {
        let part = &mut self.0[at];
        let over = part.outcome.is_some() && part.result.is_some();
        if over || part.lost.is_some() {
            return false;
        }
        part.lost = Some(cause.to_owned());
        true
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
        self.0.into_iter().zip(names).map(of).collect()
    }
}

/// A load of which only its first interval is known.
fn begun(records: &IntervalRecords) -> LoadResult<()> {
    LoadResult {
        recorder: records.recorder.clone(),
        crews: vec![CrewFigures::default()],
        protocols: Vec::new(),
        intervals: vec![records.figures],
        ending: Ending::Complete,
        began_ns: records.began_ns,
        duration_ns: records.figures.start_ns + records.figures.duration_ns,
        connections: 0,
        warm_up_operations: 0,
        cpu_ns: records.drivers.iter().map(|(_, ns)| ns).sum(),
        transports: Transports::default(),
        slowest: Slowest::default(),
        tcp: None,
    }
}
