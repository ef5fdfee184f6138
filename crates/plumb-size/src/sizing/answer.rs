//! The parts of an answer.

use plumb_measure::statistics::Bounded;
use serde::Serialize;

use super::{Need, Sensitivity, Upgrade};
use crate::analysis::Point;

/// Share by which figures differ because they were rounded.
const ROUNDING: f64 = 1e-3;

/// A step, predicted and measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictedStep {
    /// Its users.
    pub users: f64,
    /// Throughput.
    pub throughput_per_s: Predicted,
    /// Mean response time.
    pub mean_s: Predicted,
    /// 95th percentile of it.
    pub p95_s: Predicted,
}

/// A figure that was predicted and measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// What was predicted.
    pub predicted: Bounded,
    /// What was measured.
    pub measured: f64,
    /// Predicted over measured, less one.
    pub error: f64,
    /// True when the interval holds what was measured.
    pub held: bool,
}

impl Predicted {
    pub(super) fn of(predicted: Bounded, measured: f64) -> Self {
        let error = predicted.value / measured - 1.0;
        // an interval without width is that of figures that were rounded
        let held = predicted.holds(measured) || error.abs() < ROUNDING;
        Self { predicted, measured, error, held }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Think time, seconds.
    pub think_s: f64,
    /// Operations a second of the users asked for, on what was measured.
    pub throughput_per_s: Bounded,
    /// Mean response time of these users on what was measured, seconds.
    pub mean_s: Bounded,
    /// 95th percentile of it, seconds.
    pub p95_s: Bounded,
    /// How full each resource is then.
    pub at: Point,
    /// Largest number of users within the target on what was measured; absent without a target.
    pub users_within: Option<Bounded>,
    /// What these users need; absent without a target, and where it lies beyond twice of what was
    /// measured.
    pub needs: Option<Vec<Need>>,
    /// Of the [`DRAWS_ENLARGED`](super::DRAWS_ENLARGED) landscapes that were drawn for the intervals of
    /// `needs`, those in which twice of what was measured does not keep the target: they count as
    /// twice.
    pub needs_unmet: usize,
    /// Memory of these users, bytes; absent where it was not recorded, and beyond twice the users
    /// that were.
    pub memory_bytes: Option<Bounded>,
    /// What is full first, and what is next when there is enough of it.
    pub upgrades: Vec<Upgrade>,
    /// What would change the number of users, the most first.
    pub sensitivity: Vec<Sensitivity>,
}
