//! Locks that remotes take and release together.

use plumb_engine::Lengths;
use plumb_engine::layer::{Spread, SpreadParts, SpreadPoint};
use plumb_measure::ResultRecord;

use super::figures::{add_pairs, enqueues_a_minute};
use super::{LoadJob, Work, Workload, labels};

impl Spread for LoadJob {
    fn points(&self) -> Vec<SpreadPoint> {
        let plans = self.plans.iter().cloned();
        plans
            .map(|plan| SpreadPoint { labels: labels(&plan), plan, lengths: Lengths::Any })
            .collect()
    }

    fn conclude(&mut self, _: usize, result: &mut ResultRecord, _: &SpreadParts<'_>) {
        match self.workload {
            Work::Script(Workload::Sales) => {
                let enqueues = result.parts.first().map_or(0.0, |part| part.throughput_per_s);
                result.figures.push(enqueues_a_minute(enqueues));
            }
            _ => add_pairs(result),
        }
    }
}
