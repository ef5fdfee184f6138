//! How far two groups of figures lie apart.

use crate::random::SplitMix64;
use crate::rank::doubled_midranks;
use crate::series::median;

/// Shuffles behind the p of a shift.
const SHUFFLES: u32 = 9_999;
/// Ways to part the figures below which none has a p of 5 %: two of them are as far apart as can be.
const WAYS_MIN: f64 = 40.0;

/// How far one group lies from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// By how much the first lies above the second: the median of all differences.
    pub by: f64,
    /// Two-sided p of the rank sum, by 9,999 seeded shuffles.
    pub p: f64,
}

/// How far the figures `one` lie above the `other`; `None` where so few of them cannot show it at 5 %, and
/// where one is not finite.
///
/// # Source
/// The rank sum: Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1, 1945; the estimate:
/// Hodges and Lehmann, Estimates of location based on rank tests, Ann. Math. Statist. 34, 1963.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "rank sums are small")]
pub fn shift(one: &[f64], other: &[f64]) -> Option<Shift> {
    let all = [one, other].concat();
    if !all.iter().all(|value| value.is_finite()) || ways(one.len(), all.len()) < WAYS_MIN {
        return None;
    }
    let mut ranks = doubled_midranks(&all);
    let expected = one.len() as f64 * (all.len() + 1) as f64;
    let off = |ranks: &[usize]| {
        let sum: usize = ranks[..one.len()].iter().sum();
        (sum as f64 - expected).abs()
    };
    let found = off(&ranks);
    let mut random = SplitMix64::new(0);
    let mut as_far = 0;
    for _ in 0..SHUFFLES {
        random.shuffle(&mut ranks);
        as_far += u32::from(off(&ranks) >= found);
    }
    let differences: Vec<f64> =
        one.iter().flat_map(|one| other.iter().map(move |other| one - other)).collect();
    let p = f64::from(as_far + 1) / f64::from(SHUFFLES + 1);
    Some(Shift { by: median(&differences)?, p })
}

/// In how many ways `some` can be taken out of `all`, about.
#[expect(clippy::cast_precision_loss, reason = "numbers of pairs")]
fn ways(some: usize, all: usize) -> f64 {
    (0..some).map(|at| (all - at) as f64 / (some - at) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_lie_apart_are_told_from_groups_that_do_not() {
        let group = |from: f64| -> Vec<f64> { (0..6).map(|n| from + f64::from(n)).collect() };
        let apart = shift(&group(20.0), &group(0.5)).unwrap();
        // two of 924 ways are as far apart
        assert!(apart.p < 0.006 && (apart.by - 19.5).abs() < 1e-9, "{apart:?}");
        let mixed = shift(&group(0.0), &group(0.5)).unwrap();
        assert!(mixed.p > 0.5, "{mixed:?}");
        assert_eq!(shift(&[1.0; 6], &[1.0; 6]), Some(Shift { by: 0.0, p: 1.0 }));
    }

    #[test]
    fn so_few_that_nothing_could_be_shown_show_nothing() {
        assert_eq!(shift(&[9.0; 3], &[1.0; 3]), None);
        assert_eq!(shift(&[9.0], &[1.0; 20]), None);
        assert_eq!(shift(&[], &[1.0; 50]), None);
        let least = shift(&[8.0, 9.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0]).unwrap();
        assert!(least.p < 0.05, "{least:?}");
        assert_eq!(shift(&[f64::INFINITY; 9], &[1.0; 9]), None);
    }

    #[test]
    fn groups_of_one_kind_are_told_apart_in_one_of_twenty_cases_at_most() {
        let mut random = SplitMix64::new(7);
        let told = (0..300).filter(|_| {
            let mut group = || -> Vec<f64> { (0..6).map(|_| random.uniform()).collect() };
            shift(&group(), &group()).unwrap().p < 0.05
        });
        let told = told.count();
        assert!((1..=26).contains(&told), "{told} of 300");
    }
}
