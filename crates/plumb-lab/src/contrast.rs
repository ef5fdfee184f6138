//! One candidate against the baseline, at one point of the plan.

use std::collections::BTreeMap;

use plumb_measure::statistics::{
    Drift, Interval, drift, hodges_lehmann, interval, mean, median, percentile_interval,
    standard_deviation, wilcoxon,
};
use plumb_measure::{
    Better, BlockFigures, Checks, Contrast, Endpoint, Histogram, Role, Tail, Verdict,
};

use crate::block::{Point, Settling};
use crate::figures::{Figure, PRINTED, TAIL, THROUGHPUT, in_order};

/// The level that intervals have at least, and one minus the level of the tests.
pub const LEVEL: f64 = 0.95;
/// Effective samples of a block below which its median is shaky.
const SAMPLES_MIN: f64 = 50.0;
/// Operations of a block below which its response times are few, however independent.
const OPERATIONS_MIN: u64 = 200;
/// The keys of the figures that are made of response times.
const TIMES: [&str; 4] = ["p50", "p95", "mean", "av2"];
const RESAMPLES: usize = 2_000;

/// The blocks of both variants in one complete round, at one point.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The round, from one.
    pub round: u64,
    /// The block of the baseline.
    pub baseline: &'a Point,
    /// The block of the candidate.
    pub candidate: &'a Point,
}

/// What is compared, and under which rules.
#[derive(Clone, Debug)]
pub struct Question {
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the candidate.
    pub candidate: String,
    /// The point.
    pub labels: BTreeMap<String, String>,
    /// Effects within this share count as none; `None`: no margin was given.
    pub margin: Option<f64>,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Response times may be used.
    pub latency: bool,
    /// The key of the figure that decides; `None`: the first that there is.
    pub figure: Option<String>,
    /// Which way a figure that commands print is good.
    pub better: Better,
    /// How much of it is worked out.
    pub detail: Detail,
    /// The plan sets the rate, so throughput says nothing.
    pub open: bool,
}

/// How much of a contrast is worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The primary figure: enough to see whether more rounds are needed.
    Primary,
    /// Everything.
    All,
}

