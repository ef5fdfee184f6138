//! One candidate against the baseline, at one point of the plan.

mod checks;
mod level;
mod order_effect;
mod tails;
mod verdict;
mod withdrawn;

use std::collections::BTreeMap;

use plumb_comparison::{Better, BlockFigures, Checks, Contrast, Endpoint, Role, Tail};
use plumb_measure::statistics::{
    Interval, hodges_lehmann, interval, median, percentile_interval, wilcoxon,
};

use self::checks::checks;
use self::tails::{Pooled, tail};
use crate::block::Point;
use crate::figures::{Figure, PRINTED, TAIL, THROUGHPUT, in_order};

pub use level::LEVEL;
pub use verdict::{Judged, Tests, judge, pairs_needed};
pub use withdrawn::{FailedRounds, Remedy, Withdrawn};

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
    /// Whether that was taken before the one of the baseline.
    pub candidate_first: bool,
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
    /// Both have the same commands and settings.
    pub same_treatment: bool,
}

/// How much of a contrast is worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The primary figure: enough to see whether more rounds are needed.
    Primary,
    /// Everything.
    All,
}

/// The contrast of `pairs`, in order of time: its primary figure is tested, not judged yet.
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
    if let Some(first) = endpoints.first_mut().filter(|first| first.role == Role::Described) {
        first.role = Role::Primary;
        first.p = p(first).filter(|_| question.is_answered_by(first));
    }
    let checks = endpoints.first().map_or_else(Checks::default, |it| checks(it, pairs));
    Contrast {
        baseline: question.baseline.clone(),
        candidate: question.candidate.clone(),
        labels: question.labels.clone(),
        same_treatment: question.same_treatment,
        sentence: String::new(),
        endpoints,
        checks,
        tails: tails(question, pairs),
    }
}

impl Question {
    /// True for the figure that is to decide: another in its place would answer another question.
    pub(crate) fn is_answered_by(&self, endpoint: &Endpoint) -> bool {
        self.figure.as_ref().is_none_or(|wanted| *wanted == endpoint.key)
    }

    /// Why the figure that is to decide does not, in words without an end; `None` where it does.
    pub(crate) fn unanswered(&self, contrast: &Contrast) -> Option<String> {
        let first = contrast.endpoints.first()?;
        let wanted = self.figure.as_ref().filter(|_| !self.is_answered_by(first))?;
        let is_time = in_order(Some(wanted)).first().is_some_and(|figure| figure.latency);
        let why = match (is_time && !self.latency, self.open && wanted == THROUGHPUT) {
            (true, _) => "says nothing, since the load generator was the limit",
            (_, true) => "says nothing, since the plan sets the rate",
            _ => "is in no pair",
        };
        Some(format!("`{wanted}`, which was to decide, {why}"))
    }
}

