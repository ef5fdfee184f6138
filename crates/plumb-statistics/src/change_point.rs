//! Where a series of figures changes its level.

use crate::SplitMix64;
use crate::number::real;
use crate::rank::doubled_midranks;
use crate::series::median;

/// Probability with which a series in which nothing changes shows any change point, at most.
pub const CHANGE_LEVEL: f64 = 0.01;
/// Values on either side of a change point at least: fewer cannot be told from a spell.
pub const CHANGE_SIDE_MIN: usize = 5;
/// Of a longer series only the last so many values are looked at.
pub const CHANGE_VALUES_MAX: usize = 1_000;
/// Random orders with which a series is compared.
const ORDERS: usize = 1_999;
/// Where the random orders begin: the same series has the same change points everywhere.
const SEED: u64 = 0x706c_756d_625f_7569;

/// A place from which on the values lie at another level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Number of the first value at the new level, from zero.
    pub at: usize,
    /// Probability of a difference as large as this one, or larger, somewhere in the stretch that it
    /// divides, were its values in random order.
    pub p: f64,
    /// Median of the values from the change point before to this one.
    pub before: f64,
    /// Median of the values from this one to the next.
    pub after: f64,
}

/// The change points of `values`, which are in the order of time; none of fewer than twice
/// [`CHANGE_SIDE_MIN`], and of more than [`CHANGE_VALUES_MAX`] only those among the last.
///
/// A stretch is divided where the rank sums of its two sides differ most: the largest of Mann and
/// Whitney's statistics over all places, each divided by its standard deviation. It is divided only
/// when of 2,000 orders of its values, the real one and 1,999 random ones, at most [`CHANGE_LEVEL`]
/// reach that statistic; both sides are then looked at in the same way.
///
/// A series in which nothing changes is searched further only if its first test has rejected, so
/// that it shows any change point with a probability of at most [`CHANGE_LEVEL`], whatever the
/// distribution of its values; this counts on values that do not depend on each other. Values that
/// follow each other (a machine that is slow for a while) show more of them, and a slow drift shows
/// as one or several steps.
///
/// # Source
/// Pettitt, A non-parametric approach to the change-point problem, Applied Statistics 28, 1979, for
/// the rank statistic; Scott and Knott, A cluster analysis method for grouping means, Biometrics 30,
/// 1974, for binary segmentation; Phipson and Smyth, Permutation p-values should never be zero,
/// Stat. Appl. Genet. Mol. Biol. 9, 2010, for p.
#[must_use]
pub fn change_points(values: &[f64]) -> Vec<ChangePoint> {
    let skipped = values.len().saturating_sub(CHANGE_VALUES_MAX);
    let mut random = SplitMix64::new(SEED);
    let mut found = Vec::new();
    divide(values, skipped, values.len(), &mut random, &mut found);
    found.sort_by_key(|(at, _)| *at);
    let ends = || found.iter().map(|(at, _)| *at);
    let before = std::iter::once(skipped).chain(ends());
    let after = ends().skip(1).chain(std::iter::once(values.len()));
    let level = |from: usize, until: usize| median(&values[from..until]).unwrap_or(f64::NAN);
    let points = found.iter().zip(before.zip(after));
    points
        .map(|(&(at, p), (from, until))| ChangePoint {
            at,
            p,
            before: level(from, at),
            after: level(at, until),
        })
        .collect()
}

/// Adds the change points among the values from `from` up to `until`.
fn divide(
    values: &[f64],
    from: usize,
    until: usize,
    random: &mut SplitMix64,
    found: &mut Vec<(usize, f64)>,
) {
    let Some((place, p)) = division(&values[from..until], random) else { return };
    let at = from + place;
    found.push((at, p));
    divide(values, from, at, random, found);
    divide(values, at, until, random, found);
}

/// Where one stretch is divided, and how probable that is by chance.
fn division(values: &[f64], random: &mut SplitMix64) -> Option<(usize, f64)> {
    if values.len() < 2 * CHANGE_SIDE_MIN || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let middle = real(values.len() as u64 + 1);
    let ranks = doubled_midranks(values);
    let mut ranks: Vec<f64> = ranks.into_iter().map(|rank| real(rank as u64) - middle).collect();
    let (place, observed) = farthest(&ranks)?;
    // sums of halves are exact; their quotients are not
    let reached = observed * (1.0 - 1e-12);
    let most = CHANGE_LEVEL * real(ORDERS as u64 + 1);
    let mut as_far = 1u64; // the real order is one of them
    for _ in 0..ORDERS {
        random.shuffle(&mut ranks);
        if farthest(&ranks).is_some_and(|(_, statistic)| statistic >= reached) {
            as_far += 1;
            if real(as_far) > most {
                return None;
            }
        }
    }
    Some((place, real(as_far) / real(ORDERS as u64 + 1)))
}

