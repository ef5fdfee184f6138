//! A straight line through steps of a ladder, with neither a negative slope nor a negative rest.

use plumb_measure::statistics::{Bounded, SplitMix64, student};
use serde::Serialize;

use crate::normal::normal;

/// Points that a line needs: two would leave nothing to tell how well they fit.
pub const POINTS_MIN: usize = 3;
/// A normal variable is within so many standard deviations of its mean in 95 of 100 cases.
const Z95: f64 = 1.96;
/// What is drawn of work that was seen is no less than this share of it: it may be next to nothing, but a
/// landscape without any work or time has no solution.
pub(crate) const DRAWN_MIN: f64 = 1e-3;

/// `y = rest + slope x`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What there is at `x = 0`.
    pub rest: Bounded,
    /// How much each unit of `x` adds.
    pub slope: Bounded,
    /// Error of the slope: with as many points as there are, that of a normal variable whose middle 95 %
    /// are the interval of Student's distribution.
    #[serde(skip)]
    slope_error: f64,
    /// Mean of `x`, where the error of `y` is independent of that of the slope.
    #[serde(skip)]
    centre: f64,
    /// That of `y` there.
    #[serde(skip)]
    centre_error: f64,
}

impl Line {
    /// The line of least squares through `points`, in which neither figure is negative; intervals
    /// by Student's distribution. `None` for fewer than [`POINTS_MIN`] points, for points that are
    /// no numbers, and where all have the same `x`.
    #[must_use]
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let finite = points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
        if points.len() < POINTS_MIN || !finite {
            return None;
        }
        let n = count(points);
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
        let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
        let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let square: f64 = points.iter().map(|(x, _)| x * x).sum();
        if spread <= square * 1e-12 {
            return None;
        }
        let both: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = both / spread;
        let rest = mean_y - slope * mean_x;
        if slope < 0.0 {
            return Some(Self::flat(points, mean_y));
        }
        if rest < 0.0 {
            let product: f64 = points.iter().map(|(x, y)| x * y).sum();
            let slope = (product / square).max(0.0);
            return Some(Self::with(points, (0.0, slope), (0.0, square), 1));
        }
        Some(Self::with(points, (rest, slope), (mean_x, spread), 2))
    }

    fn flat(points: &[(f64, f64)], mean_y: f64) -> Self {
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count(points);
        let spread = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        Self::with(points, (mean_y.max(0.0), 0.0), (mean_x, spread), 2)
    }

    /// `fitted` of the parameters were fitted; `spread` is the sum of squares of `x` around
    /// `mean_x`.
    fn with(
        points: &[(f64, f64)],
        (rest, slope): (f64, f64),
        (mean_x, spread): (f64, f64),
        fitted: usize,
    ) -> Self {
        let freedom = points.len() - fitted;
        let residual = |(x, y): &(f64, f64)| (y - rest - slope * x).powi(2);
        let variance = points.iter().map(residual).sum::<f64>() / degrees(freedom);
        let slope_error = (variance / spread).sqrt();
        let through_zero = fitted == 1;
        let rest_error = if through_zero {
            0.0
        } else {
            (variance * (1.0 / count(points) + mean_x * mean_x / spread)).sqrt()
        };
        let t = student(freedom);
        // a standard error from few points is itself not known well
        let as_normal = t / Z95;
        Self {
            rest: Bounded::around(rest, t * rest_error).not_negative(),
            slope: Bounded::around(slope, t * slope_error).not_negative(),
            slope_error: as_normal * slope_error,
            centre: mean_x,
            centre_error: if through_zero {
                0.0
            } else {
                as_normal * (variance / count(points)).sqrt()
            },
        }
    }

    /// A line through zero whose slope is known otherwise, within `half`.
    pub(crate) fn of_slope(slope: f64, half: f64) -> Self {
        let (rest, slope_error) = (Bounded::around(0.0, 0.0), half / Z95);
        let slope = Bounded::around(slope, half).not_negative();
        Self { rest, slope, slope_error, centre: 0.0, centre_error: 0.0 }
    }

    /// Rest and slope as they might be as well, neither of them negative, and a slope that is there not
    /// gone: a steeper line has less of a rest. One through zero stays there.
    pub(crate) fn drawn(&self, random: &mut SplitMix64) -> (f64, f64) {
        let slope = self.slope.value + self.slope_error * normal(random);
        let slope = slope.max(self.slope.value * DRAWN_MIN);
        let at_centre = self.rest.value + self.slope.value * self.centre;
        let rest = at_centre + self.centre_error * normal(random) - slope * self.centre;
        (rest.max(0.0), slope)
    }

    /// The line at `x`; its interval takes the ends of both figures, which is wider than need be.
    #[must_use]
    pub fn at(&self, x: f64) -> Bounded {
        Bounded {
            value: self.rest.value + self.slope.value * x,
            low: self.rest.low + self.slope.low * x,
            high: self.rest.high + self.slope.high * x,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ladder has few steps")]
fn count(points: &[(f64, f64)]) -> f64 {
    points.len() as f64
}

#[expect(clippy::cast_precision_loss, reason = "a ladder has few steps")]
fn degrees(freedom: usize) -> f64 {
    freedom.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_and_rest_have_the_intervals_of_the_textbooks() {
        // numpy.polyfit(x, y, 1, cov=True): 1.99, 0.05; standard errors .0597 and .1979
        let points = [(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8), (5.0, 10.1)];
        let line = Line::through(&points).unwrap();
        assert!((line.slope.value - 1.99).abs() < 1e-9, "{line:?}");
        assert!((line.rest.value - 0.05).abs() < 1e-9);
        assert!((line.slope.high - line.slope.value - 3.182 * 0.0597).abs() < 1e-3);
        assert!((line.rest.high - 0.05 - 3.182 * 0.1979).abs() < 1e-3);
        assert!(line.rest.low.abs() < 1e-12, "nothing is below 0");
    }

    #[test]
    fn a_rest_below_nothing_is_none() {
        let line = Line::through(&[(1.0, 0.5), (2.0, 2.0), (3.0, 3.5)]).unwrap();
        assert!(line.rest.value.abs() < 1e-12 && line.rest.high.abs() < 1e-12);
        assert!((line.slope.value - 15.0 / 14.0).abs() < 1e-9, "through zero: sum xy / sum xx");
    }

    #[test]
    fn lines_are_drawn_within_the_intervals_of_so_few_points() {
        let points = [(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8), (5.0, 10.1)];
        let line = Line::through(&points.map(|(x, y)| (x, y + 1.0))).unwrap();
        let mut random = SplitMix64::new(3);
        let draws: Vec<(f64, f64)> = (0..4_000).map(|_| line.drawn(&mut random)).collect();
        let n = f64::from(4_000);
        let spread = |figure: &dyn Fn(&(f64, f64)) -> f64| {
            let mean = draws.iter().map(figure).sum::<f64>() / n;
            (draws.iter().map(|it| (figure(it) - mean).powi(2)).sum::<f64>() / n).sqrt()
        };
        // the standard errors of numpy with three degrees of freedom; far out the two errors do not
        // cancel, in the middle they do
        let wide = 3.182 / 1.96;
        assert!((spread(&|it| it.0) / (0.1979 * wide) - 1.0).abs() < 0.05);
        assert!((spread(&|it| it.1) / (0.0597 * wide) - 1.0).abs() < 0.05);
        let at_centre = spread(&|it| it.0 + 3.0 * it.1) / wide;
        assert!((at_centre / (0.0597 * 2.0_f64.sqrt()) - 1.0).abs() < 0.05, "{at_centre}");
        let outside = draws.iter().filter(|(_, slope)| !line.slope.holds(*slope)).count();
        assert!((150..=250).contains(&outside), "one in twenty: {outside} of 4,000");
        let through_zero = Line::through(&[(1.0, 0.5), (2.0, 2.0), (3.0, 3.5)]).unwrap();
        assert!(through_zero.drawn(&mut random).0.abs() < 1e-12);
    }

    #[test]
    fn what_falls_is_flat() {
        let line = Line::through(&[(1.0, 5.0), (2.0, 4.0), (3.0, 3.0)]).unwrap();
        assert!(line.slope.value.abs() < 1e-12 && (line.rest.value - 4.0).abs() < 1e-9);
    }

    #[test]
    fn too_few_points_make_no_line() {
        assert_eq!(Line::through(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(Line::through(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Line::through(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)]), None);
    }
}
