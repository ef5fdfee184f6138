//! When an operation was due, begun and answered.

use serde::{Deserialize, Serialize};

/// The moments of one operation, in nanoseconds on the clock of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moments {
    /// When it should have begun. With no think time and no rate this is `sent`.
    pub due: u64,
    /// Just before its first byte was handed to the kernel.
    pub sent: u64,
    /// When the first bytes of its answer had been read. Answers that one read brought together
    /// share that moment, so first and last byte are then the same.
    pub first: u64,
    /// When the last bytes of its answer had been read.
    pub last: u64,
}
