//! How well a mean is known.

use crate::series::{mean, standard_deviation};

/// Groups of neighbours that a long series is put into: enough for the quantile of Student, few
/// enough that each is longer than the memory of most series.
const GROUPS: usize = 20;

/// Quantiles of Student's distribution at 97.5 %, for 1 to 30 degrees of freedom.
///
/// # Source
/// `scipy.stats.t.ppf(0.975, df)`.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Half the width of a 95 % interval around the mean of `values`, which stand in the order in which
/// they were measured; `None` for fewer than two.
///
/// Forty values and more are put into 20 groups of neighbours first, so that what neighbours have in
/// common is not counted as knowledge (the method of batch means; Schmeiser 1982). A rest that
/// fills no group goes into the last.
#[must_use]
pub fn half_width(values: &[f64]) -> Option<f64> {
    let (error, freedom) = standard_error(values)?;
    Some(student(freedom) * error)
}

/// The standard error of the mean of `values`, which stand in the order in which they were measured,
/// and its degrees of freedom; `None` for fewer than two. Groups as in [`half_width`].
#[expect(clippy::cast_precision_loss, reason = "a count of values is small")]
#[must_use]
pub fn standard_error(values: &[f64]) -> Option<(f64, usize)> {
    let size = values.len() / GROUPS;
    let groups: Vec<f64> = if size < 2 {
        values.to_vec()
    } else {
        let group = |at: usize| {
            let end = if at + 1 == GROUPS { values.len() } else { (at + 1) * size };
            mean(&values[at * size..end])
        };
        (0..GROUPS).filter_map(group).collect()
    };
    let freedom = groups.len().checked_sub(1).filter(|n| *n > 0)?;
    Some((standard_deviation(&groups)? / (groups.len() as f64).sqrt(), freedom))
}

/// The quantile of Student's distribution at 97.5 % for `freedom` degrees of freedom, at least one;
/// above 30, that of 30.
#[must_use]
pub fn student(freedom: usize) -> f64 {
    STUDENT[(freedom.max(1) - 1).min(STUDENT.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_values_give_the_interval_of_student() {
        // scipy.stats.t.interval(0.95, 4, loc=3, scale=scipy.stats.sem([1, 2, 3, 4, 5]))
        let half = half_width(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((half - 1.9632).abs() < 1e-3, "{half}");
        assert_eq!(half_width(&[1.0]), None);
        assert_eq!(half_width(&[]), None);
    }

    #[test]
    fn what_neighbours_have_in_common_widens_the_interval() {
        let alone: Vec<f64> = (0..400).map(|at| f64::from(at % 2)).collect();
        let slow: Vec<f64> = (0..400).map(|at| f64::from((at / 100) % 2)).collect();
        assert!(half_width(&slow).unwrap() > 4.0 * half_width(&alone).unwrap());
    }
}
