//! Simulated tags: seeded, at any rate.

use std::time::Duration;

use plumb_engine::clock::{MonotonicClock, wall_ns};
use plumb_measure::Clock as _;

use super::shape::{Shape, mixed};
use super::{Feed, Outlet, TagName};
use crate::change::{Change, Position, Quality, TagValue};

/// Changes that are handed over at once, at most.
const BATCH: u64 = 500;
/// Changes that are late by more than this were never seen: a machine does not wait.
const LATE_NS: u64 = 1_000_000_000;

/// What is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct SimPlan {
    /// Of all that is drawn.
    pub seed: u64,
    /// In turns, a change each.
    pub tags: Vec<SimTag>,
    /// Changes a second, of all tags together; `None`: as fast as they are taken.
    pub rate: Option<f64>,
    /// Changes until it ends; `None`: it does not.
    pub changes: Option<u64>,
}

/// A simulated tag.
#[derive(Clone, Debug, PartialEq)]
pub struct SimTag {
    /// Its name.
    pub name: TagName,
    /// How its value goes.
    pub shape: Shape,
}

impl SimPlan {
    /// Change number `n`, from 0.
    fn change(&self, n: u64, time_ms: u64) -> Change {
        let count = self.tags.len() as u64;
        let place = usize::try_from(n % count).unwrap_or(0);
        let tag = &self.tags[place];
        let number = tag.shape.value(mixed(self.seed ^ mixed(n % count)), n / count);
        Change {
            tag: TagName::clone(&tag.name),
            // six digits behind the point are what a sensor has, and shorter
            value: TagValue::Number((number * 1e6).round() / 1e6),
            time_ms,
            quality: Quality::Good,
            after: Position { at: n + 1, part: 0, within: 0 },
        }
    }
}

/// Which changes are due.
#[derive(Debug)]
struct Pacer {
    rate: f64,
    /// The change that was due at the beginning.
    first: u64,
    began_ns: u64,
}

impl Pacer {
    /// The first change that is not due yet.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a rate is positive, and a time below 2^53 microseconds"
    )]
    fn due(&self, now_ns: u64) -> u64 {
        let passed = now_ns.saturating_sub(self.began_ns) as f64 / 1e9;
        self.first + (passed * self.rate) as u64 + 1
    }
}

/// Brings changes at their rate.
pub(super) async fn run(plan: &SimPlan, outlet: Outlet) {
    let end = plan.changes.unwrap_or(u64::MAX);
    let mut next = outlet.from.at;
    let Some(rate) = plan.rate else {
        while next < end {
            let until = end.min(next + BATCH);
            if !bring(plan, &outlet, (next, until), 0).await {
                return;
            }
            next = until;
        }
        return;
    };
    let pacer = Pacer { rate, first: next, began_ns: MonotonicClock.now_ns() };
    // neither more often than a thousand times a second nor late by more than the time of a change
    let pause = Duration::from_secs_f64((0.5 / rate).clamp(0.001, 0.5));
    while next < end {
        let now_ns = MonotonicClock.now_ns();
        let due = pacer.due(now_ns).min(end);
        let in_time = pacer.due(now_ns.saturating_sub(LATE_NS)).min(end);
        let missed = in_time.saturating_sub(1).saturating_sub(next);
        next += missed;
        if next >= due && missed == 0 {
            tokio::time::sleep(pause).await;
            continue;
        }
        let until = due.min(next + BATCH);
        if !bring(plan, &outlet, (next, until), missed).await {
            return;
        }
        next = until;
    }
}

async fn bring(plan: &SimPlan, outlet: &Outlet, numbers: (u64, u64), never_seen: u64) -> bool {
    let time_ms = wall_ns() / 1_000_000;
    let changes = (numbers.0..numbers.1).map(|n| plan.change(n, time_ms)).collect();
    outlet.put(Feed { changes, never_seen, ..Feed::default() }).await
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    fn plan(rate: Option<f64>, changes: u64) -> SimPlan {
        let tag = |name: &str, low| SimTag {
            name: name.into(),
            shape: Shape::RandomWalk { low, high: low + 9.0, step: 1.0 },
        };
        let tags = vec![tag("a", 0.0), tag("b", 100.0)];
        SimPlan { seed: 42, tags, rate, changes: Some(changes) }
    }

    /// All changes behind `from`, and how many were never seen.
    fn all(plan: &SimPlan, from: u64) -> (Vec<Change>, u64) {
        let (feeds, mut taken) = mpsc::channel(4);
        let (_marks, marks) = mpsc::unbounded_channel();
        let from = Position { at: from, part: 0, within: 0 };
        let outlet = Outlet { from, feeds, marks, log: std::sync::Arc::new(|_| ()) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (mut all, mut never_seen) = (Vec::new(), 0);
            let take = async {
                while let Some(feed) = taken.recv().await {
                    all.extend(feed.changes);
                    never_seen += feed.never_seen;
                }
            };
            tokio::join!(run(plan, outlet), take);
            (all, never_seen)
        })
    }

    #[test]
    fn a_simulation_is_the_same_again_and_goes_on_anywhere() {
        let plan = plan(None, 2_500);
        let (whole, _) = all(&plan, 0);
        assert_eq!(whole.len(), 2_500);
        assert_eq!((&*whole[0].tag, &*whole[1].tag, &*whole[2].tag), ("a", "b", "a"));
        let values = |changes: &[Change]| -> Vec<(String, u64)> {
            changes.iter().map(|it| (it.value.to_string(), it.after.at)).collect()
        };
        assert_eq!(values(&all(&plan, 1_700).0), values(&whole[1_700..]));
        assert!(whole[1].value.number().unwrap() >= 100.0);
    }

    #[test]
    fn all_changes_of_a_rate_come_or_are_counted() {
        let (changes, never_seen) = all(&plan(Some(100_000.0), 300), 0);
        assert_eq!(changes.len() as u64 + never_seen, 300);
    }

    #[test]
    fn what_is_due_follows_the_clock() {
        let pacer = Pacer { rate: 10.0, first: 5, began_ns: 1_000 };
        assert_eq!((pacer.due(1_000), pacer.due(100_001_000), pacer.due(50_001_000)), (6, 7, 6));
    }
}
