//! The Universal Scalability Law, fitted to a ladder.
//!
//! `X(N) = g N / (1 + a (N - 1) + b N (N - 1))`: `X` operations a second with `N` users, `g` those of
//! one user, `a` contention (work that cannot be done at the same time), `b` coherency (work that
//! grows with the pairs of users).
//!
//! # Source
//! Gunther, Guerrilla Capacity Planning, 2007. Least squares in `X` as the package `usl` of R does,
//! with its standard errors, and neither a figure nor an end of its interval below 0.

use plumb_measure::statistics::{Bounded, student};
use serde::Serialize;

/// Steps that a fit of three figures needs.
pub const STEPS_MIN: usize = 4;

/// Why a ladder cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScalabilityError {
    /// Fewer than [`STEPS_MIN`] numbers of users.
    #[error("three figures cannot be fitted to fewer than {STEPS_MIN} numbers of users")]
    Steps,
    /// Users or throughput that are not positive.
    #[error("a step has no users or no throughput")]
    Step,
    /// The least squares have no minimum that was found.
    #[error("the throughput of this ladder is not that of a scalability curve")]
    Diverged,
}

/// A fitted curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scalability {
    /// Operations a second of one user.
    pub single_per_s: Bounded,
    /// Contention.
    pub contention: Bounded,
    /// Coherency.
    pub coherency: Bounded,
    /// Standard error of the residuals, operations a second.
    pub residual_per_s: f64,
}

/// `g`, `a`, `b`.
type Figures = [f64; 3];

impl Scalability {
    /// Fits the law to `steps`: users, and operations a second.
    ///
    /// # Errors
    /// [`ScalabilityError`].
    pub fn fit(steps: &[(f64, f64)]) -> Result<Self, ScalabilityError> {
        let good = |(n, x): &(f64, f64)| n.is_finite() && x.is_finite() && *n > 0.0 && *x > 0.0;
        if !steps.iter().all(good) {
            return Err(ScalabilityError::Step);
        }
        let mut users: Vec<f64> = steps.iter().map(|(n, _)| *n).collect();
        users.sort_unstable_by(f64::total_cmp);
        users.dedup();
        if users.len() < STEPS_MIN {
            return Err(ScalabilityError::Steps);
        }
        // which of contention and coherency are free; the bound is taken where it would be crossed
        let free: [[bool; 3]; 4] =
            [[true, true, true], [true, true, false], [true, false, true], [true, false, false]];
        let tries = free.iter().filter_map(|free| descend(steps, *free));
        let best = tries.min_by(|a, b| squares(steps, a).total_cmp(&squares(steps, b)));
        best.and_then(|best| Self::with(steps, best)).ok_or(ScalabilityError::Diverged)
    }

    fn with(steps: &[(f64, f64)], figures: Figures) -> Option<Self> {
        let freedom = steps.len() - 3;
        let residual = (squares(steps, &figures) / count(freedom)).sqrt();
        let (matrix, _) = normal_equations(steps, &figures, [true; 3]);
        let t = student(freedom);
        let around = |at: usize| {
            let mut unit = [0.0; 3];
            unit[at] = 1.0;
            let variance = solve(matrix, unit)?[at] * residual * residual;
            let bounded = Bounded::around(figures[at], t * variance.max(0.0).sqrt());
            bounded.low.is_finite().then_some(bounded.not_negative())
        };
        Some(Self {
            single_per_s: around(0)?,
            contention: around(1)?,
            coherency: around(2)?,
            residual_per_s: residual,
        })
    }

    fn figures(&self) -> Figures {
        [self.single_per_s.value, self.contention.value, self.coherency.value]
    }

    /// Operations a second of `users` users.
    #[must_use]
    pub fn throughput_per_s(&self, users: f64) -> f64 {
        curve(users, &self.figures())
    }

    /// The number of users with the highest throughput, one where it falls from the first on; `None`
    /// when it never falls.
    #[must_use]
    pub fn peak_users(&self) -> Option<f64> {
        let [_, contention, coherency] = self.figures();
        if contention + coherency >= 1.0 {
            return Some(1.0);
        }
        (coherency > 0.0).then(|| ((1.0 - contention) / coherency).sqrt())
    }

    /// The throughput that is never passed, however many users there are; `None` without contention
    /// and coherency.
    #[must_use]
    pub fn limit_per_s(&self) -> Option<f64> {
        let [single, contention, _] = self.figures();
        self.peak_users()
            .map(|peak| self.throughput_per_s(peak))
            .or_else(|| (contention > 0.0).then(|| single / contention))
    }
}

fn curve(n: f64, [single, contention, coherency]: &Figures) -> f64 {
    single * n / (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0))
}

fn squares(steps: &[(f64, f64)], figures: &Figures) -> f64 {
    steps.iter().map(|(n, x)| (x - curve(*n, figures)).powi(2)).sum()
}

