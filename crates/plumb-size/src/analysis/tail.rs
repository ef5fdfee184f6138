//! How the 95th percentiles of a ladder lie above their means.

use plumb_measure::statistics::SplitMix64;
use serde::Serialize;

use super::{Figure, Point};
use crate::ladder::Step;
use crate::normal::normal;

/// A 95th percentile of so many operations counts half.
const FEW: f64 = 100.0;

/// A 95th percentile lies so far above the mean as the model says, times a factor that the steps of a
/// ladder have in common. It is never below the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tail {
    /// The factor; 1 where the model is taken as it is.
    pub factor: f64,
    /// How far the 95th percentiles of the steps are from that, as a share of themselves (root mean
    /// square).
    pub misfit: f64,
    /// How far off a drawn one is, as a share; 0 in the middle.
    #[serde(skip)]
    off: f64,
}

impl Default for Tail {
    fn default() -> Self {
        Self { factor: 1.0, misfit: 0.0, off: 0.0 }
    }
}

impl Tail {
    /// What explains the steps best, each beside what the model says of it: the factor of least
    /// squares of the relative errors. A step counts the more, the more operations it had and the more
    /// users: what is asked lies at their upper end.
    #[must_use]
    pub fn fit(steps: &[(&Step, Point)]) -> Self {
        let most = steps.iter().map(|(step, _)| step.users).fold(1.0, f64::max);
        let fitted = |(step, point): &(&Step, Point)| {
            let measured = step.p95_s / step.mean_s;
            let weight = weight(step) * step.users / most;
            (weight, (measured - 1.0) / measured, (point.p95_s / point.mean_s - 1.0) / measured)
        };
        let steps: Vec<(f64, f64, f64)> = steps.iter().map(fitted).collect();
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            steps.iter().map(|(weight, measured, model)| weight * of(*measured, *model)).sum()
        };
        let explained = sum(&|_, model| model * model);
        let factor = if explained > 0.0 {
            (sum(&|measured, model| measured * model) / explained).max(0.0)
        } else {
            0.0
        };
        let square = sum(&|measured, model| (factor * model - measured).powi(2));
        let count = f64::from(u32::try_from(steps.len()).unwrap_or(u32::MAX));
        let free = count / (count - 1.0).max(1.0);
        Self { factor, misfit: (square / sum(&|_, _| 1.0) * free).sqrt(), off: 0.0 }
    }

    /// One that might be as well: as far off as the steps were.
    pub(crate) fn drawn(&self, random: &mut SplitMix64) -> Self {
        Self { off: self.misfit * normal(random), ..*self }
    }

    /// The 95th percentile at this `point` of the model, seconds.
    #[must_use]
    pub fn p95_s(&self, point: &Point) -> f64 {
        let above_s = self.factor * (point.p95_s - point.mean_s);
        ((point.mean_s + above_s) * self.off.exp()).max(point.mean_s)
    }

    /// The figure that is looked at, seconds.
    #[must_use]
    pub fn figure_s(&self, figure: Figure, point: &Point) -> f64 {
        match figure {
            Figure::Mean => point.mean_s,
            Figure::P95 => self.p95_s(point),
        }
    }
}

/// What the 95th percentile of a step counts, 0 to 1: of few operations it is one of the slowest.
fn weight(step: &Step) -> f64 {
    if step.operations > 0.0 { step.operations / (step.operations + FEW) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(users: u32, mean_s: f64, p95_s: f64) -> Point {
        Point { users: users as usize, throughput_per_s: 1.0, mean_s, p95_s, resources: Vec::new() }
    }

    fn step(users: u32, mean_s: f64, p95_s: f64) -> Step {
        Step { users: f64::from(users), throughput_per_s: 1.0, mean_s, p95_s, ..Step::default() }
    }

    #[test]
    fn a_factor_that_all_steps_have_in_common_is_found() {
        // means are the ladder's own: a model that is off in them is not off in its tail
        let steps = [step(1, 0.1, 0.11), step(10, 0.2, 0.24), step(40, 1.0, 1.1)];
        let points = [point(1, 0.05, 0.06), point(10, 0.2, 0.28), point(40, 2.0, 2.4)];
        let found = Tail::fit(&steps.iter().zip(points.clone()).collect::<Vec<_>>());
        assert!((found.factor - 0.5).abs() < 1e-12 && found.misfit < 1e-12, "{found:?}");
        assert!((found.p95_s(&points[1]) - 0.24).abs() < 1e-12);
        assert!((found.figure_s(Figure::Mean, &points[1]) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn no_95th_percentile_is_below_its_mean() {
        // light steps whose times are all alike say nothing of a wait that the model spreads
        let steps = [step(1, 0.1, 0.1), step(2, 0.1, 0.1), step(3, 0.1, 0.1)];
        let points = [point(1, 0.1, 0.2), point(2, 0.1, 0.2), point(3, 0.1, 0.2)];
        let found = Tail::fit(&steps.iter().zip(points).collect::<Vec<_>>());
        let busy = point(40, 1.0, 3.0);
        assert!((found.p95_s(&busy) - 1.0).abs() < 1e-12);
        let wide = Tail { misfit: 0.5, ..found };
        let mut random = SplitMix64::new(1);
        for _ in 0..100 {
            assert!(wide.drawn(&mut random).p95_s(&busy) >= 1.0);
        }
        // and a model without any tail has none to stretch
        let none = Tail::fit(&[(&step(1, 0.1, 0.2), point(1, 0.1, 0.1))]);
        assert!(none.factor.abs() < 1e-12 && (none.p95_s(&point(1, 0.1, 0.1)) - 0.1).abs() < 1e-12);
        assert!(none.misfit > 0.4, "{none:?}");
    }

    #[test]
    fn steps_of_few_operations_and_few_users_count_less() {
        let few = Step { operations: 5.0, ..step(40, 1.0, 3.0) };
        let many = Step { operations: 5_000.0, ..step(40, 1.0, 1.2) };
        let found = Tail::fit(&[(&few, point(40, 1.0, 2.0)), (&many, point(40, 1.0, 2.0))]);
        assert!(found.factor < 0.4, "{found:?}");
    }
}
