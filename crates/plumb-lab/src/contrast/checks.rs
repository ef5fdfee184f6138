//! Whether the statistics of a contrast may be used.

use plumb_comparison::{Checks, Endpoint, signed};
use plumb_measure::counted;
use plumb_measure::statistics::{Drift, drift, hodges_lehmann, mean, standard_deviation};

use super::order_effect::order_effect;
use super::{Pair, effects, ratio};
use crate::block::Settling;
use crate::figures::COST_KEYS;

/// Effective samples of a block below which its median is shaky.
const SAMPLES_MIN: f64 = 50.0;
/// Operations of a block below which its response times are few, however independent.
const OPERATIONS_MIN: u64 = 200;
/// The keys of the figures that are made of response times.
const TIMES: [&str; 4] = ["p50", "p95", "mean", "av2"];

/// The checks of the primary figure.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of pairs"
)]
pub(super) fn checks(primary: &Endpoint, pairs: &[Pair<'_>]) -> Checks {
    let baselines = primary.blocks.iter().filter_map(|it| it.baseline);
    let baselines = baselines.map(|figure| (figure > 0.0).then(|| figure.ln()));
    // how far a figure is from zero is no share of it
    let baselines: Vec<f64> = baselines.collect::<Option<_>>().unwrap_or_default();
    let points = || pairs.iter().flat_map(|pair| [pair.baseline, pair.candidate]);
    let orders = || points().filter_map(|point| point.order);
    let errors: Vec<f64> = pairs
        .iter()
        .filter_map(|pair| pair.baseline.order)
        .map(|it| it.standard_error.powi(2))
        .collect();
    let half_width = primary.interval.map(|it| (it.high.ln() - it.low.ln()) / 2.0);
    let half_width = half_width.filter(|half| half.is_finite());
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
        order: order_effect(primary, pairs),
        remarks: Vec::new(),
    };
    checks.remarks = remarks(&checks, primary);
    checks.remarks.extend(zeros(primary));
    checks.remarks.extend(few_operations(&checks, primary, pairs));
    checks.remarks.extend(wavering(pairs));
    checks
}

fn is_time(primary: &Endpoint) -> bool {
    TIMES.contains(&primary.key.as_str())
}

/// What figures of zero mean for the test.
fn zeros(primary: &Endpoint) -> Option<String> {
    let all = effects(&primary.blocks);
    let zeros = all.iter().filter(|effect| effect.is_infinite()).count();
    let processor_time = [COST_KEYS[1], COST_KEYS[2]].contains(&primary.key.as_str());
    let advice = if processor_time {
        " The kernel may count none of a short command: measure longer ones."
    } else {
        ""
    };
    (zeros > 0).then(|| {
        format!(
            "In {zeros} of {} pairs one of the two figures is 0: such a change has no percentage, \
             and the test ranks it above all others.{advice}",
            all.len()
        )
    })
}

/// Where the figure that decides is made of few response times, unless that is said already.
fn few_operations(checks: &Checks, primary: &Endpoint, pairs: &[Pair<'_>]) -> Option<String> {
    let said = checks.effective_samples.is_some_and(|samples| samples < SAMPLES_MIN);
    let points = pairs.iter().flat_map(|pair| [pair.baseline, pair.candidate]);
    let counts = points.filter_map(|point| Some(point.response.as_ref()?.histogram.count()));
    let fewest = counts.min().filter(|count| *count < OPERATIONS_MIN)?;
    (is_time(primary) && !said).then(|| {
        format!(
            "The smallest block has {}; below {OPERATIONS_MIN} its response times are shaky: lengthen \
             the blocks.",
            counted(fewest, "operation")
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
    let effects = effects(&primary.blocks);
    let (first, others) = effects.split_first()?;
    let low = others.iter().copied().reduce(f64::min)?;
    let high = others.iter().copied().reduce(f64::max)?;
    (others.len() > 4 && !(low..=high).contains(first))
        .then(|| hodges_lehmann(others).and_then(ratio))
        .flatten()
}

/// A change in percent with its sign.
fn change(percent: f64) -> String {
    signed(percent).unwrap_or_else(|| percent.to_string())
}

fn remarks(checks: &Checks, primary: &Endpoint) -> Vec<String> {
    let mut remarks = Vec::new();
    let effect = primary.ratio.map_or(0.0, |ratio| (ratio - 1.0).abs());
    if let Some(drift) = checks.drift
        && drift.p < 0.05
        && drift.change.abs() > effect
    {
        remarks.push(format!(
            "The baseline itself moved by {} % over the experiment, more than the effect: only \
             because the blocks were interleaved does the comparison stand.",
            change(100.0 * drift.change)
        ));
    }
    let few = checks.effective_samples.filter(|samples| *samples < SAMPLES_MIN);
    if let Some(samples) = few.filter(|_| is_time(primary)) {
        remarks.push(format!(
            "A block is worth only {samples:.0} independent operations, so its response times are \
             shaky: lengthen the blocks."
        ));
    }
    if let Some(without) = checks.without_first {
        remarks.push(format!(
            "The first pair lies outside the range of all others, as when something was still \
             cold. Nothing is deleted; without it the change would be {} %.",
            change(primary.improvement(without))
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use plumb_comparison::{Better, FigureUnit};

    use super::*;

    #[test]
    fn a_small_movement_is_told_as_small_as_it_is() {
        let described = ("p50", "median response time", FigureUnit::Ns, Better::Lower);
        let primary =
            Endpoint { ratio: Some(1.000_2), ..Endpoint::described(described, 1_000.0, 1_000.2) };
        let drift = Some(Drift { change: 0.000_3, correlation: 0.9, p: 0.01 });
        let checks = Checks { drift, without_first: Some(1.000_1), ..Checks::default() };
        let said = remarks(&checks, &primary);
        assert!(said[0].contains("moved by +0.03 % over"), "{said:?}");
        assert!(said[1].contains("the change would be -0.01 %."), "{said:?}");
    }
}
