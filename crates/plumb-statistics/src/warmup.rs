//! Where the warm-up of a series ends.

/// Values that make one batch of the rule.
const BATCH: usize = 5;

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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn nine_values_are_too_few() {
        assert_eq!(mser5(&[1.0; 9]), None);
        assert_eq!(mser5(&[1.0; 10]), Some(WarmUp { values: 0, settled: true }));
    }
}
