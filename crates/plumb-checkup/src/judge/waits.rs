//! Single operations that took much of all the time: too few for a fault that has a kind, too much for
//! nothing to be said.

use super::Evidence;
use super::loss::are_sent_again;
use super::quota::used_up;
use super::sentence::named;
use crate::finding::{CheckupFinding, CheckupRemark, FaultKind};
use crate::waited::Waited;
use crate::{CheckupOutcome, CheckupPart};
use plumb_measure::{counted, grouped, real, show_ns};

/// A share of all the time of a part that is worth a word.
const SHARE_MIN: f64 = 0.05;
/// Fewer waits are no pattern of lost segments where only the counters of whole machines tell.
const WAITS_MIN: u64 = 10;

/// One for each operation of one user which `findings` do not explain; hosts to which segments are
/// `lost` have one that does.
pub(super) fn remarks(
    evidence: &Evidence<'_>,
    lost: &[String],
    findings: &[CheckupFinding],
) -> Vec<CheckupRemark> {
    let is_told = |part: &CheckupPart, outcome: &CheckupOutcome| {
        let of = |finding: &CheckupFinding| {
            let explains = matches!(
                finding.kind,
                FaultKind::Slow | FaultKind::Loss | FaultKind::DelayedAcknowledgement
            );
            explains
                && finding.server == part.server
                && finding.operation.as_deref() == Some(&*part.operation)
        };
        let on_the_way =
            outcome.host.as_deref().is_some_and(|host| lost.iter().any(|it| it == host));
        let lost = on_the_way && are_sent_again(outcome);
        // a quota explains the waits of those that it held back, and of no others
        let held_back = used_up(outcome).is_some();
        lost || held_back || outcome.delayed.is_some() || findings.iter().any(of)
    };
    let alone = evidence.yardsticks().filter(|(part, it)| part.users == 1 && !is_told(part, it));
    let who = evidence.checkup.who_asks();
    alone.filter_map(|(part, outcome)| remark(&who, part, outcome)).collect()
}

fn remark(who: &str, part: &CheckupPart, outcome: &CheckupOutcome) -> Option<CheckupRemark> {
    let Waited { operations, excess_ns } = outcome.waited.filter(|it| it.operations > 0)?;
    let share = real(excess_ns) / (real(outcome.mean_ns?) * real(outcome.operations)).max(1.0);
    let again = sent_again(operations, outcome);
    let text = format!(
        "{} of {} ({}) took {} or more longer than usual, together {}: {:.0} % of all their time. What stood \
         still, the {}, the way or {who}, is not known{}; measure longer (--for), or watch it \
         (plumb watch).",
        grouped(operations),
        counted(outcome.operations, "operation"),
        named(&part.operation),
        show_ns(Waited::MIN_NS),
        show_ns(excess_ns),
        100.0 * share.min(1.0),
        part.server,
        again.as_ref().map_or_else(String::new, |(said, _)| format!(": {said}")),
    );
    let untold = again.map(|(_, untold)| untold);
    (share >= SHARE_MIN).then(|| CheckupRemark { name: "waits".into(), text, untold })
}

/// That the machines counted a segment sent again for each of `waited` operations, those of all programs
/// together, and what therefore cannot be told; `None` where they counted fewer, or there are too few
/// waits for a pattern.
fn sent_again(waited: u64, outcome: &CheckupOutcome) -> Option<(String, String)> {
    outcome.tcp?;
    let host = outcome.host.as_deref()?;
    let again = outcome.retransmitted.filter(|again| waited >= WAITS_MIN && *again >= waited)?;
    let said = format!(
        "meanwhile the machines sent {} again, those of other programs included",
        counted(again, "segment")
    );
    Some((said, format!("whether segments are lost on the way to {host}")))
}