/// The tails of both, where response times may be used.
fn tails(question: &Question, pairs: &[Pair<'_>]) -> Vec<Tail> {
    if !question.latency {
        return Vec::new();
    }
    let tails = [
        tail(&question.baseline, pairs.iter().map(|pair| pair.baseline)),
        tail(&question.candidate, pairs.iter().map(|pair| pair.candidate)),
    ];
    tails.into_iter().flatten().collect()
}

/// The two-sided p of the exact signed-rank test over the pairs; `None` without any.
fn p(endpoint: &Endpoint) -> Option<f64> {
    let effects = effects(&endpoint.blocks);
    // effects of nothing but zero agree with no effect as well as can be
    let all_zero = !effects.is_empty() && effects.iter().all(|effect| *effect == 0.0);
    wilcoxon(&effects).map(|it| it.p).or(all_zero.then_some(1.0))
}

/// The effect of every pair that has both figures, in order of time.
#[must_use]
pub fn effects(blocks: &[BlockFigures]) -> Vec<f64> {
    blocks.iter().filter_map(BlockFigures::effect).collect()
}

/// The ratio that belongs to an effect; `None` where that has no end.
fn ratio(effect: f64) -> Option<f64> {
    Some(effect.exp()).filter(|ratio| ratio.is_finite())
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
    let is_zero =
        |it: &BlockFigures| [it.baseline, it.candidate].iter().flatten().all(|it| *it <= 0.0);
    if figure.better == Better::Higher && blocks.iter().all(is_zero) {
        return None; // what nobody measured has a rate of nothing
    }
    let better = if figure.key == PRINTED { question.better } else { figure.better };
    let what = (figure.key, figure.name, figure.unit, better);
    let mut endpoint = Endpoint { blocks, ..Endpoint::described(what, baseline, candidate) };
    if figure.key == TAIL {
        endpoint.role = Role::Approximate;
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
    estimate(&mut endpoint);
    Some(endpoint)
}

/// Works out ratio and interval of `endpoint` from its pairs.
fn estimate(endpoint: &mut Endpoint) {
    let effects = effects(&endpoint.blocks);
    endpoint.ratio = hodges_lehmann(&effects).and_then(ratio);
    endpoint.interval = interval(&effects, LEVEL)
        .and_then(|it| Some(Interval { low: ratio(it.low)?, high: ratio(it.high)?, ..it }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{OrderFacts, Response, Settling};
    use plumb_measure::Histogram;

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
            rows_per_s: None,
            client_cpu_ns: None,
            server_cpu_ns: None,
            round_trip: None,
            figure: None,
            cost: [None; 4],
            warm_up: 0.0,
            settling: Settling::Settled,
            order: None,
        }
    }

    /// What is remarked of one pair whose blocks have so many operations.
    fn remarked(baseline: u64, candidate: u64, figure: &str) -> String {
        let (baseline, candidate) = (block(baseline), block(candidate));
        let pair =
            Pair { round: 1, baseline: &baseline, candidate: &candidate, candidate_first: false };
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
            same_treatment: false,
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
            .map(|(round, candidate)| Pair {
                round,
                baseline: &calm,
                candidate,
                candidate_first: false,
            })
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
    fn one_figure_is_tested_and_the_others_are_described() {
        let points: Vec<(Point, Point)> =
            (1..=6).map(|n| (block(1_000), block(1_000 + n))).collect();
        let pairs: Vec<Pair<'_>> = (1..)
            .zip(&points)
            .map(|(round, (baseline, candidate))| Pair {
                round,
                baseline,
                candidate,
                candidate_first: round % 2 == 0,
            })
            .collect();
        for figure in ["p50", "p95", "throughput"] {
            let endpoints = contrast(&question(figure), &pairs).endpoints;
            assert_eq!((endpoints[0].key.as_str(), endpoints[0].role), (figure, Role::Primary));
            assert_eq!(endpoints[0].p, Some(1.0), "{figure}");
            assert!(endpoints.len() > 3);
            for other in &endpoints[1..] {
                assert!(other.p.is_none() && other.role != Role::Primary, "{other:?}");
                assert!(other.interval.is_some(), "{other:?}");
            }
        }
    }

    /// The contrast of six pairs of `baseline` and `candidate`.
    fn of_six(question: &Question, baseline: &Point, candidate: &Point) -> Contrast {
        let pairs: Vec<Pair<'_>> = (1..=6)
            .map(|round| Pair { round, baseline, candidate, candidate_first: round % 2 == 0 })
            .collect();
        contrast(question, &pairs)
    }

    #[test]
    fn no_figure_takes_the_place_of_the_one_that_is_to_decide() {
        let question = question("server-cpu");
        let told = Point { server_cpu_ns: Some(7.0), ..block(1_000) };
        let found = of_six(&question, &told, &told);
        assert_eq!((found.endpoints[0].p, question.unanswered(&found)), (Some(1.0), None));
        let found = of_six(&question, &told, &block(1_000));
        let first = &found.endpoints[0];
        assert_eq!((first.key.as_str(), first.role, first.p), ("p50", Role::Primary, None));
        assert_eq!(
            question.unanswered(&found).unwrap(),
            "`server-cpu`, which was to decide, is in no pair"
        );
    }

    #[test]
    fn a_load_that_its_driver_limits_says_nothing_of_response_times() {
        let limited = Question { latency: false, figure: None, ..question("p50") };
        let mut point = block(1_000);
        point.order = Some(OrderFacts {
            effective_samples: 30.0,
            autocorrelation: 0.5,
            standard_error: 0.01,
        });
        let found = of_six(&limited, &point, &point);
        assert_eq!(
            (found.endpoints[0].key.as_str(), found.endpoints[0].p),
            ("throughput", Some(1.0))
        );
        assert!(found.tails.is_empty() && found.checks.remarks.is_empty(), "{found:?}");
        let asked = Question { latency: false, ..question("p95") };
        let found = of_six(&asked, &point, &point);
        assert_eq!(found.endpoints[0].p, None);
        let why = asked.unanswered(&found).unwrap();
        assert!(why.contains("`p95`") && why.contains("load generator was the limit"), "{why}");
        let known = of_six(&question("p50"), &point, &point);
        assert!(known.checks.remarks[0].contains("30 independent operations"), "{known:?}");
        assert_eq!(known.tails.len(), 2);
    }

    #[test]
    fn figures_of_zero_are_remarked_and_a_rate_of_nothing_is_no_figure() {
        let cost = |system: f64| Point { cost: [None, None, Some(system), None], ..block(1_000) };
        let found = of_six(&question("system"), &cost(0.004), &cost(0.0));
        let remarks = found.checks.remarks.join(" ");
        assert!(remarks.contains("In 6 of 6 pairs one of the two figures is 0"), "{remarks}");
        assert!(remarks.contains("measure longer ones"), "{remarks}");
        assert_eq!(found.checks.pairs_for_one_percent, None, "its interval has no width");
        let carried = |bits: f64| Point { bits_per_s: Some(bits), ..block(1_000) };
        let of_bits =
            |found: &Contrast| found.endpoints.iter().find(|it| it.key == "bits").cloned();
        let found = of_six(&question("bits"), &carried(8.0), &carried(0.0));
        assert_eq!(of_bits(&found).map(|it| it.ratio), Some(Some(0.0)));
        assert!(of_bits(&of_six(&question("p50"), &carried(0.0), &carried(0.0))).is_none());
    }
}
