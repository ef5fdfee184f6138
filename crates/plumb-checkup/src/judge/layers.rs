//! What each layer adds to an operation, and which of them adds most.
//!
//! A layer is judged by the time that it adds to one operation: the median of the slowest of
//! its yardsticks, less the median round trip to the same host. The network is judged by that round
//! trip. Layers whose intervals overlap cannot be told apart. While a layer cannot be judged, none is
//! called slowest.

use std::collections::BTreeMap;

use super::{Evidence, SAMPLES_MIN, usable};
use crate::{
    CheckupLayer, CheckupOutcome, CheckupPart, LayerState, LayerVerdict, Middle, OwnTime, PartRole,
};
use plumb_measure::{Scope, Validity};

/// A verdict on every server: those that are judged first, the slowest of them first.
pub(super) fn verdicts(evidence: &Evidence<'_>) -> Vec<LayerVerdict> {
    let servers = evidence.checkup.servers().into_iter();
    let mut layers: Vec<LayerVerdict> =
        servers.map(|(layer, server, parts)| verdict(evidence, layer, server, &parts)).collect();
    mark_slowest(&mut layers);
    let rank = |layer: &LayerVerdict| layer.own.map_or(i64::MAX, |own| -own.ns);
    layers.sort_by_key(rank); // stable: what is not judged stays in the order of the parts
    layers
}

fn verdict(
    evidence: &Evidence<'_>,
    layer: CheckupLayer,
    server: &str,
    parts: &[&CheckupPart],
) -> LayerVerdict {
    let yardsticks: Vec<&CheckupPart> =
        parts.iter().copied().filter(|part| part.role == PartRole::Yardstick).collect();
    let unjudged = |state, why: &str| LayerVerdict {
        layer,
        server: server.into(),
        state,
        why: Some(why.into()),
        slowest: false,
        operation: None,
        median: None,
        own: None,
        mean_ns: None,
        faster_mean_ns: None,
        told_ns: BTreeMap::new(),
    };
    let outcomes: Vec<(&CheckupPart, &CheckupOutcome)> =
        yardsticks.iter().filter_map(|part| Some((*part, part.outcome.as_ref()?))).collect();
    if let Some(error) = outcomes.iter().find_map(|(_, outcome)| outcome.error.as_deref()) {
        return unjudged(LayerState::NotMeasured, error);
    }
    if let Some((_, outcome)) = outcomes.iter().find(|(_, outcome)| !usable(outcome)) {
        let state = match outcome.validity.is_checked() {
            true => LayerState::NotValid,
            false => LayerState::NotChecked,
        };
        return unjudged(state, gravest(&outcome.validity));
    }
    if let Some((part, outcome)) = outcomes.iter().find(|(_, it)| it.timed() < SAMPLES_MIN) {
        let (operation, count) = (&part.operation, outcome.timed());
        let are = if count == 1 { "is" } else { "are" };
        let why = format!(
            "of {operation} there {are} {count}: too few for a median; give more time (--for)"
        );
        return unjudged(LayerState::NotValid, &why);
    }
    if outcomes.len() < yardsticks.len() || yardsticks.is_empty() {
        return unjudged(LayerState::Open, "it is not measured to the end");
    }
    let timed = outcomes.iter().filter_map(|(part, it)| Some((*part, *it, it.median?)));
    let Some((part, outcome, median)) = timed.max_by_key(|(.., median)| median.ns) else {
        return unjudged(LayerState::NotValid, "nothing was timed");
    };
    let floor = evidence.floor(outcome).filter(|_| layer != CheckupLayer::Network);
    LayerVerdict {
        state: LayerState::Judged,
        why: None,
        operation: Some(part.operation.clone()),
        median: Some(median),
        own: Some(own(median, floor)),
        mean_ns: outcome.mean_ns,
        faster_mean_ns: outcome.faster_mean_ns,
        told_ns: outcome.told_ns.clone(),
        ..unjudged(LayerState::Judged, "")
    }
}

/// The first reason for which times may not be used.
fn gravest(validity: &Validity) -> &str {
    let grave = validity.reasons.iter().find(|finding| finding.scope != Scope::Nothing);
    grave.map_or("its figures are not valid", |finding| &finding.text)
}

/// What is left of `median` without `floor`. Both are measured apart, so the squares of what is not
/// known of them add up.
fn own(median: Middle, floor: Option<Middle>) -> OwnTime {
    let taken = floor.unwrap_or_default();
    let ns = signed(median.ns) - signed(taken.ns);
    let below =
        apart(median.ns - median.low_ns.min(median.ns), taken.high_ns.max(taken.ns) - taken.ns);
    let above =
        apart(median.high_ns.max(median.ns) - median.ns, taken.ns - taken.low_ns.min(taken.ns));
    OwnTime { ns, low_ns: ns - below, high_ns: ns + above, floor_ns: floor.map(|floor| floor.ns) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "nanoseconds of hours"
)]
fn apart(one: u64, other: u64) -> i64 {
    (one as f64).hypot(other as f64).ceil() as i64
}

fn signed(ns: u64) -> i64 {
    // half, so that a sum of two cannot overflow whatever a record claims
    i64::try_from(ns).unwrap_or(i64::MAX).min(i64::MAX / 4)
}

/// Marks the one that adds most, and whoever cannot be told apart from it.
fn mark_slowest(layers: &mut [LayerVerdict]) {
    if layers.len() < 2 || layers.iter().any(|layer| layer.state != LayerState::Judged) {
        return; // whoever is slower than the rest must have been compared with all of it
    }
    let Some(most) = layers.iter().filter_map(|layer| layer.own).max_by_key(|own| own.ns) else {
        return;
    };
    for layer in layers {
        layer.slowest = layer.own.is_some_and(|own| own.high_ns >= most.low_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_claim_of_a_record_overflows() {
        let far = Middle { ns: u64::MAX, low_ns: 0, high_ns: u64::MAX, intervals: 0 };
        let near = Middle { ns: 0, low_ns: u64::MAX, high_ns: 0, intervals: 0 };
        for (median, floor) in [(far, near), (near, far), (far, far), (near, near)] {
            let own = own(median, Some(floor));
            assert!(own.low_ns <= own.ns && own.ns <= own.high_ns, "{own:?}");
        }
    }
}
