//! Intervals for figures without rank theory.

use crate::random::SplitMix64;
use crate::rank::Interval;

/// The percentile interval of `figure` over `resamples` draws, with replacement, of `n` whole
/// items; `figure` is given the indices drawn. Approximate: with ten items an interval of 95 %
/// covers rather less. Draws for which there is no figure are left out; `None` when none is left.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places among a few thousand"
)]
pub fn percentile_interval(
    n: usize,
    resamples: usize,
    level: f64,
    seed: u64,
    mut figure: impl FnMut(&[usize]) -> Option<f64>,
) -> Option<Interval> {
    let mut random = SplitMix64::new(seed);
    let mut drawn = vec![0; n];
    let mut figures = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        drawn.iter_mut().for_each(|at| *at = random.below(n));
        figures.extend(figure(&drawn));
    }
    figures.sort_by(f64::total_cmp);
    let last = figures.len().checked_sub(1)?;
    let outside = (1.0 - level) / 2.0;
    let at = |share: f64| figures[(share * last as f64).round() as usize];
    Some(Interval { low: at(outside), high: at(1.0 - outside), level })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_interval_around_the_mean() {
        let values: Vec<f64> = (0..40).map(f64::from).collect();
        let mean = |drawn: &[usize]| Some(drawn.iter().map(|at| values[*at]).sum::<f64>() / 40.0);
        let once = percentile_interval(40, 2_000, 0.95, 1, mean).unwrap();
        assert_eq!(Some(once), percentile_interval(40, 2_000, 0.95, 1, mean));
        // the mean is 19.5, its standard error 1.825
        assert!((15.5..16.5).contains(&once.low) && (22.5..23.5).contains(&once.high), "{once:?}");
        assert_eq!(percentile_interval(3, 10, 0.95, 1, |_| None), None);
    }
}
