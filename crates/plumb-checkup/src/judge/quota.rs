//! Quotas of processor time: servers that a control group holds back, those that one bounds, and operations
//! whose mean their median does not show.

use super::loss::waits_cost;
use super::sentence::{capitalised, named};
use super::{Evidence, costliest};
use crate::finding::{CheckupFinding, CheckupRemark, FaultCost, FaultKind};
use crate::waited::Waited;
use crate::{CheckupLayer, CheckupOutcome, CheckupPart};
use plumb_measure::{
    CpuQuota, CpuThrottled, counted, grouped, real, show_count, show_ns, show_plain, truncated,
};

/// Fewer periods in which a server was held back are no pattern.
const EVENTS_MIN: u64 = 3;
/// A share of the periods that is worth a word.
const SHARE_MIN: f64 = 0.05;
/// In a larger share of the periods the quota is what everybody waits for.
const SHARE_OF_MOST: f64 = 0.5;
/// A mean of so many medians is worth a word.
const UNEVEN_TIMES: f64 = 5.0;

/// The servers whose quota is used up: by one user, or else by most.
pub(super) fn findings(evidence: &Evidence<'_>) -> Vec<CheckupFinding> {
    let servers = evidence.checkup.servers().into_iter();
    let found = servers.filter_map(|(layer, server, _)| {
        let of = |part: &CheckupPart| part.layer == layer && part.server == server;
        let found: Vec<(u64, CheckupFinding)> = evidence
            .timed()
            .filter(|(part, outcome)| of(part) && !is_of_the_load(part, outcome))
            .filter_map(|(part, outcome)| Some((part.users, finding(part, outcome)?)))
            .collect();
        let alone = found.iter().filter(|(users, _)| *users == 1);
        costliest(alone.map(|(_, finding)| finding.clone())).or_else(|| {
            let most = found.into_iter().max_by_key(|(users, _)| *users);
            most.map(|(_, finding)| finding)
        })
    });
    found.collect()
}

/// The quota of a server that it used up while it was measured.
pub(super) fn used_up(outcome: &CheckupOutcome) -> Option<(CpuQuota, CpuThrottled)> {
    let quota = outcome.quota?.of_throttled();
    let throttled = quota.throttled.filter(|it| it.held_back >= EVENTS_MIN)?;
    let share = real(throttled.held_back) / real(throttled.periods.max(1));
    (share >= SHARE_MIN).then_some((quota, throttled))
}

/// True where the quota held the server back in so many periods that whoever waited, waited for it.
pub(super) fn is_the_limit(outcome: &CheckupOutcome) -> bool {
    used_up(outcome).is_some_and(|(_, throttled)| {
        real(throttled.held_back) >= SHARE_OF_MOST * real(throttled.periods.max(1))
    })
}

/// True where many users of this tool share the quota of the server: what is used up is then a limit of
/// the measurement, too.
fn is_of_the_load(part: &CheckupPart, outcome: &CheckupOutcome) -> bool {
    part.users > 1 && outcome.quota.is_some_and(|quota| quota.of_throttled().with_client)
}

/// How most users used up a quota which this tool shares with `server`.
fn by_the_load<'a>(
    evidence: &Evidence<'a>,
    server: &str,
) -> Option<(&'a CheckupPart, CpuThrottled)> {
    let shared =
        evidence.timed().filter(|(part, it)| part.server == server && is_of_the_load(part, it));
    let found = shared.filter_map(|(part, outcome)| Some((part, used_up(outcome)?.1)));
    found.max_by_key(|(part, _)| part.users)
}

fn finding(part: &CheckupPart, outcome: &CheckupOutcome) -> Option<CheckupFinding> {
    let (quota, throttled) = used_up(outcome)?;
    let (median_ns, mean_ns) = (outcome.median?.ns, outcome.mean_ns?);
    let cost = cost(part, outcome, throttled);
    let share = real(throttled.held_back) / real(throttled.periods.max(1));
    let ranked_ns = cost.is_none().then(|| truncated(share.min(1.0) * real(mean_ns)));
    let ranked = ranked_ns.map_or_else(String::new, |ns| {
        format!(
            " What that costs is not known, for half of the operations or more may have waited: it is \
             ranked by its share of the periods, {:.0} % of that mean ({}).",
            100.0 * share,
            show_ns(ns)
        )
    });
    let whose = match part.layer {
        CheckupLayer::Network => format!("the server at the end of the {}", part.server),
        CheckupLayer::Locks
        | CheckupLayer::Pages
        | CheckupLayer::Messages
        | CheckupLayer::Database => format!("the {}", part.server),
    };
    let shared = if quota.with_client { ", which this tool shares," } else { "" };
    let of_all = outcome.quota?.processors;
    let part_only = match quota.processors < of_all {
        true => format!(
            " All groups of its processes leave {} together: whether an answer needs those that were held \
             back is not known from here.",
            show_plain(of_all)
        ),
        false => String::new(),
    };
    let count = show_count(quota.processors);
    let processors = if count == "1" { "processor" } else { "processors" };
    let evidence = format!(
        "A control group holds {whose} back: its quota of {count} {processors}{shared} was used up in {} of \
         {} ({} without a processor, added up over all processors).{part_only} {} ({}) takes {} at the mean and {} at the median.{ranked}",
        grouped(throttled.held_back),
        counted(throttled.periods, "period"),
        show_ns(throttled.held_back_ns),
        capitalised(&named(&part.operation)),
        part.how,
        show_ns(mean_ns),
        show_ns(median_ns),
    );
    Some(CheckupFinding {
        kind: FaultKind::Quota,
        layer: Some(part.layer),
        server: part.server.clone(),
        operation: Some(part.operation.clone()),
        cost,
        ranked_ns,
        evidence,
        next: "Raise its limit (cpu.max of the group, CPUQuota of a service, the CPU limit of a \
               container), or give it less to do: processors that idle are no use to it."
            .into(),
    })
}

/// What waits for the next period cost one operation at the mean: no more than the mean lies above the
/// median. `None` where half of the operations or more may have waited: then the one at the median may
/// have, too, and nobody knows what it takes without.
fn cost(
    part: &CheckupPart,
    outcome: &CheckupOutcome,
    throttled: CpuThrottled,
) -> Option<FaultCost> {
    // whoever is held back for a period delays no more than is under way then
    let waited = throttled.held_back.saturating_mul(part.users);
    if waited.saturating_mul(2) >= outcome.operations {
        return None;
    }
    let above_ns = outcome.mean_ns?.saturating_sub(outcome.median?.ns);
    // the kernel adds up over processors, of which an operation needs one
    let excess_ns = throttled.held_back_ns.min(above_ns.saturating_mul(outcome.operations));
    waits_cost(Some(Waited { operations: throttled.held_back, excess_ns }), outcome)
}

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
