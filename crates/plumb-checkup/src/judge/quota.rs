//! Servers to which a control group leaves less than all processors, and operations whose mean their
//! median does not show: both are what a quota of processor time does.

use super::Evidence;
use super::sentence::named;
use super::throttled::by_the_load;
use crate::finding::{CheckupFinding, CheckupRemark, FaultKind};
use crate::{CheckupOutcome, CheckupPart};
use plumb_measure::{CpuQuota, counted, grouped, real, show_ns, show_plain};

/// A mean of so many medians is worth a word.
const UNEVEN_TIMES: f64 = 5.0;

/// One for each server that has a quota which none of the `findings` names.
pub(super) fn remarks(evidence: &Evidence<'_>, findings: &[CheckupFinding]) -> Vec<CheckupRemark> {
    let named = findings.iter().filter(|finding| finding.kind == FaultKind::Quota);
    let named: Vec<&str> = named.map(|finding| finding.server.as_str()).collect();
    let mut said: Vec<&str> = Vec::new();
    let bounded =
        alone(evidence).filter_map(|(part, outcome)| Some((part, outcome, outcome.quota?)));
    let mut remarks = Vec::new();
    for (part, outcome, quota) in bounded {
        if !said.contains(&&*part.server) && !named.contains(&&*part.server) {
            said.push(&part.server);
            remarks.push(remark(evidence, part, outcome, quota));
        }
    }
    remarks
}

/// What a median hides, in a sentence; nothing where it hides nothing. The most uneven operation of
/// one user is named.
pub(super) fn uneven(evidence: &Evidence<'_>) -> Option<String> {
    let times =
        |outcome: &CheckupOutcome| Some(real(outcome.mean_ns?) / real(outcome.median?.ns.max(1)));
    let all = alone(evidence).filter_map(|(part, outcome)| Some((part, outcome, times(outcome)?)));
    let (part, outcome, times) = all.max_by(|one, other| one.2.total_cmp(&other.2))?;
    let mean = show_ns(outcome.mean_ns?);
    let text = format!(
        "At the mean {} takes {mean}, {times:.0} times as long as at the median: single operations \
         waited long.",
        named(&part.operation)
    );
    (times >= UNEVEN_TIMES).then_some(text)
}

/// What one user at a time asks.
fn alone<'a>(
    evidence: &Evidence<'a>,
) -> impl Iterator<Item = (&'a CheckupPart, &'a CheckupOutcome)> + use<'a> {
    evidence.yardsticks().filter(|(part, _)| part.users == 1)
}

fn remark(
    evidence: &Evidence<'_>,
    part: &CheckupPart,
    outcome: &CheckupOutcome,
    quota: CpuQuota,
) -> CheckupRemark {
    let whom = if quota.with_client { ", and this program with it," } else { "" };
    let time = |ns: Option<u64>| ns.map_or_else(|| "unknown".into(), show_ns);
    let many = by_the_load(evidence, &part.server).map_or_else(String::new, |(many, throttled)| {
        format!(
            " With {} it was used up in {} of {}: what the {} does for many with a quota of its own is \
             not known from here.",
            many.how,
            grouped(throttled.held_back),
            counted(throttled.periods, "period"),
            part.server,
        )
    });
    let text = format!(
        "Control groups leave whoever answers ({}){whom} {} of a processor's time: {} at the median, {} \
         at the mean. Who has used up its share waits for the next period (cpu.stat: nr_throttled; \
         cpu.max).{many}",
        named(&part.operation),
        show_plain(quota.processors),
        time(outcome.median.map(|it| it.ns)),
        time(outcome.mean_ns),
    );
    CheckupRemark { name: "quota".into(), text, untold: None }
}
