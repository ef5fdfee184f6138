//! The tails of both variants, over all their blocks together.

use plumb_comparison::Tail;
use plumb_measure::{Distribution, Histogram};

use super::Pair;
use crate::block::Point;

/// The tail of one variant; `None` without response times.
#[expect(clippy::cast_precision_loss, reason = "a share of time")]
pub(super) fn tail<'a>(name: &str, points: impl Iterator<Item = &'a Point>) -> Option<Tail> {
    let mut all = Histogram::new();
    points.filter_map(|point| point.response.as_ref()).for_each(|it| all.merge(&it.histogram));
    if all.is_empty() {
        return None;
    }
    let far = 10 * all.quantile(0.5);
    let beyond: u128 = all
        .buckets()
        .filter(|(value, _)| *value > far)
        .map(|(value, count)| u128::from(value) * u128::from(count))
        .sum();
    Some(Tail {
        variant: name.into(),
        operations: all.count(),
        max_ns: all.max(),
        beyond_ten_medians: (beyond as f64 / all.sum().max(1) as f64).min(1.0),
        response_ns: Distribution::of(&all),
    })
}

/// All response times of every pair over one set of buckets, so that thousands of draws are cheap.
pub(super) struct Pooled {
    values: Vec<u64>,
    baseline: Vec<Vec<u64>>,
    candidate: Vec<Vec<u64>>,
}

impl Pooled {
    pub(super) fn of(pairs: &[Pair<'_>]) -> Self {
        let histogram = |point: &Point| point.response.as_ref().map(|it| it.histogram.clone());
        let mut bounds = std::collections::BTreeSet::new();
        for point in pairs.iter().flat_map(|pair| [pair.baseline, pair.candidate]) {
            bounds.extend(
                histogram(point)
                    .iter()
                    .flat_map(|it| it.buckets().map(|(value, _)| value).collect::<Vec<_>>()),
            );
        }
        let values: Vec<u64> = bounds.into_iter().collect();
        let counts = |point: &Point| {
            let mut counts = vec![0; values.len()];
            for (value, count) in
                histogram(point).iter().flat_map(|it| it.buckets().collect::<Vec<_>>())
            {
                counts[values.partition_point(|bound| *bound < value)] += count;
            }
            counts
        };
        Self {
            baseline: pairs.iter().map(|pair| counts(pair.baseline)).collect(),
            candidate: pairs.iter().map(|pair| counts(pair.candidate)).collect(),
            values,
        }
    }

    /// The 99th percentile of the candidate over that of the baseline, of the pairs drawn.
    pub(super) fn ratio(&self, drawn: &[usize]) -> Option<f64> {
        let (baseline, candidate) = self.tails(drawn)?;
        (baseline > 0.0).then(|| candidate / baseline)
    }

    /// The 99th percentiles of the baseline and of the candidate, over the pairs drawn.
    #[expect(clippy::cast_precision_loss, reason = "times of less than a year")]
    pub(super) fn tails(&self, drawn: &[usize]) -> Option<(f64, f64)> {
        let of = |side: &[Vec<u64>]| {
            let count: u64 = drawn.iter().map(|at| side[*at].iter().sum::<u64>()).sum();
            let wanted = count - count / 100;
            let mut seen = 0;
            (0..self.values.len())
                .find(|bucket| {
                    seen += drawn.iter().map(|at| side[*at][*bucket]).sum::<u64>();
                    seen >= wanted
                })
                .filter(|_| count > 0)
                .map(|bucket| self.values[bucket] as f64)
        };
        Some((of(&self.baseline)?, of(&self.candidate)?))
    }
}
