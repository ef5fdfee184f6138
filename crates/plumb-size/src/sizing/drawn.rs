//! Landscapes as they might be, solved one after the other.

use plumb_measure::statistics::Bounded;

use super::{DRAWS_ENLARGED, Target, count};
use crate::analysis::{Analysis, AnalysisError, Point, Tail};
use crate::landscape::Landscape;

/// What so many users would see on any of the `drawn` landscapes: throughput, mean, 95th percentile.
pub(super) fn predicted(
    landscape: &Landscape,
    tail: &Tail,
    drawn: &[(Landscape, Tail)],
    think_s: f64,
    users: usize,
) -> Result<(Point, [Bounded; 3]), AnalysisError> {
    let at =
        |it: &Landscape| Ok::<Point, AnalysisError>(Analysis::of(it, think_s, users)?.at(users));
    let point = at(landscape)?;
    let mut draws = [Vec::new(), Vec::new(), Vec::new()];
    for (it, tail) in drawn {
        let drawn = at(it)?;
        draws[0].push(drawn.throughput_per_s);
        draws[1].push(drawn.mean_s);
        draws[2].push(tail.p95_s(&drawn));
    }
    let values = [point.throughput_per_s, point.mean_s, tail.p95_s(&point)];
    let mut figures = [Bounded::around(0.0, 0.0); 3];
    for ((into, value), draws) in figures.iter_mut().zip(values).zip(draws) {
        *into = bounded(value, draws);
    }
    Ok((point, figures))
}

pub(super) fn knee_users(
    landscape: &Landscape,
    drawn: &[(Landscape, Tail)],
    think_s: f64,
) -> Bounded {
    let of = |it: &Landscape| it.knee_users(think_s).unwrap_or(f64::NAN);
    bounded(of(landscape), drawn.iter().map(|(it, _)| of(it)).collect())
}

/// `value` with the interval of its draws; without any it has no width.
pub(crate) fn bounded(value: f64, draws: Vec<f64>) -> Bounded {
    Bounded::of_draws(value, draws).unwrap_or(Bounded::around(value, 0.0))
}

/// The largest number of users up to `most` within a target; 0 where one is too slow.
pub(super) fn within(
    landscape: &Landscape,
    tail: &Tail,
    drawn: &[(Landscape, Tail)],
    think_s: f64,
    most: usize,
    target: Target,
) -> Result<Bounded, AnalysisError> {
    let of = |it: &Landscape, tail: &Tail| {
        let solved = Analysis::of(it, think_s, most)?;
        let found = solved.users_within(target.figure, target.most_s, tail);
        Ok::<f64, AnalysisError>(count(found.unwrap_or(0)))
    };
    let value = of(landscape, tail)?;
    let mut draws = Vec::new();
    for (it, tail) in drawn.iter().take(DRAWS_ENLARGED) {
        draws.push(of(it, tail)?);
    }
    Ok(bounded(value, draws))
}
