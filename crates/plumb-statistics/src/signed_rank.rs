//! The signed-rank test of pairs, its estimate and its interval.

use crate::rank::{Interval, TestResult, doubled_midranks, order_interval, two_sided};
use crate::series::median_of_sorted;

/// Pairs beyond this have no exact distribution here: it grows with their cube.
const PAIRS_MAX: usize = 1_000;

/// Wilcoxon's signed-rank test of the hypothesis that `effects` lie evenly around zero.
///
/// Exact, given the ties: the distribution is counted over all signs of the mid-ranks at hand.
/// Above 1,000 effects p is that of the normal distribution with the mean and the variance of that sum.
/// Effects of zero say nothing and are left out. Infinite ones are tied, above all others. `None`
/// without any other effect than zero.
///
/// # Source
/// Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1, 1945.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "rank sums are small")]
pub fn wilcoxon(effects: &[f64]) -> Option<TestResult> {
    let effects: Vec<f64> = effects.iter().copied().filter(|effect| *effect != 0.0).collect();
    if effects.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = effects.iter().map(|effect| effect.abs()).collect();
    let ranks = doubled_midranks(&sizes);
    let positive: usize =
        ranks.iter().zip(&effects).filter(|(_, effect)| **effect > 0.0).map(|(rank, _)| rank).sum();
    let p = match effects.len() {
        0..=PAIRS_MAX => two_sided(&signed_rank_weights(&ranks), positive),
        _ => about(&ranks, positive),
    };
    Some(TestResult { statistic: positive as f64 / 2.0, p })
}

/// About the two-sided p of a sum of `ranks` with a positive sign, by the normal distribution; ranks and sum
/// are doubled, so a step of the sum is two.
#[expect(clippy::cast_precision_loss, reason = "rank sums of some thousand pairs")]
fn about(ranks: &[usize], positive: usize) -> f64 {
    let mean = ranks.iter().sum::<usize>() as f64 / 2.0;
    let variance: f64 = ranks.iter().map(|rank| (*rank as f64).powi(2) / 4.0).sum();
    let off = ((positive as f64 - mean).abs() - 1.0).max(0.0);
    two_tails(off / variance.sqrt())
}