/// The place where the sums of centred `ranks` on both sides differ most, and the statistic there;
/// `None` where all are equal.
fn farthest(ranks: &[f64]) -> Option<(usize, f64)> {
    let count = ranks.len();
    let (mut sum, mut best) = (0.0, (0, 0.0));
    for (place, rank) in (1..).zip(ranks) {
        sum += rank;
        if place < CHANGE_SIDE_MIN || place > count - CHANGE_SIDE_MIN {
            continue;
        }
        let sides = real(place as u64) * real((count - place) as u64);
        let statistic = sum * sum / sides; // of the same order as its root
        if statistic > best.1 {
            best = (place, statistic);
        }
    }
    (best.0 > 0).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nearly normal, of standard deviation one.
    fn noise(random: &mut SplitMix64) -> f64 {
        (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0
    }

    fn series(seed: u64, count: usize, mut value: impl FnMut(usize, f64) -> f64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        (0..count).map(|at| value(at, noise(&mut random))).collect()
    }

    #[test]
    fn at_most_one_in_a_hundred_series_of_noise_shows_a_change() {
        let forms: [fn(usize, f64) -> f64; 3] = [
            |_, noise| 100.0 + noise,
            |_, noise| (1.5 * noise).exp(),   // a long tail
            |_, noise| (2.0 * noise).round(), // few values, often the same
        ];
        for form in forms {
            let alarms = (0..1_000u64)
                .filter(|seed| !change_points(&series(*seed, 100, form)).is_empty())
                .count();
            // 10 are expected; 20 has a probability of 0.3 %
            assert!(alarms <= 20, "{alarms} of 1,000 series of a hundred values");
        }
    }

    #[test]
    fn a_step_of_one_and_a_half_standard_deviations_is_found_where_it_is() {
        let (mut found, mut near) = (0, 0);
        for seed in 0..200 {
            let values = series(seed, 100, |at, noise| noise + if at < 60 { 0.0 } else { 1.5 });
            if let [point] = change_points(&values)[..] {
                found += 1;
                near += usize::from(point.at.abs_diff(60) <= 5);
                assert!(point.after > point.before && point.p <= CHANGE_LEVEL, "{point:?}");
            }
        }
        assert!(found >= 190 && near >= 180, "{found} found, {near} of them within 5 values");
    }

    #[test]
    fn two_steps_are_told_apart_with_their_levels() {
        let level = |at: usize| [10.0, 14.0, 11.0][(at / 30).min(2)];
        let values = series(7, 90, |at, noise| level(at) + 0.3 * noise);
        let found = change_points(&values);
        let places: Vec<usize> = found.iter().map(|point| point.at).collect();
        assert_eq!(places, [30, 60], "{found:?}");
        assert!((found[0].before - 10.0).abs() < 0.2 && (found[0].after - 14.0).abs() < 0.2);
        assert!((found[1].before - 14.0).abs() < 0.2 && (found[1].after - 11.0).abs() < 0.2);
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        assert_eq!(change_points(&[]), []);
        assert_eq!(change_points(&[1.0; 50]), []);
        assert_eq!(change_points(&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0, 9.0]), []);
        let step = series(1, 40, |at, _| if at < 20 { 1.0 } else { f64::NAN });
        assert_eq!(change_points(&step), []);
        // the smallest series that can show one
        let found = change_points(&[1.0, 2.0, 3.0, 4.0, 5.0, 11.0, 12.0, 13.0, 14.0, 15.0]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].at, 5);
    }

    #[test]
    fn of_a_long_series_the_last_values_are_looked_at() {
        let step = |count| series(4, count, |at, noise| noise + if at < 100 { 9.0 } else { 0.0 });
        assert_eq!(change_points(&step(CHANGE_VALUES_MAX))[0].at, 100);
        assert_eq!(change_points(&step(CHANGE_VALUES_MAX + 200)), []);
    }
}
