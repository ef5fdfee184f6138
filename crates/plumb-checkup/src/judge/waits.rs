//! Single operations that took much of all the time: too few for a fault that has a kind, too much for
//! nothing to be said.

use super::Evidence;
use super::sentence::named;
use crate::finding::CheckupRemark;
use crate::outcome::Waited;
use crate::{CheckupOutcome, CheckupPart};
use plumb_measure::{counted, grouped, real, show_ns};

/// A share of all the time of a part that is worth a word.
const SHARE_MIN: f64 = 0.05;

/// One for each operation of one user; hosts to which segments are `lost` have a finding that says it.
pub(super) fn remarks(evidence: &Evidence<'_>, lost: &[&str]) -> Vec<CheckupRemark> {
    let is_told =
        |outcome: &CheckupOutcome| outcome.host.as_deref().is_some_and(|it| lost.contains(&it));
    let alone = evidence.yardsticks().filter(|(part, it)| part.users == 1 && !is_told(it));
    alone.filter_map(|(part, outcome)| remark(part, outcome)).collect()
}

fn remark(part: &CheckupPart, outcome: &CheckupOutcome) -> Option<CheckupRemark> {
    let Waited { operations, excess_ns } = outcome.waited.filter(|it| it.operations > 0)?;
    let share = real(excess_ns) / (real(outcome.mean_ns?) * real(outcome.operations)).max(1.0);
    let text = format!(
        "{} of {} ({}) took {} or more longer than usual, together {}: {:.0} % of all their time. What stood \
         still, the {}, the way or this machine, is not known; measure longer (--for), or watch it \
         (plumb watch).",
        grouped(operations),
        counted(outcome.operations, "operation"),
        named(&part.operation),
        show_ns(Waited::MIN_NS),
        show_ns(excess_ns),
        100.0 * share.min(1.0),
        part.server,
    );
    (share >= SHARE_MIN).then(|| CheckupRemark { name: "waits".into(), text })
}
