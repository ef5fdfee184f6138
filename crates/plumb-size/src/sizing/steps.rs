//! The steps of a ladder, held against the model.

use super::drawn::{bounded, predicted};
use super::{DISAGREE_MAX, DRAWS, Predicted, PredictedStep, Sizing, SizingError};
use crate::analysis::{Analysis, AnalysisError, Figure, Point, Tail};
use crate::ladder::{Ladder, Step};
use crate::landscape::Landscape;
use crate::model::{Generator, Model, ModelError, Setup, users};

/// Standard errors of half a 95 % interval.
const HALF_95: f64 = 1.96;
/// By how much a think time may be below that of the ladder and still be the same, as a share.
const THINK_ALIKE: f64 = 0.01;

/// Predicts the highest step from the others. A ladder that is too short for that has none.
pub(super) fn held_out(
    ladder: &Ladder,
    setup: &Setup,
    seed: u64,
) -> Result<Option<PredictedStep>, SizingError> {
    let Some(rest) = ladder.without_highest() else { return Ok(None) };
    let model = match Model::fit(&rest, setup) {
        Ok(model) => model,
        Err(ModelError::Analysis(error)) => return Err(error.into()),
        Err(_) => return Ok(None),
    };
    let top = ladder.highest();
    let drawn = model.drawn(DRAWS, seed, Generator::Included);
    let landscape = model.landscape();
    let (_, [x, mean, p95]) =
        predicted(&landscape, &model.tail, &drawn, ladder.think_s(), users(top))?;
    Ok(Some(PredictedStep {
        users: top.users,
        throughput_per_s: Predicted::of(x, top.throughput_per_s),
        mean_s: Predicted::of(mean, top.mean_s),
        p95_s: Predicted::of(p95, top.p95_s),
    }))
}

/// The steps whose mean response time `model` misses. A throughput that is missed as far refuses the
/// answer: near the knee a small share of it is a large one of the mean.
pub(super) fn apart(
    ladder: &Ladder,
    model: &Model,
    seed: u64,
) -> Result<Vec<PredictedStep>, SizingError> {
    let along = |landscape: &Landscape| -> Result<Vec<Point>, AnalysisError> {
        let solved = Analysis::of(landscape, model.think_s, users(ladder.highest()))?;
        Ok(ladder.steps().iter().map(|step| solved.at(users(step))).collect())
    };
    let values = along(&model.landscape())?;
    let drawn = model.drawn(DRAWS, seed, Generator::Included);
    let drawn = drawn.iter().map(|(landscape, tail)| Ok((along(landscape)?, *tail)));
    let drawn = drawn.collect::<Result<Vec<_>, AnalysisError>>()?;
    let held = |(at, (step, value)): (usize, (&Step, &Point))| {
        let draws = |figure: fn(&Point, &Tail) -> f64, measured: f64| {
            let draws = drawn.iter().map(|(points, tail)| figure(&points[at], tail)).collect();
            Predicted::of(bounded(figure(value, &model.tail), draws), measured)
        };
        let mean_s = draws(|point, _| point.mean_s, step.mean_s);
        is_missed(step, &mean_s).then(|| PredictedStep {
            users: step.users,
            throughput_per_s: draws(|point, _| point.throughput_per_s, step.throughput_per_s),
            mean_s,
            p95_s: draws(|point, tail| tail.p95_s(point), step.p95_s),
        })
    };
    Ok(ladder.steps().iter().zip(&values).enumerate().filter_map(held).collect())
}

/// True when the mean of `step` lies clearly outside of what was predicted for it.
pub(super) fn is_missed(step: &Step, mean: &Predicted) -> bool {
    let by_count = HALF_95 * step.mean_s / step.operations.sqrt();
    let by_count = if step.operations > 0.0 { by_count } else { 0.0 };
    let half = step.mean_half_s.unwrap_or(by_count);
    let Predicted { predicted, measured, .. } = *mean;
    let outside = measured + half < predicted.low || measured - half > predicted.high;
    outside && (predicted.value - measured).abs() - half > DISAGREE_MAX * measured
}

impl Sizing {
    /// The step of most users that kept the target as it was measured, where the answer says that only
    /// fewer users do. A step of users who think shorter than asked says as much; one of users who
    /// think longer says nothing.
    #[must_use]
    pub fn kept_beyond(&self) -> Option<&Step> {
        let target = self.question.target?;
        let within = self.answer.as_ref()?.users_within?;
        if self.think_s() < self.model.think_s * (1.0 - THINK_ALIKE) {
            return None;
        }
        let is_kept = |step: &&Step| match target.figure {
            Figure::Mean => step.mean_s <= target.most_s,
            Figure::P95 => step.p95_s <= target.most_s,
        };
        let steps = self.ladder.steps();
        let kept = steps.iter().rev().filter(|step| step.users > within.value.floor());
        kept.filter(is_kept).find(|kept| {
            let alike = steps.iter().filter(|step| (step.users - kept.users).abs() < 0.5);
            alike.clone().count() == alike.filter(is_kept).count()
        })
    }
}
