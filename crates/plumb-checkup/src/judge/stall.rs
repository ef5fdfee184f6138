//! Stalls that the runs recognized themselves: answers in pieces, whose last one waits for a delayed
//! acknowledgement, and connects whose first segment is lost.

use super::loss::waits_cost;
use super::sentence::named;
use super::{Evidence, one_a_server};
use crate::finding::{CheckupFinding, FaultKind};
use crate::{CheckupOutcome, CheckupPart};
use plumb_measure::{Finding, FindingKind};

/// The servers whose runs recognized a stall.
pub(super) fn findings(evidence: &Evidence<'_>) -> Vec<CheckupFinding> {
    let delayed = evidence.yardsticks().filter_map(|(part, outcome)| delayed(part, outcome));
    let connects = evidence.answered().filter_map(|(part, outcome)| unconnected(part, outcome));
    let [delayed, connects]: [Vec<CheckupFinding>; 2] = [delayed.collect(), connects.collect()];
    [one_a_server(&delayed), one_a_server(&connects)].concat()
}

fn delayed(part: &CheckupPart, outcome: &CheckupOutcome) -> Option<CheckupFinding> {
    let stall = recognized(outcome, FindingKind::DelayedAcknowledgement)?;
    let next = "Write each answer at once, or set TCP_NODELAY, in that server or in the proxy before \
                it.";
    let cost = waits_cost(outcome.delayed, outcome);
    let found = finding(FaultKind::DelayedAcknowledgement, part, stall, next);
    Some(CheckupFinding { cost, ..found })
}

fn unconnected(part: &CheckupPart, outcome: &CheckupOutcome) -> Option<CheckupFinding> {
    let stall = recognized(outcome, FindingKind::ConnectRetransmission)?;
    let next = "Look at the queue of the listener (ss -lnt, nstat TcpExtListenOverflows there), and at \
                firewalls on the way; connections that are kept need no connect.";
    Some(finding(FaultKind::Loss, part, stall, next))
}

fn recognized(outcome: &CheckupOutcome, kind: FindingKind) -> Option<&Finding> {
    outcome.validity.reasons.iter().find(|finding| finding.kind == kind)
}

fn finding(kind: FaultKind, part: &CheckupPart, stall: &Finding, next: &str) -> CheckupFinding {
    let text = stall.text.trim_end_matches('.');
    CheckupFinding {
        kind,
        layer: Some(part.layer),
        server: part.server.clone(),
        operation: Some(part.operation.clone()),
        cost: None,
        evidence: format!("The {} stalls over {}: {text}.", part.server, named(&part.operation)),
        next: next.into(),
    }
}
