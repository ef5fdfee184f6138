//! What one thread's share of a load came to.

use plumb_measure::{Slowest, TcpTotals, Transports};
use serde::{Deserialize, Serialize};

/// How a load ended; of several, the last in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The plan came to its end.
    Complete,
    /// It was told to stop; operations under way are left out.
    Interrupted,
    /// No connection stood for as long as the connect time-out.
    GaveUp,
}

/// What one thread reports beside its records.
#[derive(Debug)]
pub struct Driven<P> {
    /// The protocol as the thread leaves it.
    pub protocol: P,
    /// How it ended.
    pub ending: Ending,
    /// Start of the recorded part, on the clock of the run.
    pub began_ns: u64,
    /// From the start of the recorded part to its end, nanoseconds.
    pub duration_ns: u64,
    /// Operations of the warm-up.
    pub warm_up_operations: u64,
    /// Processor time of the recorded part, nanoseconds.
    pub cpu_ns: u64,
    /// Its slowest correct answers.
    pub slowest: Slowest,
    /// What its connections did; `None` without connections of TCP.
    pub tcp: Option<TcpTotals>,
    /// What its connections really used.
    pub transports: Transports,
}
