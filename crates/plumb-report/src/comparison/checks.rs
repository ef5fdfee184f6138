//! Whether the statistics of a contrast may be used, in sentences.

use plumb_comparison::{Checks, Contrast, signed};
use plumb_measure::counted;

use super::figures::{probability, share};
use crate::figures::grouped;

/// Above this the blocks differ so much more from each other than their own noise explains that
/// longer blocks change little.
const BETWEEN_RULES: f64 = 2.0;

/// From this p on the order of the blocks shows no drift.
const DRIFT_RULES: f64 = 0.05;
/// From this p on the order within rounds shows nothing.
const ORDER_RULES: f64 = 0.05;

/// Every check that was made, and the remarks: what the first pair changes is one of these.
pub(super) fn of(contrast: &Contrast) -> Vec<String> {
    let checks = &contrast.checks;
    let made = [
        drift(checks),
        effective_samples(checks),
        autocorrelation(checks),
        warm_up(checks),
        spread(checks),
        pairs_needed(checks),
        order(contrast),
    ];
    made.into_iter().flatten().chain(checks.remarks.iter().cloned()).collect()
}

fn drift(checks: &Checks) -> Option<String> {
    let drift = checks.drift.filter(|drift| drift.change.is_finite())?;
    let evidence = format!(
        "rank correlation with time {:+.2}, p {}",
        drift.correlation,
        probability(Some(drift.p))
    );
    if drift.p.is_nan() || drift.p >= DRIFT_RULES {
        let slope = match drift.change {
            c if c > 0.0 => format!("+{}", share(c)),
            c => share(c),
        };
        return Some(format!("Drift: none shown (slope {slope} over the experiment, {evidence})."));
    }
    let moved = match drift.change {
        c if c.abs() < 0.000_05 => "stayed where it was".into(),
        c if c > 0.0 => format!("rose by {}", share(c)),
        c => format!("fell by {}", share(-c)),
    };
    Some(format!("Drift: the baseline {moved} over the experiment ({evidence})."))
}

fn effective_samples(checks: &Checks) -> Option<String> {
    let samples = checks.effective_samples.filter(|samples| samples.is_finite())?;
    Some(format!(
        "Effective samples: at least {} in every block: its operations, less what they repeat of \
         their neighbours.",
        whole(samples)
    ))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cast to the nearest integer in range"
)]
fn whole(value: f64) -> String {
    grouped(value.round() as u64)
}

fn autocorrelation(checks: &Checks) -> Option<String> {
    let most = checks.autocorrelation.filter(|most| most.is_finite())?;
    Some(format!(
        "Autocorrelation: neighbouring batches of a block correlate by {most:.2} at most."
    ))
}

fn warm_up(checks: &Checks) -> Option<String> {
    let cut = checks.warm_up.filter(|cut| cut.is_finite())?;
    Some(if cut > 0.0 {
        format!("Warm-up: at most {} of a block was cut off.", share(cut))
    } else {
        "Warm-up: nothing had to be cut off.".into()
    })
}

fn spread(checks: &Checks) -> Option<String> {
    let between = checks.between_blocks.filter(|between| between.is_finite())?;
    let from_block =
        format!("Spread: the baseline varies by {} from block to block", share(between));
    let Some(within) = checks.within_blocks.filter(|within| within.is_finite()) else {
        return Some(format!("{from_block}."));
    };
    let advice = if between > within * BETWEEN_RULES {
        "more pairs narrow the interval, longer blocks hardly do"
    } else {
        "longer blocks narrow the interval as more pairs do"
    };
    Some(format!("{from_block} and by {} within one: {advice}.", share(within)))
}

/// How the later of the two in a round fares for that alone; nothing where a shown difference has no size.
fn order(contrast: &Contrast) -> Option<String> {
    let effect = contrast.checks.order?;
    let change = contrast.endpoints.first()?.improvement(effect.ratio);
    let (signed, p) = (signed(change)?, probability(Some(effect.p)));
    if effect.p.is_nan() || effect.p >= ORDER_RULES {
        return Some(format!(
            "Order within a round: the later of the two is not shown to differ from the earlier ({signed} % \
             for it, p {p})."
        ));
    }
    let (size, word) =
        (signed.trim_start_matches(['+', '-']), if change < 0.0 { "worse" } else { "better" });
    (size != "0.00").then(|| format!(
        "Order within a round: the later of the two is {size} % {word}, whoever it is (p {p}): a block may leave \
         something to the next, such as heat, a cache or work that is not done. That widens the interval: give \
         every block the same start, by a command or a pause before each."
    ))
}

fn pairs_needed(checks: &Checks) -> Option<String> {
    let pairs = checks.pairs_for_one_percent?;
    Some(format!(
        "Pairs: an interval of 1 % to either side would need about {}.",
        counted(pairs, "pair")
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plumb_comparison::{Better, Endpoint, FigureUnit, OrderEffect};

    use super::*;

    #[test]
    fn the_order_within_a_round_is_told_with_what_to_do_where_it_matters() {
        let said = |ratio: f64, p: f64| {
            let time = ("p50", "median response time", FigureUnit::Ns, Better::Lower);
            let contrast = Contrast {
                baseline: "a".into(),
                candidate: "b".into(),
                labels: BTreeMap::new(),
                same_treatment: false,
                sentence: String::new(),
                endpoints: vec![Endpoint::described(time, 1.0, 1.0)],
                checks: Checks { order: Some(OrderEffect { ratio, p }), ..Checks::default() },
                tails: Vec::new(),
            };
            of(&contrast).concat()
        };
        let slower = said(1.18, 0.004);
        assert!(slower.contains("the later of the two is 18.0 % worse, whoever it is"), "{slower}");
        let advice = "a block may leave something to the next, such as heat, a cache or work that is not done. \
                      That widens the interval: give every block the same start";
        assert!(slower.contains(advice) && !slower.contains("more pairs"), "{slower}");
        assert!(said(0.9, 0.004).contains("later of the two is 10.0 % better"));
        assert_eq!([said(1.0, 0.004), said(0.999_96, 0.004)], ["", ""], "it has no size to tell");
        let none = said(1.18, 0.3);
        assert!(
            none.contains("is not shown to differ") && none.contains("(-18.0 % for it"),
            "{none}"
        );
    }
}
