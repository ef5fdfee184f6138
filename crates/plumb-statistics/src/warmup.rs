//! Where the warm-up of a series ends.

use crate::series::trend;

/// Values that make one batch of the rule.
const BATCH: usize = 5;

/// Values from which on the best place to cut can lie in the second half: of fewer, [`mser5`] always says
/// that they settled, and [`moves_one_way`] has to be asked.
pub const MSER5_DECIDES: usize = BATCH * (2 * BATCH + 3);

/// Values below which nothing is said about the way that a series takes.
const WAY_MIN: usize = 6;
/// The rank correlation with time from which on a series moves one way, times the root of its degrees of
/// freedom: that of values that know nothing of their neighbours is by chance in one of a hundred.
const WAY: f64 = 2.6;
/// The same for any series: at least, and at most, which a short one reaches only in perfect order.
const WAY_RANGE: (f64, f64) = (0.5, 0.95);

/// What the rule says of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// Values at the front that belong to the warm-up, a multiple of five.
    pub values: usize,
    /// False when the best place to cut lies in the second half: the series never settled.
    pub settled: bool,
}

/// Cuts a series where the standard error of the mean of the rest is smallest, in batches of five;
/// `None` below ten values.
///
/// # Source
/// MSER-5: White, An effective truncation heuristic for bias reduction in simulation output,
/// Simulation 69, 1997; Spratt, 1998. The last five batches are no candidates, because a handful
/// of values may be alike by chance.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "numbers of batches")]
pub fn mser5(series: &[f64]) -> Option<WarmUp> {
    let batches: Vec<f64> =
        series.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < 2 {
        return None;
    }
    let candidates = batches.len().saturating_sub(BATCH).max(1);
    // from the back, so that each candidate adds one batch to the rest
    let (mut rest, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, batch) in batches.iter().enumerate().rev() {
        rest += 1.0;
        let off = batch - mean;
        mean += off / rest;
        squares += off * (batch - mean);
        let error = squares / (rest * rest);
        if cut < candidates && error <= best.0 {
            best = (error, cut);
        }
    }
    Some(WarmUp { values: best.1 * BATCH, settled: 2 * best.1 <= batches.len() })
}

/// True when a series of at least six values moves one way from its beginning to its end, and in its
/// second half, too. Of steady ones whose values know nothing of their neighbours fewer than one in a
/// hundred do, of others more: of forty values with a correlation of 0.8, six to seven.
#[must_use]
pub fn moves_one_way(series: &[f64]) -> bool {
    let (whole, late) = (trend(series), trend(&series[series.len() / 2..]));
    let (of_whole, of_late) = (way(series.len()), way(series.len().div_ceil(2)));
    series.len() >= WAY_MIN
        && (whole >= of_whole && late >= of_late || whole <= -of_whole && late <= -of_late)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of values")]
fn way(values: usize) -> f64 {
    (WAY / (values as f64 - 1.0).max(1.0).sqrt()).clamp(WAY_RANGE.0, WAY_RANGE.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    /// 400 values that vary a little, the first `slow` of which are twice as high.
    fn series(slow: usize) -> Vec<f64> {
        (0..400)
            .map(|n| if n < slow { 20.0 } else { 10.0 } + f64::from(u8::try_from(n * 7 % 5).unwrap()))
            .collect()
    }

    #[test]
    fn a_slow_start_is_cut_off_and_a_steady_series_is_not() {
        assert_eq!(mser5(&series(60)), Some(WarmUp { values: 60, settled: true }));
        assert_eq!(mser5(&series(0)), Some(WarmUp { values: 0, settled: true }));
    }

    #[test]
    fn a_series_that_changes_late_never_settled() {
        let found = mser5(&series(300)).unwrap();
        assert_eq!(found, WarmUp { values: 300, settled: false });
    }

    #[test]
    fn a_series_too_short_for_the_rule_is_asked_which_way_it_moves() {
        let rising = |n: u8| -> Vec<f64> { (0..n).map(f64::from).collect() };
        let decides = u8::try_from(MSER5_DECIDES).unwrap();
        for n in 10..150 {
            assert_eq!(mser5(&rising(n)).unwrap().settled, n < decides, "{n}");
        }
        for n in 6..150 {
            let mut series = rising(n);
            assert!(moves_one_way(&series), "{n}");
            series.reverse();
            assert!(moves_one_way(&series), "{n}");
        }
        assert!(!moves_one_way(&rising(5)) && !moves_one_way(&[]));
        // a slow start is over in the second half
        for n in 10..100_u8 {
            let slow = |at| if at < n / 3 { 20.0 } else { 10.0 } + f64::from(u32::from(at) * 7 % 5);
            assert!(!moves_one_way(&(0..n).map(slow).collect::<Vec<_>>()), "{n}");
        }
    }

    #[test]
    fn few_steady_series_move_one_way() {
        let mut random = SplitMix64::new(1);
        for n in [6, 8, 12, 20, 40, 64] {
            let moved = (0..2_000)
                .filter(|_| moves_one_way(&(0..n).map(|_| random.uniform()).collect::<Vec<_>>()))
                .count();
            assert!(moved < 20, "{moved} of 2,000 series of {n}");
        }
    }

    #[test]
    fn nine_values_are_too_few() {
        assert_eq!(mser5(&[1.0; 9]), None);
        assert_eq!(mser5(&[1.0; 10]), Some(WarmUp { values: 0, settled: true }));
    }
}
