//! How well ratios are known: that of two sums that were measured in parts, and the quotient of two
//! figures.

use crate::bounded::Bounded;
use crate::mean::student;
use crate::rank::Interval;
use crate::series::{autocorrelation, standard_deviation};

/// Parts below which [`ratio_half_width`] says nothing.
const PARTS_MIN: usize = 10;
/// Groups of neighbours that the parts are put into.
const GROUPS: usize = PARTS_MIN;
/// The same where neighbouring groups are alike.
const GROUPS_OF_ALIKE: u8 = 5;
/// However unlike neighbours are, they are not taken to be each other's opposite.
const LIKENESS_MIN: f64 = -0.99;

/// Half the width of a 95 % interval around the ratio of two sums, from the `parts` of both in the
/// order in which they were measured; `None` below ten parts, and where the second sum is not above
/// zero.
///
/// What counts is how far the first part of each lies from what the ratio makes of the second. These
/// distances are added up in ten groups of neighbours, so that what neighbours have in common is not
/// counted as knowledge, and in five where even neighbouring groups lie on one side. Of few parts a group
/// is too short for that: the width is at least what the likeness of one part to the next makes of it.
///
/// # Source
/// The ratio estimator: Cochran, Sampling Techniques, 3rd edition, 1977, chapter 6. Batch means:
/// Schmeiser, Batch size effects in the analysis of simulation output, Oper. Res. 30, 1982. The likeness
/// of neighbours: an autoregressive series of the first order, its coefficient `r` corrected by the bias
/// `-(1 + 4 r) / n` of the quotient of two sums over `n` parts around their mean: Marriott and Pope, Bias in the
/// estimation of autocorrelations, Biometrika 41, 1954. (That of the regression on the part before is
/// `-(1 + 3 r) / n`: Kendall, ibid.)
#[must_use]
pub fn ratio_half_width(parts: &[(f64, f64)]) -> Option<f64> {
    let (of, all) = parts.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    if parts.len() < PARTS_MIN || all.is_nan() || all <= 0.0 {
        return None;
    }
    let ratio = of / all;
    let off: Vec<f64> = parts.iter().map(|(of, all)| of - ratio * all).collect();
    let ten = sums(&off, GROUPS);
    let neighbours: f64 = ten.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let groups = if neighbours > 0.0 { sums(&off, usize::from(GROUPS_OF_ALIKE)) } else { ten };
    Some(half_width_of_sum(&groups, 1.0)?.max(half_width_of_neighbours(&off)?) / all)
}

/// Half the width around the sum of these values, of which `alike` count as one; `None` below two.
fn half_width_of_sum(values: &[f64], alike: f64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "at most some thousands of parts")]
    let count = values.len() as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to their number"
    )]
    let worth = (count / alike).min(count).round() as usize;
    Some(student(worth.saturating_sub(1)) * standard_deviation(values)? * (count * alike).sqrt())
}

/// The same around the sum of parts of which each is as much like the one before as these are.
fn half_width_of_neighbours(off: &[f64]) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "at most some thousands of parts")]
    let count = off.len() as f64;
    let likeness = likeness(off);
    // as many values are left as there are groups of alike neighbours, at least
    let most = count / f64::from(GROUPS_OF_ALIKE);
    let alike = if likeness < 1.0 { (1.0 + likeness) / (1.0 - likeness) } else { most };
    half_width_of_sum(off, alike.min(most))
}

/// How much each part is like the one before, from -0.99: 1 where they are alike, or more by chance.
#[expect(clippy::cast_precision_loss, reason = "at most some thousands of parts")]
fn likeness(off: &[f64]) -> f64 {
    let found = autocorrelation(off).unwrap_or(0.0); // parts that do not vary have no width
    (found + (1.0 + 4.0 * found) / off.len() as f64).max(LIKENESS_MIN)
}

/// The sums of so many groups of neighbours.
fn sums(values: &[f64], groups: usize) -> Vec<f64> {
    let at = |group: usize| group * values.len() / groups;
    (0..groups).map(|group| values[at(group)..at(group + 1)].iter().sum()).collect()
}

