//! The knee of a ladder.

use plumb_measure::statistics::Bounded;
use serde::Serialize;

/// Where throughput stops growing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knee {
    /// The resource that is full first.
    pub bottleneck: String,
    /// Users from which on it is, with the think time of the ladder.
    pub users: Bounded,
    /// Operations a second that it can do.
    pub limit_per_s: Bounded,
    /// True when the ladder went on until it was full.
    pub shown: bool,
    /// False where the model is further from a step than it may be: then nobody knows where the knee
    /// is, and the figures above must not be told.
    pub explained: bool,
    /// True where operations failed with no more users than these: what failed is full before, and the
    /// figures above must not be told.
    pub behind_failures: bool,
}