/// The probability that a standard normal figure lies `z`, at least zero, or further from zero.
///
/// # Source
/// Zelen and Severo in Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 26.2.17: to 1.5e-7.
fn two_tails(z: f64) -> f64 {
    const TERMS: [f64; 5] =
        [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let sum = TERMS.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    (2.0 * density * sum).clamp(0.0, 1.0)
}

/// The estimate that belongs to the signed-rank test: the median of the means of all pairs of
/// effects, each with itself too. `None` without effects. It is infinite where infinite effects
/// have the middle.
///
/// # Source
/// Hodges and Lehmann, Estimates of location based on rank tests, Ann. Math. Statist. 34, 1963.
#[must_use]
pub fn hodges_lehmann(effects: &[f64]) -> Option<f64> {
    median_of_sorted(&walsh_averages(effects))
}

/// The interval that the signed-rank test does not reject, at the smallest exact level that is at
/// least `level`. `None` when there are too few effects for that level (below 6 for 95 %), or
/// above 1,000.
///
/// # Source
/// Tukey, The simplest signed-rank tests, Princeton memorandum 17, 1949.
#[must_use]
pub fn interval(effects: &[f64], level: f64) -> Option<Interval> {
    if effects.is_empty() || effects.len() > PAIRS_MAX {
        return None;
    }
    let ranks: Vec<usize> = (1..=effects.len()).collect();
    order_interval(&walsh_averages(effects), &signed_rank_weights(&ranks), level)
}

fn walsh_averages(effects: &[f64]) -> Vec<f64> {
    let mut averages: Vec<f64> = effects
        .iter()
        .enumerate()
        .flat_map(|(at, first)| effects[at..].iter().map(move |other| average(*first, *other)))
        .collect();
    averages.sort_by(f64::total_cmp);
    averages
}

/// Infinite effects have one size, as in the ranks: two of opposite signs make up for each other.
#[expect(clippy::float_cmp, reason = "infinite or not is exact")]
fn average(first: f64, other: f64) -> f64 {
    if first.is_infinite() && first == -other { 0.0 } else { f64::midpoint(first, other) }
}

/// How probable each sum of the ranks with a positive sign is when every sign is a coin.
fn signed_rank_weights(ranks: &[usize]) -> Vec<f64> {
    let mut weights = vec![0.0; ranks.iter().sum::<usize>() + 1];
    weights[0] = 1.0;
    let mut reached = 0;
    for rank in ranks {
        reached += rank;
        for sum in (0..=reached).rev() {
            let without = weights[sum];
            let with = if sum >= *rank { weights[sum - rank] } else { 0.0 };
            weights[sum] = f64::midpoint(without, with);
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn evenly(n: usize) -> Vec<f64> {
        (1..=n).map(|k| f64::from(u8::try_from(k).unwrap())).collect()
    }

    #[test]
    fn twelve_pairs_give_an_interval_of_95_75_percent() {
        let found = interval(&evenly(12), 0.95).unwrap();
        assert_eq!(format!("{:.4}", found.level), "0.9575");
        assert_eq!((found.low, found.high), (4.0, 9.0));
    }

    #[test]
    fn five_pairs_are_too_few_and_six_are_enough() {
        assert_eq!(interval(&evenly(5), 0.95), None);
        let found = interval(&evenly(6), 0.95).unwrap();
        assert_eq!((found.low, found.high, found.level), (1.0, 6.0, 0.96875));
        assert_eq!(wilcoxon(&evenly(5)).map(|found| found.p), Some(0.0625));
    }

    #[test]
    fn effects_of_nothing_but_zero_say_nothing() {
        assert_eq!(wilcoxon(&[0.0; 10]), None);
        assert_eq!(hodges_lehmann(&[0.0; 10]), Some(0.0));
        assert_eq!(hodges_lehmann(&[]), None);
    }

    #[test]
    fn beyond_a_thousand_pairs_p_is_about_what_counting_gives() {
        for (pairs, against) in [(60, 700), (60, 650), (200, 8_400), (200, 10_000)] {
            let mut ranks = doubled_midranks(&evenly(pairs));
            let counted = two_sided(&signed_rank_weights(&ranks), 2 * against);
            let found = about(&ranks, 2 * against);
            assert!((counted - found).abs() < 0.002, "{pairs} {against}: {counted} {found}");
            ranks.fill(pairs + 1); // all tied: a coin for each
            let counted = two_sided(&signed_rank_weights(&ranks), (pairs + 1) * (pairs * 2 / 5));
            let found = about(&ranks, (pairs + 1) * (pairs * 2 / 5));
            assert!((counted - found).abs() < 0.05, "{pairs} tied: {counted} {found}");
        }
        for (z, p) in [(0.0, 1.0), (1.959_964, 0.05), (3.290_527, 0.001)] {
            assert!((two_tails(z) - p).abs() < 1e-6, "{z}");
        }
        let many: Vec<f64> = (0..1_500).map(|n| f64::from(n % 7) - 2.5).collect();
        assert!(wilcoxon(&many).unwrap().p < 1e-6);
    }

    #[test]
    fn infinite_effects_stand_for_one_huge_size() {
        let of = |huge: f64| {
            let effects = [-huge, -huge, huge, -huge, 0.5, -0.25, 0.75, -huge, -huge, -huge];
            let huger = |value: f64| if value.abs() > 1e9 { value.signum() * 1e300 } else { value };
            let found = interval(&effects, 0.95).unwrap();
            let estimate = hodges_lehmann(&effects).unwrap();
            (wilcoxon(&effects), [estimate, found.low, found.high].map(huger))
        };
        assert_eq!(of(f64::INFINITY), of(1e12));
        assert_eq!(hodges_lehmann(&[f64::INFINITY, f64::NEG_INFINITY]), Some(0.0));
    }

    proptest! {
        /// The interval is the test turned round: what it leaves out is rejected.
        #[test]
        fn the_interval_holds_what_the_test_does_not_reject(
            effects in prop::collection::hash_set(-1_000i32..1_000, 6..15),
            shift in -1_500i32..1_500,
        ) {
            // 0.37 keeps shifted effects off zero and off each other
            let shift = f64::from(shift) + 0.37;
            let effects: Vec<f64> = effects.into_iter().map(f64::from).collect();
            let shifted: Vec<f64> = effects.iter().map(|effect| effect - shift).collect();
            let distinct = doubled_midranks(&shifted.iter().map(|e| e.abs()).collect::<Vec<_>>());
            prop_assume!(distinct.iter().all(|rank| rank % 2 == 0));
            let found = interval(&effects, 0.95).unwrap();
            let inside = found.low < shift && shift < found.high;
            let p = wilcoxon(&shifted).unwrap().p;
            prop_assert_eq!(inside, p > 1.0 - found.level + 1e-12, "p {} level {}", p, found.level);
        }
    }
}
