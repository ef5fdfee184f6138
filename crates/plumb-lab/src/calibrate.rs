//! What a machine can show: equal variants, many times.

use plumb_measure::statistics::{hodges_lehmann, interval, wilcoxon};
use serde::Serialize;

use crate::contrast::LEVEL;

/// Pairs of one experiment whose false positives are counted.
pub const PAIRS: usize = 10;
/// Numbers of pairs for which the smallest difference is given.
const PAIRS_SHOWN: [usize; 5] = [6, 10, 20, 40, 80];
/// Windows that are looked at for each of them.
const WINDOWS_MAX: usize = 200;
/// Share of experiments in which the smallest difference is found.
const POWER: f64 = 0.8;

/// What equal variants showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Pairs taken.
    pub pairs: usize,
    /// Experiments of ten consecutive pairs that do not overlap.
    pub experiments: usize,
    /// Of these, experiments that called the equal variants different at the 5 % level.
    pub false_positives: usize,
    /// 95 % interval of the true share of such experiments, from 0 to 1, exact.
    pub share: (f64, f64),
    /// Median of all effects, as a ratio: 1 but for chance.
    pub effect: f64,
    /// The smallest differences.
    pub smallest: Vec<Smallest>,
}

/// The smallest difference that so many pairs show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Smallest {
    /// Pairs of the experiment.
    pub pairs: usize,
    /// The difference, from 0 to 1 of the baseline, that 8 of 10 such experiments find.
    pub difference: f64,
}

/// Judges the `effects` (logarithms of ratios) of equal variants, in order of time; `None` with
/// fewer than ten.
#[must_use]
pub fn calibrate(effects: &[f64]) -> Option<Calibration> {
    let experiments: Vec<&[f64]> = effects.chunks_exact(PAIRS).collect();
    let effect = hodges_lehmann(effects)?.exp();
    if experiments.is_empty() {
        return None;
    }
    let different = |window: &&&[f64]| wilcoxon(window).is_some_and(|it| it.p <= 1.0 - LEVEL);
    let false_positives = experiments.iter().filter(different).count();
    Some(Calibration {
        pairs: effects.len(),
        experiments: experiments.len(),
        false_positives,
        share: binomial_interval(false_positives, experiments.len()),
        effect,
        smallest: PAIRS_SHOWN.iter().filter_map(|pairs| smallest(effects, *pairs)).collect(),
    })
}

/// Slides a window of `pairs` over the effects: a true shift is found in a window when it carries
/// the near end of the window's interval over zero.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place among a few thousand windows"
)]
fn smallest(effects: &[f64], pairs: usize) -> Option<Smallest> {
    let windows = effects.windows(pairs);
    let step = windows.len().div_ceil(WINDOWS_MAX).max(1);
    let mut needed: Vec<f64> = windows
        .step_by(step)
        .filter_map(|window| interval(window, LEVEL))
        .flat_map(|it| [-it.low, it.high])
        .collect();
    needed.sort_by(f64::total_cmp);
    let last = needed.len().checked_sub(1)?;
    let at = (POWER * last as f64).ceil() as usize;
    Some(Smallest { pairs, difference: needed[at].max(0.0).exp_m1() })
}

/// The exact 95 % interval of a share of which `hits` of `trials` were seen.
///
/// # Source
/// Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934.
#[must_use]
pub fn binomial_interval(hits: usize, trials: usize) -> (f64, f64) {
    let outside = (1.0 - LEVEL) / 2.0;
    let low = if hits == 0 {
        0.0
    } else {
        bisect(|share| 1.0 - at_most(hits - 1, trials, share) < outside)
    };
    let high =
        if hits == trials { 1.0 } else { bisect(|share| at_most(hits, trials, share) > outside) };
    (low, high)
}

/// The share at which `below`, true from zero on, turns false.
fn bisect(below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Probability of at most `hits` in `trials` of a share strictly between 0 and 1.
#[expect(clippy::cast_precision_loss, reason = "numbers of experiments")]
fn at_most(hits: usize, trials: usize, share: f64) -> f64 {
    let mut log_ways = 0.0;
    let mut sum = 0.0;
    for k in 0..=hits {
        if k > 0 {
            log_ways += ((trials - k + 1) as f64 / k as f64).ln();
        }
        let log = log_ways + k as f64 * share.ln() + (trials - k) as f64 * (-share).ln_1p();
        sum += log.exp();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::statistics::SplitMix64;

    fn noise(n: usize, spread: f64) -> Vec<f64> {
        let mut random = SplitMix64::new(11);
        (0..n).map(|_| spread * ((0..12).map(|_| random.uniform()).sum::<f64>() - 6.0)).collect()
    }

    #[test]
    fn the_exact_interval_of_a_share_is_that_of_the_tables() {
        let (low, high) = binomial_interval(1, 20);
        assert!((low - 0.001_265).abs() < 1e-5 && (high - 0.248_733).abs() < 1e-5, "{low} {high}");
        let (low, high) = binomial_interval(0, 10);
        assert!(low == 0.0 && (high - 0.308_498).abs() < 1e-5, "{low} {high}");
        assert_eq!(Some(binomial_interval(10, 10).1), Some(1.0));
    }

    #[test]
    fn equal_variants_are_rarely_called_different_and_more_pairs_show_less() {
        let found = calibrate(&noise(2_000, 0.01)).unwrap();
        assert_eq!(found.experiments, 200);
        assert!(found.share.0 <= 0.05 && 0.05 <= found.share.1, "{found:?}");
        assert!((found.effect - 1.0).abs() < 0.001);
        assert!(found.smallest.is_sorted_by(|a, b| a.difference > b.difference), "{found:?}");
        // the mean of ten of standard deviation 1 % has 0.32 %; its interval reaches 2.3 times that
        let ten = found.smallest[1].difference;
        assert!((0.008..0.013).contains(&ten), "{ten}");
    }

    #[test]
    fn nine_pairs_calibrate_nothing() {
        assert_eq!(calibrate(&noise(9, 0.01)), None);
    }
}
