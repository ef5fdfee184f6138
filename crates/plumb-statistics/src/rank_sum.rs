//! The rank-sum test of two separate samples, its estimate and its interval.

use crate::rank::{Interval, TestResult, doubled_midranks, order_interval, two_sided};
use crate::series::median_of_sorted;

/// Values of both samples together beyond this are refused: the exact distribution grows with
/// the fourth power of their number when values are tied.
const VALUES_MAX: usize = 300;

/// Mann and Whitney's test of the hypothesis that `a` and `b` come from one distribution; the
/// statistic is U of `a`.
///
/// Exact, given the ties: the distribution is counted over all ways to share out the mid-ranks at
/// hand. `None` when one sample is empty, or both together have more than 300 values.
///
/// # Source
/// Mann and Whitney, On a test of whether one of two random variables is stochastically larger
/// than the other, Ann. Math. Statist. 18, 1947.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "rank sums are small")]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<TestResult> {
    if a.is_empty() || b.is_empty() || a.len() + b.len() > VALUES_MAX {
        return None;
    }
    let ranks = doubled_midranks(&[a, b].concat());
    let sum: usize = ranks[..a.len()].iter().sum();
    let least = a.len() * (a.len() + 1); // doubled
    let p = if has_repeats(&ranks) {
        two_sided(&rank_sum_weights(&ranks, a.len()), sum)
    } else {
        two_sided(&u_weights(a.len(), b.len()), (sum - least) / 2)
    };
    Some(TestResult { statistic: (sum - least) as f64 / 2.0, p })
}

/// The estimate that belongs to the rank-sum test: the median of all differences `b - a`. `None`
/// when one sample is empty.
#[must_use]
pub fn shift(a: &[f64], b: &[f64]) -> Option<f64> {
    median_of_sorted(&differences(a, b))
}

/// The interval for the shift from `a` to `b` that the rank-sum test does not reject, at the
/// smallest exact level that is at least `level`. `None` when there are too few values for that
/// level, or more than 300.
///
/// # Source
/// Moses, in Walker and Lev, Statistical inference, 1953.
#[must_use]
pub fn shift_interval(a: &[f64], b: &[f64], level: f64) -> Option<Interval> {
    if a.is_empty() || b.is_empty() || a.len() + b.len() > VALUES_MAX {
        return None;
    }
    order_interval(&differences(a, b), &u_weights(a.len(), b.len()), level)
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> =
        a.iter().flat_map(|first| b.iter().map(move |second| second - first)).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn has_repeats(ranks: &[usize]) -> bool {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

/// In how many ways each value of U comes about for samples of `n` and `m` without ties: the
/// coefficients of the product of `(1 - q^(m+i)) / (1 - q^i)` for `i` from 1 to `n`.
fn u_weights(n: usize, m: usize) -> Vec<f64> {
    let (n, m) = (n.min(m), n.max(m));
    let mut ways = vec![0.0; n * m + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        for u in (m + i..ways.len()).rev() {
            ways[u] -= ways[u - m - i];
        }
        for u in i..ways.len() {
            ways[u] += ways[u - i];
        }
    }
    ways
}

/// In how many ways each sum of `n` of the `ranks` comes about.
fn rank_sum_weights(ranks: &[usize], n: usize) -> Vec<f64> {
    let sums = ranks.iter().sum::<usize>() + 1;
    let mut ways = vec![vec![0.0; sums]; n + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        for taken in (1..=n).rev() {
            let (fewer, more) = ways.split_at_mut(taken);
            for (to, from) in more[0][*rank..].iter_mut().zip(&fewer[taken - 1]) {
                *to += from;
            }
        }
    }
    ways.swap_remove(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_counting_agree_without_ties() {
        let ranks: Vec<usize> = (1..=9).map(|rank| 2 * rank).collect();
        let sums = rank_sum_weights(&ranks, 4);
        for (u, ways) in u_weights(4, 5).into_iter().enumerate() {
            assert_eq!(Some(&sums[20 + 2 * u]), Some(&ways), "U = {u}");
        }
    }

    #[test]
    fn samples_that_do_not_overlap_reach_the_smallest_p() {
        let found = mann_whitney(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]).unwrap();
        assert!(found.statistic < 0.1 && (found.p - 2.0 / 70.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn equal_samples_differ_in_nothing() {
        let found = mann_whitney(&[1.0; 5], &[1.0; 5]).unwrap();
        assert_eq!((found.statistic, found.p), (12.5, 1.0));
        assert_eq!(shift(&[1.0; 5], &[1.0; 5]), Some(0.0));
    }

    #[test]
    fn three_values_a_side_are_too_few_for_95_percent() {
        assert_eq!(shift_interval(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.95), None);
        let found = shift_interval(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 0.95).unwrap();
        assert_eq!((found.low, found.high), (1.0, 7.0));
    }
}
