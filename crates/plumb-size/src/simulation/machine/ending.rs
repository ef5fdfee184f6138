//! What was seen, once all events have been taken.

use super::super::flow::Move;
use super::super::places::Queue;
use super::super::tally::BATCHES;
use super::super::{Simulated, Used};
use super::{Kind, Machine, code};

impl Machine<'_> {
    /// A batch is over, or the warm-up; true when it was the last.
    pub(super) fn batch_ends(&mut self) -> bool {
        if self.recording {
            self.tally.end_batch();
            self.batches += 1;
        } else {
            self.recording = true;
            let now_s = self.now_s;
            self.flow.queues.iter_mut().for_each(|it| it.forget(now_s));
            self.flow.pools.iter_mut().for_each(|it| it.forget(now_s));
            self.flow.shared.iter_mut().for_each(|it| it.forget(now_s));
        }
        self.after(self.tally.batch_s(), code(Kind::Batch, 0, 0));
        self.batches == BATCHES
    }

    pub(super) fn ended(mut self) -> Simulated {
        let (now_s, for_s) = (self.now_s, self.plan.for_s);
        let order = std::mem::take(&mut self.flow.order);
        let used = order.into_iter().filter_map(|resource| {
            let (name, (share, waiting)) = match resource {
                Move::Queue(at) => named(&mut self.flow.queues[at], now_s, for_s),
                Move::Hold(at) => named(&mut self.flow.pools[at], now_s, for_s),
                Move::Shared(at) => {
                    let it = &mut self.flow.shared[at];
                    (it.name.clone(), it.used(now_s, for_s))
                }
                Move::Delay(_) | Move::Release(_) => return None,
            };
            Some(Used { name, share, waiting })
        });
        Simulated {
            resources: used.collect(),
            operations: self.tally.operations(),
            throughput_per_s: self.tally.throughput_per_s(),
            mean_s: self.tally.mean_s(),
            p95_s: self.tally.p95_s(),
            ..self.found
        }
    }
}

fn named(queue: &mut Queue, now_s: f64, for_s: f64) -> (String, (f64, f64)) {
    (queue.name.clone(), queue.used(now_s, for_s))
}

pub(super) fn nothing() -> Simulated {
    Simulated {
        operations: 0,
        events: 0,
        throughput_per_s: None,
        mean_s: None,
        p95_s: None,
        resources: Vec::new(),
        turned_away: 0,
        timed_out: 0,
        failed: 0,
        retried: 0,
        refused_sessions: 0,
        sessions_max: 0,
    }
}
