//! Stalls that the runs recognized: answers in pieces, whose last one waits for a delayed
//! acknowledgement, and connects whose first segment is lost.

use super::loss::waits_cost;
use super::sentence::{capitalised, named};
use super::{Evidence, one_a_server};
use crate::finding::{CheckupFinding, CheckupRemark, FaultKind};
use crate::{AcknowledgedAtOnce, CheckupOutcome, CheckupPart, Waited};
use plumb_measure::{Finding, FindingKind, counted, grouped, show_ns};

/// The servers whose runs recognized a stall.
pub(super) fn findings(evidence: &Evidence<'_>) -> Vec<CheckupFinding> {
    let delayed = evidence.yardsticks().filter_map(|(part, outcome)| delayed(part, outcome));
    let connects = evidence.answered().filter_map(|(part, outcome)| unconnected(part, outcome));
    let [delayed, connects]: [Vec<CheckupFinding>; 2] = [delayed.collect(), connects.collect()];
    [one_a_server(&delayed), one_a_server(&connects)].concat()
}

/// Operations that took as long as an acknowledgement is delayed, as a sentence begins with them.
fn told(outcome: &CheckupOutcome, delayed: Waited) -> String {
    let rtt_ns = outcome.tcp.map_or(0, |tcp| tcp.rtt_min_ns);
    let mean_ns = rtt_ns.saturating_add(delayed.excess_ns / delayed.operations.max(1));
    format!(
        "{} of {} took {} at the mean, as long as an acknowledgement is delayed, on a path that needs {}",
        grouped(delayed.operations),
        counted(outcome.operations, "operation"),
        show_ns(mean_ns),
        show_ns(rtt_ns),
    )
}

fn delayed(part: &CheckupPart, outcome: &CheckupOutcome) -> Option<CheckupFinding> {
    let delayed = outcome.delayed?;
    let tried = outcome.at_once.as_ref().filter(|it| it.is_shorter(delayed, outcome.operations))?;
    let text = format!(
        "{}; with acknowledgements that this side sent at once, {} of {} did: an answer is written in \
         pieces under Nagle's algorithm, and the last one waits for the acknowledgement of the first",
        told(outcome, delayed),
        grouped(tried.as_long),
        grouped(tried.operations),
    );
    let next = "Write each answer at once, or set TCP_NODELAY, in that server or in the proxy before \
                it.";
    let found = finding(FaultKind::DelayedAcknowledgement, part, &text, next);
    Some(CheckupFinding { cost: waits_cost(outcome.delayed, outcome), ..found })
}

/// One for each operation that takes as long as an acknowledgement is delayed, where it is not known to
/// wait for one.
pub(super) fn remarks(evidence: &Evidence<'_>) -> Vec<CheckupRemark> {
    let found = evidence.yardsticks().filter_map(|(part, outcome)| match outcome.delayed {
        Some(waited) => delayed(part, outcome).is_none().then(|| untold(part, outcome, waited)),
        None => outcome.at_once.as_ref().map(|tried| as_long(part, tried)),
    });
    found.collect()
}

/// That nobody tried, or could tell, whether it waits.
fn untold(part: &CheckupPart, outcome: &CheckupOutcome, waited: Waited) -> CheckupRemark {
    let server = &part.server;
    let tried = match &outcome.at_once {
        Some(tried) => format!(
            "with acknowledgements that this side sent at once, {} of {} did, which is neither",
            grouped(tried.as_long),
            grouped(tried.operations)
        ),
        None => "--quick-ack of its measurement tells".to_owned(),
    };
    let text = format!(
        "{}: {}. Whether the {server} waits for the acknowledgement of a first piece of its answer under \
         Nagle's algorithm, or works for so long behind it, is not known; {tried}.",
        capitalised(&named(&part.operation)),
        told(outcome, waited),
    );
    let untold = Some(format!("whether the {server} waits for acknowledgements"));
    CheckupRemark { name: "stalls".into(), text, untold }
}

/// That it takes as long without a delay on this side: a proxy may delay its own acknowledgements.
fn as_long(part: &CheckupPart, tried: &AcknowledgedAtOnce) -> CheckupRemark {
    let text = format!(
        "{}: with acknowledgements that this side sent at once, {} of {} still took as long as an \
         acknowledgement is delayed. The {} works for so long behind a first piece of its answer; or a proxy \
         stands before it, and it waits for the acknowledgement of that proxy.",
        capitalised(&named(&part.operation)),
        grouped(tried.as_long),
        counted(tried.operations, "operation"),
        part.server,
    );
    CheckupRemark { name: "stalls".into(), text, untold: None }
}

fn unconnected(part: &CheckupPart, outcome: &CheckupOutcome) -> Option<CheckupFinding> {
    let is_one = |finding: &&Finding| finding.kind == FindingKind::ConnectRetransmission;
    let stall = outcome.validity.reasons.iter().find(is_one)?;
    let next = "Look at the queue of the listener (ss -lnt, nstat TcpExtListenOverflows there), and at \
                firewalls on the way; connections that are kept need no connect.";
    Some(finding(FaultKind::Loss, part, stall.text.trim_end_matches('.'), next))
}

fn finding(kind: FaultKind, part: &CheckupPart, text: &str, next: &str) -> CheckupFinding {
    CheckupFinding {
        kind,
        layer: Some(part.layer),
        server: part.server.clone(),
        operation: Some(part.operation.clone()),
        cost: None,
        ranked_ns: None,
        evidence: format!("The {} stalls over {}: {text}.", part.server, named(&part.operation)),
        next: next.into(),
    }
}
