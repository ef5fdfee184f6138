//! How far a machine moved while a ladder of loads was taken: one step of it, measured twice.

use serde::{Deserialize, Serialize};

/// How far a figure of the step that was taken again is from the first time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LadderDrift {
    /// As a share of the first.
    pub share: f64,
    /// What both runs leave open, as a share; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
}

impl LadderDrift {
    /// A twentieth is no drift, whatever the intervals say.
    const NONE: f64 = 0.05;

    /// True where both runs tell what they leave open.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.within.is_some()
    }

    /// True when it is more than chance and more than a twentieth.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.within.is_some_and(|within| self.share.abs() > within.max(Self::NONE))
    }
}
