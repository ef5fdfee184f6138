//! The model along the users of a ladder.

use plumb_measure::statistics::Bounded;
use serde::Serialize;

use super::drawn::bounded;
use super::{DRAWS_ENLARGED, SizingError, reach, whole};
use crate::analysis::{Analysis, AnalysisError, Point, Tail};
use crate::ladder::Ladder;
use crate::landscape::Landscape;
use crate::model::{Generator, Model};

/// Points of the curve, about.
const POINTS: u32 = 32;

/// What the model says of so many users who think as those of the ladder did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Users at once.
    pub users: usize,
    /// Operations a second.
    pub throughput_per_s: Bounded,
    /// Mean response time, seconds.
    pub mean_s: Bounded,
    /// 95th percentile of it, seconds.
    pub p95_s: Bounded,
}

/// The curve from one user to as many as may be asked for, on the landscape that was measured.
pub(super) fn of(
    ladder: &Ladder,
    model: &Model,
    seed: u64,
) -> Result<Vec<CurvePoint>, SizingError> {
    let most = whole(reach(ladder));
    let users = users(most);
    let along = |landscape: &Landscape| -> Result<Vec<Point>, AnalysisError> {
        let solved = Analysis::of(landscape, model.think_s, most)?;
        Ok(users.iter().map(|users| solved.at(*users)).collect::<Vec<Point>>())
    };
    let values = along(&model.landscape())?;
    let drawn = model.drawn(DRAWS_ENLARGED, seed, Generator::Included);
    let drawn = drawn.iter().map(|(landscape, tail)| Ok((along(landscape)?, *tail)));
    let drawn = drawn.collect::<Result<Vec<_>, AnalysisError>>()?;
    let point = |(at, value): (usize, Point)| {
        let draws = |figure: fn(&Point, &Tail) -> f64| {
            let draws = drawn.iter().map(|(points, tail)| figure(&points[at], tail)).collect();
            bounded(figure(&value, &model.tail), draws)
        };
        CurvePoint {
            users: value.users,
            throughput_per_s: draws(|point, _| point.throughput_per_s),
            mean_s: draws(|point, _| point.mean_s),
            p95_s: draws(|point, tail| tail.p95_s(point)),
        }
    };
    Ok(values.into_iter().enumerate().map(point).collect())
}

/// Numbers of users, evenly spread, from 1 to `most`.
fn users(most: usize) -> Vec<usize> {
    let place = |at: u32| whole(super::count(most) * f64::from(at) / f64::from(POINTS));
    let mut users: Vec<usize> = std::iter::once(1).chain((1..=POINTS).map(place)).collect();
    users.dedup();
    users
}
