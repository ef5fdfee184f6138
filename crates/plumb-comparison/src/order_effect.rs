//! Whether the place within a round matters.

use serde::{Deserialize, Serialize};

/// The later of the two blocks of a pair against the earlier, whoever it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderEffect {
    /// Its figure over that of the earlier, without what the variants differ in.
    pub ratio: f64,
    /// Two-sided p of the rank sum of rounds of either order, by 9,999 seeded shuffles.
    pub p: f64,
}
