//! Segments that are lost on the way to a host.

use std::collections::BTreeMap;

use super::Evidence;
use super::sentence::{capitalised, named};
use crate::finding::{CheckupFinding, FaultCost, FaultKind};
use crate::waited::Waited;
use crate::{CheckupLayer, CheckupOutcome, CheckupPart};
use plumb_measure::{counted, grouped, real, show_ns, truncated};

/// Fewer segments sent again, or fewer operations that waited, are no pattern.
const EVENTS_MIN: u64 = 3;
/// One wait in so many, at least, has a segment that this side sent again: what is lost on the way back
/// the other side sends again, which nobody tells apart from what other programs lose.
const WAITS_A_SEGMENT: u64 = 4;
/// A share of segments sent again that is worth a word, whatever it costs.
const SHARE_MIN: f64 = 0.001;
/// A share of an operation that is worth a word, however few segments it takes.
const COST_MIN: f64 = 0.05;
/// The quantile of the normal distribution at 97.5 %.
const NORMAL: f64 = 1.96;

/// Loss on the way to one host.
pub(super) struct Loss {
    pub(super) host: String,
    pub(super) finding: CheckupFinding,
}

/// The hosts on whose way segments are lost.
pub(super) fn losses(evidence: &Evidence<'_>) -> Vec<Loss> {
    let mut hosts: BTreeMap<&str, Vec<(&CheckupPart, &CheckupOutcome)>> = BTreeMap::new();
    // a stream loses segments to find out how much the way carries
    let sound = evidence.measured().filter(|(_, it)| it.validity.valid && it.bits_per_s.is_none());
    for (part, outcome) in sound {
        if let Some(host) = outcome.host.as_deref().filter(|_| outcome.tcp.is_some()) {
            hosts.entry(host).or_default().push((part, outcome));
        }
    }
    let found = hosts.into_iter().filter_map(|(host, parts)| {
        Some(Loss { host: host.into(), finding: on_the_way(host, &parts)? })
    });
    found.collect()
}

/// What parts that talk to one host saw.
#[derive(Default)]
struct Totals {
    again: u64,
    sent: u64,
    waited: u64,
    operations: u64,
}

/// True where one of four waits of `outcome`, at least, has a segment that its own connections sent again:
/// waits of another part, for whatever reason, say nothing of those of this one.
pub(super) fn are_sent_again(outcome: &CheckupOutcome) -> bool {
    let again = outcome.tcp.map_or(0, |tcp| tcp.retransmits);
    again.saturating_mul(WAITS_A_SEGMENT) >= outcome.waited.unwrap_or_default().operations
}

fn totals(parts: &[(&CheckupPart, &CheckupOutcome)]) -> Totals {
    parts.iter().fold(Totals::default(), |all, (_, outcome)| {
        let tcp = outcome.tcp.unwrap_or_default();
        Totals {
            again: all.again.saturating_add(tcp.retransmits),
            sent: all.sent.saturating_add(tcp.segments_sent),
            waited: all.waited.saturating_add(outcome.waited.unwrap_or_default().operations),
            operations: all.operations.saturating_add(outcome.operations),
        }
    })
}

fn on_the_way(host: &str, parts: &[(&CheckupPart, &CheckupOutcome)]) -> Option<CheckupFinding> {
    let parts: Vec<_> =
        parts.iter().filter(|(_, outcome)| are_sent_again(outcome)).copied().collect();
    let all = totals(&parts);
    if all.again < EVENTS_MIN || all.waited < EVENTS_MIN {
        return None;
    }
    let alone = || parts.iter().filter(|(part, _)| part.users == 1);
    let costs =
        alone().filter_map(|(part, outcome)| Some((*part, waits_cost(outcome.waited, outcome)?)));
    let (part, cost) = costs.max_by_key(|(_, cost)| cost.ns)?;
    let share = real(all.again) / real(all.sent.max(1));
    if share < SHARE_MIN && real(cost.ns) < COST_MIN * real(cost.whole_ns) {
        return None;
    }
    let evidence = format!(
        "Segments are lost on the way to {host}: {} of {} that this side sent were sent again ({:.1} %), \
         and {} of {} waited {} longer than usual or more, as TCP does before it sends a segment again. \
         {} takes {} at the mean, of which such waits are {}.",
        grouped(all.again),
        counted(all.sent, "segment"),
        100.0 * share,
        grouped(all.waited),
        counted(all.operations, "operation"),
        show_ns(Waited::MIN_NS),
        capitalised(&named(&part.operation)),
        show_ns(cost.whole_ns),
        show_ns(cost.ns),
    );
    let next = "Look at the counters of errors and drops on both sides and between them (ip -s \
                link, ethtool -S, ports of switches), at duplex, and at queues that run full; plumb \
                net check tries the way with messages of many sizes."
        .into();
    // the way is the network's, whichever of its operations waits longest
    let network = parts.iter().map(|(part, _)| *part).find(|it| it.layer == CheckupLayer::Network);
    let way = network.unwrap_or(part);
    Some(CheckupFinding {
        kind: FaultKind::Loss,
        layer: Some(way.layer),
        server: way.server.clone(),
        operation: Some(part.operation.clone()),
        cost: Some(cost),
        ranked_ns: None,
        evidence,
        next,
    })
}

/// What `waits` cost one operation of `outcome` at the mean. Their number scatters as that of rare
/// events does: by its square root.
pub(super) fn waits_cost(waits: Option<Waited>, outcome: &CheckupOutcome) -> Option<FaultCost> {
    let Waited { operations, excess_ns } = waits.filter(|it| it.operations > 0)?;
    let ns = excess_ns / outcome.operations.max(1);
    let width = NORMAL / real(operations).sqrt();
    let scaled = |factor: f64| truncated(real(ns) * factor);
    Some(FaultCost::of(ns, scaled((1.0 - width).max(0.0)), scaled(1.0 + width), outcome.mean_ns?))
}
