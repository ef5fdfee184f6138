//! Ways that take the time: of a host, or of one port of it.

use super::loss::Loss;
use super::sentence::named;
use super::told::whole;
use super::transfer::Transfer;
use super::{Evidence, one_a_server, stalled_at, stalled_ns};
use crate::finding::{CheckupFinding, FaultCost, FaultKind};
use crate::{CheckupLayer, CheckupOutcome, CheckupPart, Middle};
use plumb_measure::{Calls, PartKind, show_ns};

/// A way there and back that takes less is no fault: within one site it takes a tenth of it.
const WAY_MIN_NS: u64 = 2_000_000;
/// A way that is a smaller part of an operation, one in so many, does not make it slow.
const PART_OF: u64 = 4;

/// The ways that are long: to a host by its echo server, to other servers by what they tell.
pub(super) fn findings(evidence: &Evidence<'_>, lost: &[Loss]) -> Vec<CheckupFinding> {
    let found = evidence.yardsticks().filter_map(|(part, outcome)| match part.layer {
        CheckupLayer::Network => to_host(part, outcome),
        CheckupLayer::Locks
        | CheckupLayer::Pages
        | CheckupLayer::Messages
        | CheckupLayer::Database => to_server(evidence, lost, part, outcome),
    });
    one_a_server(&found.collect::<Vec<_>>())
}

/// The round trip itself.
fn to_host(part: &CheckupPart, outcome: &CheckupOutcome) -> Option<CheckupFinding> {
    let long =
        |median: &Middle| median.low_ns.saturating_sub(stalled_at(*median, outcome)) >= WAY_MIN_NS;
    let median = outcome.median.filter(long)?;
    let host = outcome.host.as_deref().unwrap_or("its host");
    let evidence = format!(
        "The way to {host} is long: {} takes {} at the median, before any server works.",
        named(&part.operation),
        show_ns(median.ns)
    );
    Some(CheckupFinding {
        kind: FaultKind::Wire,
        layer: Some(part.layer),
        server: part.server.clone(),
        operation: Some(part.operation.clone()),
        cost: Some(FaultCost::of(median.ns, median.low_ns, median.high_ns, median.ns)),
        ranked_ns: None,
        evidence,
        next: "Where do the packets go (tracepath, a VPN, another site), and does the line have \
               the rate it should (plumb net stream)? Fewer round trips an operation help as much \
               as a shorter way."
            .into(),
    })
}

/// What is known of the way to one port.
struct PathTime {
    ns: u64,
    low_ns: u64,
    high_ns: u64,
    whole_ns: u64,
    /// Which operations `whole_ns` is the mean of.
    of: Calls,
    /// Who says so, behind the operation and its time.
    told: String,
}

fn to_server(
    evidence: &Evidence<'_>,
    lost: &[Loss],
    part: &CheckupPart,
    outcome: &CheckupOutcome,
) -> Option<CheckupFinding> {
    // what its answer takes to come through is told as that
    let whole = || untold(outcome).filter(|_| Transfer::of(outcome).is_none());
    let mean = attributed(outcome).or_else(whole);
    // what segments that are lost or acknowledged late cost a mean of all is no length of the way; the
    // faster nine tenths and TCP's shortest round trip have none of it
    let waits = mean
        .as_ref()
        .filter(|it| it.of.are_all())
        .map_or(0, |_| lost_ns(lost, outcome).saturating_add(stalled_ns(outcome)));
    let way = mean.or_else(|| by_tcp(outcome))?;
    let floor = evidence.floor(outcome);
    // the way to the host is another finding
    let other = floor.map_or(0, |floor| floor.ns).saturating_add(waits);
    let left = way.low_ns.saturating_sub(other);
    if left < WAY_MIN_NS || left.saturating_mul(PART_OF) < way.whole_ns {
        return None;
    }
    let less = |ns: u64| ns.saturating_sub(other);
    let cost = FaultCost::of(less(way.ns), left, less(way.high_ns), way.whole_ns).among(way.of);
    let (passing, next) = match floor {
        Some(floor) => (
            format!(", and a round trip to its host takes only {}", show_ns(floor.ns)),
            "The way to the host is short, so look at what stands before that port: a proxy, a \
             load balancer, a pooler, a tunnel. Fewer round trips an operation help as much.",
        ),
        None => (
            String::new(),
            "Compare with plumb net ping to the same host (plumb net serve there, [net] servers \
             here): a long way shows there, too; a proxy, a load balancer or a pooler does not.",
        ),
    };
    let evidence = format!(
        "The way to the {} takes the time, not the server: {} takes {} at the mean{}, {}{passing}{}.",
        part.server,
        named(&part.operation),
        show_ns(way.whole_ns),
        way.of.whose(),
        way.told,
        way.of.untold(),
    );
    Some(CheckupFinding {
        kind: FaultKind::Wire,
        layer: Some(part.layer),
        server: part.server.clone(),
        operation: Some(part.operation.clone()),
        cost: Some(cost),
        ranked_ns: None,
        evidence,
        next: next.into(),
    })
}

/// What waits for lost segments cost one operation at the mean, nanoseconds, where some were lost on the
/// way to its host.
fn lost_ns(lost: &[Loss], outcome: &CheckupOutcome) -> u64 {
    let is_there = lost.iter().any(|it| Some(&it.host) == outcome.host.as_ref());
    let waited = outcome.waited.filter(|_| is_there);
    waited.map_or(0, |it| it.excess_ns / outcome.operations.max(1))
}

/// The layer measured it itself: a message that asks for no work.
fn attributed(outcome: &CheckupOutcome) -> Option<PathTime> {
    let wire = outcome.attributed.get(&PartKind::Wire)?;
    let ns = u64::try_from(wire.mean_ns).ok()?;
    let half = wire.half_width_ns.unwrap_or(ns);
    let server = outcome.attributed.get(&PartKind::Server)?.mean_ns.max(0).unsigned_abs();
    let (whole_ns, of) = outcome.accounted()?;
    Some(PathTime {
        ns,
        low_ns: ns.saturating_sub(half),
        high_ns: ns.saturating_add(half),
        whole_ns,
        of,
        told: format!(
            "of which the server works {}; a message that asks for no work takes {} there and back",
            show_ns(server),
            show_ns(ns)
        ),
    })
}

/// What the server does not tell of, where it tells its total: what single times leave may be work that
/// it tells nobody of.
fn untold(outcome: &CheckupOutcome) -> Option<PathTime> {
    let told = whole(outcome).filter(|_| outcome.attributed.is_empty())?;
    let (whole_ns, median) = (outcome.mean_ns?, outcome.median?);
    let ns = whole_ns.saturating_sub(told);
    Some(PathTime {
        ns,
        low_ns: ns.saturating_sub(median.ns.saturating_sub(median.low_ns)),
        high_ns: ns.saturating_add(median.high_ns.saturating_sub(median.ns)),
        whole_ns,
        of: Calls::All,
        told: format!("of which the server tells of {}", show_ns(told)),
    })
}

/// The kernel's shortest round trip, where neither tells.
fn by_tcp(outcome: &CheckupOutcome) -> Option<PathTime> {
    if whole(outcome).is_some() || !outcome.attributed.is_empty() {
        return None;
    }
    let ns = outcome.tcp.map(|tcp| tcp.rtt_min_ns).filter(|ns| *ns > 0)?;
    let whole_ns = outcome.mean_ns?;
    Some(PathTime {
        ns,
        low_ns: ns,
        high_ns: ns,
        whole_ns,
        of: Calls::All,
        told: format!("of which TCP's shortest round trip is {}", show_ns(ns)),
    })
}