/// Gauss and Newton's steps, shortened by Levenberg and Marquardt's rule, from several beginnings;
/// `None` when none of them ends inside the bounds.
fn descend(steps: &[(f64, f64)], free: [bool; 3]) -> Option<Figures> {
    let single = steps.iter().map(|(n, x)| x / n).fold(0.0, f64::max);
    let beginnings = [(0.01, 1e-5), (0.2, 1e-3), (0.001, 1e-7)];
    let ends = beginnings.iter().filter_map(|(contention, coherency)| {
        let of = |free: bool, value: f64| if free { value } else { 0.0 };
        let begin = [single, of(free[1], *contention), of(free[2], *coherency)];
        descend_from(steps, free, begin)
    });
    ends.min_by(|a, b| squares(steps, a).total_cmp(&squares(steps, b)))
}

fn descend_from(steps: &[(f64, f64)], free: [bool; 3], begin: Figures) -> Option<Figures> {
    let (mut at, mut damping) = (begin, 1e-3);
    let mut best = squares(steps, &at);
    for _ in 0..2_000 {
        let (mut matrix, gradient) = normal_equations(steps, &at, free);
        for (place, row) in matrix.iter_mut().enumerate() {
            row[place] *= 1.0 + damping;
        }
        let step = solve(matrix, gradient)?;
        let next = [at[0] + step[0], at[1] + step[1], at[2] + step[2]];
        let squared = squares(steps, &next);
        let inside = next[0] > 0.0 && next[1] >= 0.0 && next[2] >= 0.0;
        if inside && squared <= best {
            let small = best - squared <= best * 1e-15;
            (at, best, damping) = (next, squared, (damping * 0.3_f64).max(1e-15));
            if small {
                return Some(at);
            }
        } else {
            damping *= 4.0;
            if damping > 1e20 {
                return Some(at);
            }
        }
    }
    Some(at)
}

/// `J'J` and `J'r` of the residuals at `figures`; the row and column of a figure that is not free
/// is that of the unit matrix.
fn normal_equations(
    steps: &[(f64, f64)],
    figures: &Figures,
    free: [bool; 3],
) -> ([[f64; 3]; 3], [f64; 3]) {
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for (n, x) in steps {
        let value = curve(*n, figures);
        let below = figures[0] * n / value;
        let slopes =
            [value / figures[0], -value * (n - 1.0) / below, -value * n * (n - 1.0) / below];
        let slope = |at: usize| if free[at] { slopes[at] } else { 0.0 };
        for (row, values) in matrix.iter_mut().enumerate() {
            right[row] += slope(row) * (x - value);
            for (column, cell) in values.iter_mut().enumerate() {
                *cell += slope(row) * slope(column);
            }
        }
    }
    for at in 0..3 {
        if !free[at] {
            matrix[at][at] = 1.0;
        }
    }
    (matrix, right)
}

