//! Figures that are lower bounds.

use serde::{Deserialize, Serialize};

/// Whose figure is a lower bound: the load generator was its limit, and what was measured can do more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LowerBound {
    /// That of the baseline.
    Baseline,
    /// That of the candidate.
    Candidate,
    /// Those of both.
    Both,
}

impl LowerBound {
    /// What holds where those of `baseline` and `candidate` are lower bounds; `None` where neither is.
    #[must_use]
    pub fn of(baseline: bool, candidate: bool) -> Option<Self> {
        match (baseline, candidate) {
            (false, false) => None,
            (true, false) => Some(Self::Baseline),
            (false, true) => Some(Self::Candidate),
            (true, true) => Some(Self::Both),
        }
    }

    /// True when that of the baseline is one.
    #[must_use]
    pub fn is_of_baseline(self) -> bool {
        self != Self::Candidate
    }

    /// True when that of the candidate is one.
    #[must_use]
    pub fn is_of_candidate(self) -> bool {
        self != Self::Baseline
    }
}
