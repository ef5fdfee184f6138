//! What is said of the whole load of a scenario.

use std::collections::BTreeSet;

use plumb_engine::LoadResult;
use plumb_measure::{
    Finding, FindingKind, ResultRecord, ScenarioFigures, Validity, counted, grouped,
};

use super::COMPLAINTS_MAX;
use crate::scenario::player::{Complaint, Player};
use crate::scenario::threshold::Threshold;

/// The verdict with what else the reader should know. That somebody was `refused` comes first: the rest
/// follows from it.
pub(super) fn remarks(
    (validity, refused): (Validity, Vec<Finding>),
    result: &ResultRecord,
    load: &LoadResult<Player>,
) -> Validity {
    // what answers to different values must be like, checks say
    let kept = validity.reasons.into_iter().filter(|it| it.kind != FindingKind::LengthVaries);
    let kept = kept.map(|finding| whose(finding, &result.scenarios));
    let mut validity = Validity::of(refused.into_iter().chain(kept));
    let complaints = said(load.protocols.iter().flat_map(Player::complaints).collect());
    let more = complaints.len().saturating_sub(COMPLAINTS_MAX);
    for complaint in complaints.iter().take(COMPLAINTS_MAX) {
        let when = if complaint.warms_up { "in the warm-up, " } else { "" };
        validity = validity.with_remark(&format!("{when}the first wrong answer to {complaint}"));
    }
    if more > 0 {
        let more = counted(more as u64, "more step");
        validity = validity.with_remark(&format!("{more} had wrong answers"));
    }
    for scenario in &result.scenarios {
        for (cause, users) in &scenario.ended {
            validity = validity.with_ended(*users, &scenario.name, cause);
        }
        for (why, resources) in &scenario.left_out {
            let resources = counted(*resources, "resource");
            validity = validity.with_remark(&format!(
                "{resources} that pages of {} embed not asked for: {why}",
                scenario.name
            ));
        }
    }
    let untold = load.protocols.iter().map(Player::untold).sum();
    validity.with_untold(untold)
}

/// `complaints` in their order, each once: of a step that some thread found wrong in the recorded part
/// none of the warm-up.
fn said(mut complaints: Vec<Complaint<'_>>) -> Vec<Complaint<'_>> {
    complaints.sort_unstable();
    complaints.dedup();
    let recorded: BTreeSet<_> =
        complaints.iter().filter(|it| !it.warms_up).map(|it| it.step).collect();
    complaints.retain(|it| !it.warms_up || !recorded.contains(&it.step));
    complaints
}

/// Judges the whole of `load` by `thresholds`.
pub(super) fn judge<P>(result: &mut ResultRecord, thresholds: &[Threshold], load: &LoadResult<P>) {
    let judged = thresholds.iter();
    let judged = judged.map(|it| it.judge(&load.recorder, &load.crews, load.duration_ns));
    result.thresholds = judged.collect();
    let missed = result.thresholds.iter().filter(|threshold| !threshold.met);
    let missed: Vec<&str> = missed.map(|threshold| threshold.text.as_str()).collect();
    result.validity = std::mem::take(&mut result.validity).with_missed(&missed);
}

/// `finding` with the scenarios whose scripts were dropped, where that is not plain.
fn whose(mut finding: Finding, scenarios: &[ScenarioFigures]) -> Finding {
    if finding.kind == FindingKind::Dropped && scenarios.len() > 1 {
        let dropped = scenarios.iter().filter(|scenario| scenario.dropped > 0);
        let named = dropped.map(|it| format!("{} of {}", grouped(it.dropped), it.name));
        finding.text += &format!(" ({})", named.collect::<Vec<_>>().join(", "));
    }
    finding
}
