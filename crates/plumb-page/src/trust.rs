//! How far figures may be used.

use plumb_measure::{RunRecord, Validity};

/// How far the figures of a run or of a result may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Every figure.
    Full,
    /// Throughput as a lower bound, no latency.
    Throughput,
    /// No figure, because something could not be checked that can take every figure away.
    Unchecked,
    /// No figure.
    Nothing,
}

impl Trust {
    /// Every answer, the best first.
    pub const ALL: [Self; 4] = [Self::Full, Self::Throughput, Self::Unchecked, Self::Nothing];

    /// What a verdict leaves.
    pub fn of(validity: &Validity) -> Self {
        match (validity.valid, validity.latency_valid) {
            (true, true) => Self::Full,
            (true, false) => Self::Throughput,
            (false, _) if !validity.is_checked() => Self::Unchecked,
            (false, _) => Self::Nothing,
        }
    }

    /// True when every figure may be used.
    pub fn is_full(self) -> bool {
        self == Self::Full
    }

    /// The words beside a figure that may not be used.
    pub fn denial(self) -> &'static str {
        if self == Self::Unchecked { "not checked" } else { "not valid" }
    }

    /// True when some figure may be used.
    pub fn leaves_any(self) -> bool {
        matches!(self, Self::Full | Self::Throughput)
    }

    /// What a record leaves; a record without results proves nothing.
    pub fn of_run(record: &RunRecord) -> Self {
        if record.results.is_empty() { Self::Nothing } else { Self::of(&record.validity) }
    }

    /// Whether any figure may be used, and whether a latency may.
    pub fn allows(self) -> (bool, bool) {
        (self.leaves_any(), self == Self::Full)
    }

    /// The word over a report.
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "VALID",
            Self::Throughput => "LATENCY NOT VALID",
            Self::Unchecked => "NOT CHECKED",
            Self::Nothing => "INVALID",
        }
    }

    /// The word in a table.
    pub fn short(self) -> &'static str {
        match self {
            Self::Full => "valid",
            Self::Throughput => "no latency",
            Self::Unchecked => "not checked",
            Self::Nothing => "invalid",
        }
    }
}
