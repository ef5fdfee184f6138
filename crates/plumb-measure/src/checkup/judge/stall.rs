//! Answers in pieces, whose last one waits for a delayed acknowledgement.

use super::loss::waits_cost;
use super::sentence::named;
use super::{Seen, one_a_server};
use crate::FindingKind;
use crate::checkup::finding::{CheckupFinding, FaultKind};
use crate::checkup::{CheckupOutcome, CheckupPart};

/// The servers whose runs recognized the stall.
pub(super) fn findings(seen: &Seen<'_>) -> Vec<CheckupFinding> {
    let found = seen.yardsticks().filter_map(|(part, outcome)| stalled(part, outcome));
    one_a_server(&found.collect::<Vec<_>>())
}

fn stalled(part: &CheckupPart, outcome: &CheckupOutcome) -> Option<CheckupFinding> {
    let mut reasons = outcome.validity.reasons.iter();
    let stall = reasons.find(|it| it.kind == FindingKind::DelayedAcknowledgement)?;
    let text = stall.text.trim_end_matches('.');
    Some(CheckupFinding {
        kind: FaultKind::DelayedAcknowledgement,
        layer: Some(part.layer),
        server: part.server.clone(),
        operation: Some(part.operation.clone()),
        cost: waits_cost(outcome.delayed, outcome),
        evidence: format!("The {} stalls over {}: {text}.", part.server, named(&part.operation)),
        next:
            "Write each answer at once, or set TCP_NODELAY, in that server or in the proxy before \
               it."
            .into(),
    })
}
