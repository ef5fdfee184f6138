//! Ranks, and what tests built on them return.

use serde::{Deserialize, Serialize};

/// What a test returns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// The statistic: the sum of positive ranks.
    pub statistic: f64,
    /// Two-sided p: twice the smaller tail, at most 1.
    pub p: f64,
}

/// An interval for a location, with the level it truly has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability, from 0 to 1, with which such an interval covers the location.
    pub level: f64,
}

/// Twice the mid-rank of every value, from 2 on: whole numbers even where values are tied.
pub(super) fn doubled_midranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let first = values[order[from]];
        let tied = order[from..].iter().take_while(|at| values[**at].total_cmp(&first).is_eq());
        let until = from + tied.count();
        for at in &order[from..until] {
            ranks[*at] = from + 1 + until;
        }
        from = until;
    }
    ranks
}

/// Twice the smaller of the tails of `weights` (any scale) at `at`, both including it; at most 1.
pub(super) fn two_sided(weights: &[f64], at: usize) -> f64 {
    let all: f64 = weights.iter().sum();
    let at = at.min(weights.len().saturating_sub(1));
    let lower: f64 = weights[..=at].iter().sum();
    let upper: f64 = weights[at..].iter().sum();
    (2.0 * lower.min(upper) / all).min(1.0)
}

/// The values at places `place` and `count + 1 - place` of `sorted`, counted from one, where
/// `place` is the largest for which the interval between them has at least `level`; `weights` is
/// the distribution (any scale) of how many values lie below the location. `None` when even the
/// whole range is too little.
pub(super) fn order_interval(sorted: &[f64], weights: &[f64], level: f64) -> Option<Interval> {
    let all: f64 = weights.iter().sum();
    let mut tail = 0.0;
    let mut found = None;
    for (below, weight) in weights.iter().enumerate().take(sorted.len().div_ceil(2)) {
        tail += weight / all;
        let reached = 1.0 - 2.0 * tail;
        if reached < level {
            break;
        }
        let (low, high) = (sorted[below], sorted[sorted.len() - 1 - below]);
        found = Some(Interval { low, high, level: reached });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tied_values_share_the_middle_of_their_ranks() {
        assert_eq!(doubled_midranks(&[3.0, 1.0, 3.0, 2.0, 3.0]), [8, 2, 8, 4, 8]);
        assert_eq!(doubled_midranks(&[]), Vec::<usize>::new());
    }
}