/// The contrast of `pairs`, in order of time; tests are not adjusted yet.
#[must_use]
pub fn contrast(question: &Question, pairs: &[Pair<'_>]) -> Contrast {
    let figures = in_order(question.figure.as_deref());
    let mut endpoints: Vec<Endpoint> = figures
        .iter()
        .filter(|figure| question.latency || !figure.latency)
        .filter(|figure| !(question.open && figure.key == THROUGHPUT))
        .filter_map(|figure| endpoint(figure, question, pairs))
        .take(if question.detail == Detail::Primary { 1 } else { figures.len() })
        .collect();
    if let Some(first) = endpoints.first_mut() {
        first.role = Role::Primary;
    }
    let checks = endpoints.first().map_or_else(Checks::default, |it| checks(it, pairs));
    Contrast {
        baseline: question.baseline.clone(),
        candidate: question.candidate.clone(),
        labels: question.labels.clone(),
        sentence: String::new(),
        endpoints,
        checks,
        tails: [
            tail(&question.baseline, pairs.iter().map(|pair| pair.baseline)),
            tail(&question.candidate, pairs.iter().map(|pair| pair.candidate)),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

fn endpoint(figure: &Figure, question: &Question, pairs: &[Pair<'_>]) -> Option<Endpoint> {
    let blocks: Vec<BlockFigures> = pairs
        .iter()
        .map(|pair| BlockFigures {
            round: pair.round,
            baseline: (figure.of)(pair.baseline),
            candidate: (figure.of)(pair.candidate),
        })
        .collect();
    let column = |which: fn(&BlockFigures) -> Option<f64>| {
        median(&blocks.iter().filter_map(which).collect::<Vec<_>>())
    };
    let (baseline, candidate) = (column(|it| it.baseline)?, column(|it| it.candidate)?);
    let effects: Vec<f64> = blocks.iter().filter_map(|it| it.ratio()).map(f64::ln).collect();
    let mut endpoint = Endpoint {
        key: figure.key.into(),
        name: figure.name.into(),
        unit: figure.unit,
        better: if figure.key == PRINTED { question.better } else { figure.better },
        role: figure.role,
        baseline,
        candidate,
        blocks,
        ratio: None,
        interval: None,
        p: None,
        p_adjusted: None,
        verdict: None,
    };
    if figure.key == TAIL {
        let pooled = Pooled::of(pairs);
        if let Some((baseline, candidate)) = pooled.tails(&(0..pairs.len()).collect::<Vec<_>>()) {
            // what is compared is what is shown
            (endpoint.baseline, endpoint.candidate) = (baseline, candidate);
            endpoint.ratio = (baseline > 0.0).then(|| candidate / baseline);
        }
        endpoint.interval = (pairs.len() > 5)
            .then(|| {
                percentile_interval(pairs.len(), RESAMPLES, LEVEL, question.seed, |drawn| {
                    pooled.ratio(drawn)
                })
            })
            .flatten();
        return Some(endpoint);
    }
    endpoint.ratio = hodges_lehmann(&effects).map(f64::exp);
    endpoint.interval = interval(&effects, LEVEL).map(|it| Interval {
        low: it.low.exp(),
        high: it.high.exp(),
        level: it.level,
    });
    if matches!(figure.role, Role::Primary | Role::Tested) {
        // effects of nothing but zero agree with no effect as well as can be
        let all_zero = !effects.is_empty() && effects.iter().all(|effect| *effect == 0.0);
        endpoint.p = wilcoxon(&effects).map(|it| it.p).or(all_zero.then_some(1.0));
    }
    Some(endpoint)
}

/// The fewest pairs with which any difference can be shown in `contrasts` contrasts at once: with
/// fewer the smallest p there is stays above the level when it is adjusted for so many.
#[must_use]
pub fn pairs_needed(contrasts: usize) -> u64 {
    let smallest = |pairs: i32| 2.0_f64.powi(1 - pairs);
    let contrasts = f64::from(u32::try_from(contrasts.max(1)).unwrap_or(u32::MAX));
    let needed = (1..64).find(|pairs| contrasts * smallest(*pairs) <= 1.0 - LEVEL + 1e-12);
    needed.and_then(|pairs| u64::try_from(pairs).ok()).unwrap_or(64)
}

/// What follows from the interval and the adjusted p of a tested figure.
#[must_use]
pub fn verdict(endpoint: &Endpoint, margin: Option<f64>) -> Verdict {
    let (Some(interval), Some(p), Some(ratio)) =
        (endpoint.interval, endpoint.p_adjusted, endpoint.ratio)
    else {
        return Verdict::None;
    };
    let within = |margin: f64| 1.0 - margin <= interval.low && interval.high <= 1.0 + margin;
    if margin.is_some_and(within) {
        Verdict::Equivalent
    } else if p > 1.0 - LEVEL {
        Verdict::NoDifferenceShown
    } else if endpoint.improvement(ratio) > 0.0 {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of pairs"
)]
fn checks(primary: &Endpoint, pairs: &[Pair<'_>]) -> Checks {
    let baselines: Vec<f64> = primary
        .blocks
        .iter()
        .filter_map(|it| it.baseline)
        .filter(|it| *it > 0.0)
        .map(f64::ln)
        .collect();
    let points = || pairs.iter().flat_map(|pair| [pair.baseline, pair.candidate]);
    let orders = || points().filter_map(|point| point.order);
    let errors: Vec<f64> = pairs
        .iter()
        .filter_map(|pair| pair.baseline.order)
        .map(|it| it.standard_error.powi(2))
        .collect();
    let half_width = primary.interval.map(|it| (it.high.ln() - it.low.ln()) / 2.0);
    let mut checks = Checks {
        drift: drift(&baselines).map(|it| Drift { change: it.change.exp_m1(), ..it }),
        effective_samples: orders().map(|it| it.effective_samples).reduce(f64::min),
        autocorrelation: orders().map(|it| it.autocorrelation).reduce(f64::max),
        warm_up: points().map(|point| point.warm_up).reduce(f64::max),
        between_blocks: standard_deviation(&baselines),
        within_blocks: mean(&errors).map(f64::sqrt),
        pairs_for_one_percent: half_width.map(|half| {
            let pairs = pairs.len() as f64 * (half / 0.01_f64.ln_1p()).powi(2);
            (pairs.ceil() as u64).max(6)
        }),
        without_first: without_first(primary),
        remarks: Vec::new(),
    };
    checks.remarks = remarks(&checks, primary);
    checks.remarks.extend(few_operations(&checks, primary, pairs));
    checks.remarks.extend(wavering(pairs));
    checks
}

/// Where the figure that decides is made of few response times, unless that is said already.
fn few_operations(checks: &Checks, primary: &Endpoint, pairs: &[Pair<'_>]) -> Option<String> {
    let said = checks.effective_samples.is_some_and(|samples| samples < SAMPLES_MIN);
    let points = pairs.iter().flat_map(|pair| [pair.baseline, pair.candidate]);
    let counts = points.filter_map(|point| Some(point.response.as_ref()?.histogram.count()));
    let fewest = counts.min().filter(|count| *count < OPERATIONS_MIN)?;
    (TIMES.contains(&primary.key.as_str()) && !said).then(|| {
        format!(
            "The smallest block has {fewest} operations; below {OPERATIONS_MIN} its response times \
             are shaky: lengthen the blocks."
        )
    })
}

fn wavering(pairs: &[Pair<'_>]) -> Option<String> {
    let points = || pairs.iter().flat_map(|pair| [pair.baseline, pair.candidate]);
    match points().filter(|point| point.settling == Settling::Wavers).count() {
        0 => None,
        n => Some(format!(
            "In {n} of {} blocks response times wavered to the end: no warm-up could be told from \
             that, and nothing was cut off.",
            points().count()
        )),
    }
}

/// The effect without the first pair, when that lies outside the range of all others.
fn without_first(primary: &Endpoint) -> Option<f64> {
    let effects: Vec<f64> =
        primary.blocks.iter().filter_map(|it| it.ratio()).map(f64::ln).collect();
    let (first, others) = effects.split_first()?;
    let low = others.iter().copied().reduce(f64::min)?;
    let high = others.iter().copied().reduce(f64::max)?;
    (others.len() > 4 && !(low..=high).contains(first))
        .then(|| hodges_lehmann(others).map(f64::exp))
        .flatten()
}

fn remarks(checks: &Checks, primary: &Endpoint) -> Vec<String> {
    let mut remarks = Vec::new();
    let effect = primary.ratio.map_or(0.0, |ratio| (ratio - 1.0).abs());
    if let Some(drift) = checks.drift
        && drift.p < 0.05
        && drift.change.abs() > effect
    {
        remarks.push(format!(
            "The baseline itself moved by {:+.1} % over the experiment, more than the effect: only \
             because the blocks were interleaved does the comparison stand.",
            100.0 * drift.change
        ));
    }
    if let Some(samples) = checks.effective_samples.filter(|samples| *samples < SAMPLES_MIN) {
        remarks.push(format!(
            "A block is worth only {samples:.0} independent operations, so its median is shaky: \
             lengthen the blocks."
        ));
    }
    if let Some(without) = checks.without_first {
        remarks.push(format!(
            "The first pair lies outside the range of all others, as when something was still \
             cold. Nothing is deleted; without it the change would be {:+.1} %.",
            primary.improvement(without)
        ));
    }
    remarks
}

#[expect(clippy::cast_precision_loss, reason = "a share of time")]
fn tail<'a>(name: &str, points: impl Iterator<Item = &'a Point>) -> Option<Tail> {
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
    })
}

/// All response times of every pair over one set of buckets, so that thousands of draws are cheap.
struct Pooled {
    values: Vec<u64>,
    baseline: Vec<Vec<u64>>,
    candidate: Vec<Vec<u64>>,
}

impl Pooled {
    fn of(pairs: &[Pair<'_>]) -> Self {
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
    fn ratio(&self, drawn: &[usize]) -> Option<f64> {
        let (baseline, candidate) = self.tails(drawn)?;
        (baseline > 0.0).then(|| candidate / baseline)
    }

    /// The 99th percentiles of the baseline and of the candidate, over the pairs drawn.
    #[expect(clippy::cast_precision_loss, reason = "times of less than a year")]
    fn tails(&self, drawn: &[usize]) -> Option<(f64, f64)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Response;
    use plumb_measure::statistics::holm;

    /// A block of so many operations of a microsecond each.
    fn block(operations: u64) -> Point {
        let mut histogram = Histogram::new();
        histogram.record_n(1_000, operations);
        let time = 1_000.0;
        let (p50, p95, p99, mean) = (time, time, time, time);
        Point {
            labels: BTreeMap::new(),
            response: Some(Response { histogram, p50, p95, p99, mean, niping: None }),
            throughput_per_s: 1.0,
            bits_per_s: None,
            client_cpu_ns: None,
            server_cpu_ns: None,
            figure: None,
            warm_up: 0.0,
            settling: Settling::Settled,
            order: None,
        }
    }

    /// What is remarked of one pair whose blocks have so many operations.
    fn remarked(baseline: u64, candidate: u64, figure: &str) -> String {
        let (baseline, candidate) = (block(baseline), block(candidate));
        let pair = Pair { round: 1, baseline: &baseline, candidate: &candidate };
        contrast(&question(figure), &[pair]).checks.remarks.join(" ")
    }

    /// A question that `figure` decides.
    fn question(figure: &str) -> Question {
        Question {
            baseline: "a".into(),
            candidate: "b".into(),
            labels: BTreeMap::new(),
            margin: None,
            seed: 1,
            latency: true,
            figure: Some(figure.into()),
            better: Better::Lower,
            detail: Detail::All,
            open: false,
        }
    }

    #[test]
    fn the_tails_that_are_shown_are_those_that_are_compared() {
        let tail = |slow: u64| {
            let mut point = block(1_000);
            if let Some(response) = &mut point.response {
                response.histogram.record_n(9_000, slow);
            }
            point
        };
        // two blocks in three have no tail of their own, and all of them together have one
        let (calm, slow) = (tail(0), tail(90));
        let pairs: Vec<Pair<'_>> = (1..)
            .zip([&calm, &calm, &slow])
            .map(|(round, candidate)| Pair { round, baseline: &calm, candidate })
            .collect();
        let contrast = contrast(&question("p50"), &pairs);
        let found = contrast.endpoints.iter().find(|it| it.key == TAIL).unwrap();
        assert!(found.baseline < 1_010.0 && found.candidate > 8_900.0, "{found:?}");
        let ratio = found.ratio.unwrap();
        assert!((ratio - found.candidate / found.baseline).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn few_operations_are_told_where_response_times_decide() {
        assert!(remarked(500, 199, "p95").contains("block has 199 operations"));
        assert_eq!(remarked(500, 200, "p95"), "");
        assert_eq!(remarked(500, 3, "throughput"), "");
    }

    #[test]
    fn so_many_pairs_are_needed_and_one_fewer_is_not_enough() {
        assert_eq!((pairs_needed(0), pairs_needed(1)), (6, 6));
        for contrasts in [1, 2, 4, 12, 48, 2_000] {
            let needed = usize::try_from(pairs_needed(contrasts)).unwrap();
            let best = |pairs: usize| {
                let effects: Vec<f64> = (1_u32..).take(pairs).map(f64::from).collect();
                let p = wilcoxon(&effects).unwrap().p;
                holm(&vec![p; contrasts])[0]
            };
            assert!(best(needed) <= 0.05 && best(needed - 1) > 0.05, "{contrasts}");
        }
    }
}