/// The interval of the quotient `of / by` of two figures that were measured independently, at the
/// `level` that theirs have. It always holds the quotient itself. `None` unless every figure is above
/// zero and finite.
///
/// # Source
/// Zou and Donner, Construction of confidence limits about effect measures: a general approach,
/// Statist. Med. 27, 2008, for the difference of the logarithms.
#[must_use]
pub fn quotient_interval(of: Bounded, by: Bounded, level: f64) -> Option<Interval> {
    let is_usable = |it: f64| it.is_finite() && it > 0.0;
    if [of.low, of.value, of.high, by.low, by.value, by.high].into_iter().any(|it| !is_usable(it)) {
        return None;
    }
    let reach = |one: f64, other: f64| one.ln().hypot(other.ln());
    let quotient = of.value / by.value;
    Some(Interval {
        low: quotient / reach(of.value / of.low, by.high / by.value).exp(),
        high: quotient * reach(of.high / of.value, by.value / by.low).exp(),
        level,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::real;
    use crate::random::SplitMix64;

    #[test]
    fn a_ratio_is_known_the_better_the_steadier_its_parts_are() {
        let steady = vec![(2.0, 4.0); 30];
        assert_eq!(ratio_half_width(&steady), Some(0.0));
        assert_eq!(ratio_half_width(&steady[..9]), None);
        assert_eq!(ratio_half_width(&[(1.0, 0.0); 30]), None);
        // groups of 1 and 0 by turns: off by half each, which is a deviation of 0.527
        let swings: Vec<_> = (0..10).map(|at| (f64::from(at % 2), 1.0)).collect();
        let half = ratio_half_width(&swings).unwrap();
        assert!((half - 2.262 * 0.527_046 / 10f64.sqrt()).abs() < 1e-4, "{half}");
    }

    #[test]
    fn what_neighbours_have_in_common_widens_the_interval() {
        let of = |length: u32| {
            let parts: Vec<_> = (0..100).map(|at| (f64::from(at / length % 2), 1.0)).collect();
            ratio_half_width(&parts).unwrap()
        };
        assert!(of(25) > 5.0 * of(1), "{} {}", of(25), of(1));
        // ten parts are a group each: only their likeness tells that they are fewer
        let halves: Vec<_> = (0..10).map(|at| (f64::from(at / 5), 1.0)).collect();
        let half = ratio_half_width(&halves).unwrap();
        assert!(half > 0.6, "hardly anything is known of a mean between 0 and 1: {half}");
        // a drift of 2 % over the run
        for count in [10_u32, 20, 50, 100] {
            let at = |n: u32| 0.99 + 0.02 * f64::from(n) / f64::from(count);
            let parts: Vec<_> = (0..count).map(|n| (at(n), 1.0)).collect();
            let half = ratio_half_width(&parts).unwrap();
            assert!((0.003..0.012).contains(&half), "{count}: {half}");
        }
    }

    /// A series of `count` parts around zero, each like the one before by `memory`.
    fn remembering(memory: f64, count: usize, random: &mut SplitMix64) -> Vec<f64> {
        let mut noise = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
        let mut state = noise() / (1.0 - memory * memory).sqrt();
        let mut next = || {
            let this = state;
            state = memory * state + noise();
            this
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_likeness_of_neighbours_is_found_as_it_is_at_the_mean() {
        let mut random = SplitMix64::new(11);
        for (count, memory, off) in [
            (50, 0.0, 0.008),
            (50, 0.5, 0.011),
            (50, 0.8, 0.018),
            (20, 0.0, 0.025),
            (20, 0.5, 0.04),
        ] {
            let runs = 6_000;
            let sum: f64 =
                (0..runs).map(|_| likeness(&remembering(memory, count, &mut random))).sum();
            let mean = sum / f64::from(runs);
            // the correction is made of what was found, which is too small itself: a second order in 1 / n
            assert!((mean - memory).abs() < off, "{count} {memory}: {mean}");
        }
    }

    #[test]
    fn independent_parts_are_known_nearly_as_well_as_can_be() {
        let mut random = SplitMix64::new(12);
        for (count, most) in [(10, 1.6), (20, 1.5), (50, 1.4), (100, 1.4)] {
            let runs = 400;
            let width = |_| {
                let parts = remembering(0.0, count, &mut random);
                let parts: Vec<_> = parts.into_iter().map(|it| (10.0 + it, 1.0)).collect();
                ratio_half_width(&parts).unwrap()
            };
            let mean = (0..runs).map(width).sum::<f64>() / f64::from(runs);
            let best = 1.96 / real(count as u64).sqrt();
            assert!((best..most * best).contains(&mean), "{count}: {}", mean / best);
        }
    }

    #[test]
    fn a_quotient_lies_in_its_interval_however_lopsided_that_is() {
        let of = Bounded { low: 10.0, value: 20.0, high: 20.0 };
        let by = Bounded { low: 10.0, value: 10.0, high: 11.0 };
        let found = quotient_interval(of, by, 0.95).unwrap();
        assert!((0.9..1.0).contains(&found.low) && (found.high - 2.0).abs() < 1e-12, "{found:?}");
        let exact = Bounded { low: 5.0, value: 5.0, high: 5.0 };
        let found = quotient_interval(of, exact, 0.95).unwrap();
        assert!((found.low - 2.0).abs() < 1e-12 && (found.high - 4.0).abs() < 1e-12, "{found:?}");
        assert_eq!(quotient_interval(of, Bounded { low: 0.0, ..exact }, 0.95), None);
    }
}