/// Solves three linear equations, scaled so that figures of unlike size do no harm; `None` when
/// they are not independent.
fn solve(matrix: [[f64; 3]; 3], right: [f64; 3]) -> Option<[f64; 3]> {
    let scale = [0, 1, 2].map(|at| matrix[at][at].sqrt());
    if scale.iter().any(|it| !it.is_finite() || *it <= 0.0) {
        return None;
    }
    let cell = |row: usize, column: usize| matrix[row][column] / scale[row] / scale[column];
    let mut rows =
        [0, 1, 2].map(|at| [cell(at, 0), cell(at, 1), cell(at, 2), right[at] / scale[at]]);
    for pivot in 0..3 {
        let largest =
            (pivot..3).max_by(|a, b| rows[*a][pivot].abs().total_cmp(&rows[*b][pivot].abs()))?;
        rows.swap(pivot, largest);
        if rows[pivot][pivot].abs() < 1e-13 {
            return None;
        }
        let top = rows[pivot];
        for row in rows.iter_mut().skip(pivot + 1) {
            let factor = row[pivot] / top[pivot];
            row.iter_mut().zip(top).for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    let z = rows[2][3] / rows[2][2];
    let y = (rows[1][3] - rows[1][2] * z) / rows[1][1];
    let x = (rows[0][3] - rows[0][1] * y - rows[0][2] * z) / rows[0][0];
    Some([x / scale[0], y / scale[1], z / scale[2]])
}

#[expect(clippy::cast_precision_loss, reason = "a ladder has few steps")]
fn count(freedom: usize) -> f64 {
    freedom as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data set `specsdm91` of the package `usl`.
    const SPEC: [(f64, f64); 7] = [
        (1.0, 64.9),
        (18.0, 995.9),
        (36.0, 1652.4),
        (72.0, 1853.2),
        (108.0, 1828.9),
        (144.0, 1775.0),
        (216.0, 1702.2),
    ];
    /// The data set `raytracer` of the package `usl`.
    const RAYTRACER: [(f64, f64); 11] = [
        (1.0, 20.0),
        (4.0, 78.0),
        (8.0, 130.0),
        (12.0, 170.0),
        (16.0, 190.0),
        (20.0, 200.0),
        (24.0, 210.0),
        (28.0, 230.0),
        (32.0, 260.0),
        (48.0, 280.0),
        (64.0, 310.0),
    ];

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found} is not {expected}");
    }

    #[test]
    fn the_figures_and_errors_of_r_are_met() {
        // tests/usl-nlxb.Rout.save and tests/summary.Rout.save of the package
        let fit = Scalability::fit(&SPEC).unwrap();
        near(fit.single_per_s.value, 89.995_233, 1e-3);
        near(fit.contention.value, 0.027_728_5, 1e-6);
        near(fit.coherency.value, 0.000_104_4, 1e-7);
        near(fit.residual_per_s, 82.85, 0.01);
        let t = 2.776;
        near((fit.single_per_s.high - fit.single_per_s.value) / t, 14.213_489, 1e-3);
        near((fit.contention.high - fit.contention.value) / t, 0.009_121_7, 1e-6);
        near((fit.coherency.high - fit.coherency.value) / t, 0.000_019_88, 1e-8);
        near(fit.peak_users().unwrap(), 97.0, 0.5);
        near(fit.throughput_per_s(72.0), 1850.0, 0.5);
    }

    #[test]
    fn a_figure_at_its_bound_has_the_error_of_r() {
        // tests/confint.Rout.save of the package; its half widths are 1.8125 standard errors, the
        // quantile of 95 % to one side with ten degrees of freedom, ours those of 97.5 % with eight
        let fit = Scalability::fit(&RAYTRACER).unwrap();
        let (theirs, ours) = (1.8125, 2.306);
        let error = |of: Bounded| (of.high - of.value) / ours;
        near(fit.single_per_s.value, 21.8488, 5e-5);
        near(error(fit.single_per_s), (25.829_306 - 17.868_380) / 2.0 / theirs, 1e-3);
        near(error(fit.contention), (0.081_864 - 0.033_677) / 2.0 / theirs, 1e-5);
        near(error(fit.coherency), 0.000_214 / theirs, 1e-6);
        near(fit.coherency.value, 0.0, 1e-12);
        near(fit.coherency.low, 0.0, 1e-12);
        assert_eq!(fit.peak_users(), None);
        near(fit.limit_per_s().unwrap(), 21.8488 / 0.0578, 0.5);
    }

    #[test]
    fn what_cannot_be_fitted_is_refused() {
        assert_eq!(Scalability::fit(&SPEC[..3]), Err(ScalabilityError::Steps));
        let alike = [(4.0, 1.0), (4.0, 1.1), (4.0, 1.2), (8.0, 2.0)];
        assert_eq!(Scalability::fit(&alike), Err(ScalabilityError::Steps));
        let zero = [(1.0, 1.0), (2.0, 2.0), (3.0, 0.0), (4.0, 4.0)];
        assert_eq!(Scalability::fit(&zero), Err(ScalabilityError::Step));
        let number = [(1.0, 1.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, 4.0)];
        assert_eq!(Scalability::fit(&number), Err(ScalabilityError::Step));
    }

    #[test]
    fn no_figure_is_said_to_lie_below_nothing() {
        // four points that tell next to nothing of three figures
        let steps = [(2.0, 30.0), (3.0, 20.0), (4.0, 45.0), (6.0, 40.0)];
        let fit = Scalability::fit(&steps).unwrap();
        assert!(fit.single_per_s.value < fit.single_per_s.high / 2.0, "{fit:?}");
        for figure in [fit.single_per_s, fit.contention, fit.coherency] {
            assert!(figure.low >= 0.0 && figure.holds(figure.value), "{fit:?}");
        }
    }

    #[test]
    fn a_curve_is_found_again() {
        let figures = [50.0, 0.03, 0.0005];
        let steps: Vec<(f64, f64)> = [1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0]
            .iter()
            .map(|n| (*n, curve(*n, &figures)))
            .collect();
        let fit = Scalability::fit(&steps).unwrap();
        near(fit.single_per_s.value, 50.0, 1e-5);
        near(fit.contention.value, 0.03, 1e-7);
        near(fit.coherency.value, 0.0005, 1e-9);
    }

    #[test]
    fn a_throughput_that_falls_from_the_first_user_on_has_its_peak_there() {
        for figures in [[100.0, 1.2, 0.0], [100.0, 1.2, 0.01], [100.0, 0.5, 0.6]] {
            let steps = [1.0, 2.0, 4.0, 8.0, 16.0].map(|n| (n, curve(n, &figures)));
            let fit = Scalability::fit(&steps).unwrap();
            near(fit.contention.value, figures[1], 1e-6);
            near(fit.peak_users().unwrap(), 1.0, 1e-12);
            near(fit.limit_per_s().unwrap(), 100.0, 1e-6);
        }
    }

    #[test]
    fn perfect_scaling_has_no_limit() {
        let steps: Vec<(f64, f64)> = (1..6).map(|n| (f64::from(n), 10.0 * f64::from(n))).collect();
        let fit = Scalability::fit(&steps).unwrap();
        near(fit.throughput_per_s(10.0), 100.0, 0.1);
    }
}
