//! A figure of both variants in one round.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A figure in one round, or at one place of two separate runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockFigures {
    /// The round, or the number of the interval, from one.
    pub round: u64,
    /// Of the baseline; absent where it has no block.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub baseline: Option<f64>,
    /// Of the candidate; absent where it has no block.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub candidate: Option<f64>,
}

impl BlockFigures {
    /// Candidate over baseline, where both are above zero.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let (baseline, candidate) = (self.baseline?, self.candidate?);
        (baseline > 0.0 && candidate > 0.0).then(|| candidate / baseline)
    }

    /// The logarithm of candidate over baseline, infinite where one of them is zero and none where
    /// both are. Two figures that change places have effects of exactly one size: the smaller one is
    /// always below, since the logarithm of a rounded quotient is not that of its inverse.
    #[must_use]
    pub fn effect(&self) -> Option<f64> {
        let (baseline, candidate) = (self.baseline?, self.candidate?);
        match candidate.partial_cmp(&baseline)? {
            _ if baseline < 0.0 || candidate < 0.0 => None,
            Ordering::Equal => Some(0.0),
            Ordering::Less => Some(-(baseline / candidate).ln()),
            Ordering::Greater => Some((candidate / baseline).ln()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(baseline: f64, candidate: f64) -> Option<f64> {
        let figures = [baseline, candidate].map(Some);
        BlockFigures { round: 1, baseline: figures[0], candidate: figures[1] }.effect()
    }

    #[test]
    fn figures_that_change_places_have_effects_of_one_size() {
        for high in 2..2_000_u32 {
            let (low, high) = (f64::from(high - 1), f64::from(high));
            assert_eq!(effect(low, high), effect(high, low).map(|it| -it), "{low} {high}");
        }
        assert_eq!(effect(0.0, 7.0), Some(f64::INFINITY));
        assert_eq!(effect(7.0, 0.0), Some(f64::NEG_INFINITY));
        assert_eq!((effect(0.0, 0.0), effect(7.0, 7.0)), (Some(0.0), Some(0.0)));
        assert_eq!((effect(-1.0, 7.0), effect(f64::NAN, 7.0)), (None, None));
    }
}
