//! Servers that work long on one operation of one user.

use super::sentence::named;
use super::told::{all_told, is_wait, of_action, queue, told_work, whole};
use super::transfer::Transfer;
use super::{Evidence, one_a_server, stalled_at, usable};
use crate::finding::{CheckupFinding, FaultCost, FaultKind};
use crate::middle::SAMPLES_MIN;
use crate::{CheckupLayer, CheckupOutcome, CheckupPart, PartRole};
use plumb_measure::{
    Attribution, Calls, CannotBeSplit, FindingKind, PartKind, TimePart, counted, is_whole_time,
    show_ns,
};

/// A time of its own from which a server is slow, nanoseconds.
///
/// # Source
/// A page, and a message whose sender waits: 0.1 s, up to which an answer seems immediate (Nielsen, Usability Engineering, 1993, 5.5).
/// A statement and a lock request: a tenth of that, since a page makes ten of them and more.
fn slow_ns(layer: CheckupLayer) -> Option<u64> {
    match layer {
        CheckupLayer::Network => None,
        CheckupLayer::Pages | CheckupLayer::Messages => Some(100_000_000),
        CheckupLayer::Locks | CheckupLayer::Database => Some(10_000_000),
    }
}

/// The servers that are slow, each with the operation that takes it longest.
pub(super) fn findings(evidence: &Evidence<'_>) -> Vec<CheckupFinding> {
    let found = evidence.measured().filter_map(|(part, it)| {
        // however few there are: a server is slow if even the shortest of them took long
        let timed = part.role == PartRole::Yardstick && usable(it) && it.timed() > 0;
        if timed { slow(evidence, part, it) } else { silent(part, it) }
    });
    one_a_server(&found.collect::<Vec<_>>())
}

/// True where no answer ended while it was measured, for so long that who did not answer is slow. A
/// stream has no answers: of one that brings nothing, something is broken.
pub(super) fn is_silent(part: &CheckupPart, outcome: &CheckupOutcome) -> bool {
    // a way that brought nothing back is as slow as a page
    let least = slow_ns(part.layer).or_else(|| slow_ns(CheckupLayer::Pages));
    let long = least.is_some_and(|least| outcome.duration_ns >= least);
    long && outcome.bits_per_s.is_none() && unanswered(outcome)
}

/// True where no answer ended in time, so that none was wrong.
fn unanswered(outcome: &CheckupOutcome) -> bool {
    let found = |kind| outcome.validity.reasons.iter().any(|finding| finding.kind == kind);
    let ended = outcome.operations > 0 || outcome.failed > 0;
    // what is turned away for the moment is answered, and no failure
    !ended && found(FindingKind::NoOperations) && !found(FindingKind::Refused)
}

/// A part of which no answer came while it was measured.
fn silent(part: &CheckupPart, outcome: &CheckupOutcome) -> Option<CheckupFinding> {
    if !is_silent(part, outcome) {
        return None;
    }
    let evidence = format!(
        "The {} takes long, or something before its port does: of {} ({}), no answer ended within \
         the {} that were measured.",
        part.server,
        named(&part.operation),
        part.how,
        show_ns(outcome.duration_ns),
    );
    let next = next(part.layer, None);
    Some(CheckupFinding {
        kind: FaultKind::Slow,
        layer: Some(part.layer),
        server: part.server.clone(),
        operation: Some(part.operation.clone()),
        cost: None,
        ranked_ns: None,
        evidence,
        next: format!("How long it takes, a longer --for tells. {next}"),
    })
}

fn slow(
    evidence: &Evidence<'_>,
    part: &CheckupPart,
    outcome: &CheckupOutcome,
) -> Option<CheckupFinding> {
    let least = slow_ns(part.layer)?;
    let told = attributed(outcome).or_else(|| told(outcome));
    // who tells single times alone may work longer than these
    let is_all = |cost: FaultCost| cost.low_ns >= least || !tells_a_part(outcome);
    let told = told.filter(|(cost, _)| is_all(*cost));
    let who = match told {
        Some(_) => "works long",
        None => "takes long, or something before its port does",
    };
    if told.is_none() && Transfer::of(outcome).is_some() {
        return None; // its answer began early
    }
    let (cost, how) = told.or_else(|| left(evidence, part, outcome))?;
    if cost.low_ns < least {
        return None;
    }
    let few = match outcome.timed() {
        1 => "; only one was measured".into(),
        few if few < SAMPLES_MIN => format!("; only {few} were measured"),
        _ => String::new(),
    };
    let evidence = format!(
        "The {} {who}: {} takes {}{}, of which {} {how}{few}{}.",
        part.server,
        named(&part.operation),
        show_ns(cost.whole_ns),
        mean_of(cost.of),
        show_ns(cost.ns),
        cost.of.untold(),
    );
    Some(CheckupFinding {
        kind: FaultKind::Slow,
        layer: Some(part.layer),
        server: part.server.clone(),
        operation: Some(part.operation.clone()),
        cost: Some(cost),
        ranked_ns: None,
        evidence,
        next: next(part.layer, largest(outcome)),
    })
}

/// Said behind a time that is not the mean of all.
fn mean_of(of: Calls) -> String {
    if of.are_all() { String::new() } else { format!(" at the mean{}", of.whose()) }
}

/// The server's clock, read around the operation.
fn attributed(outcome: &CheckupOutcome) -> Option<(FaultCost, String)> {
    let server = outcome.attributed.get(&PartKind::Server)?;
    // what scatters around nothing may come out below it
    let ns = server.mean_ns.max(0).unsigned_abs();
    let half = server.half_width_ns.unwrap_or(ns);
    let (low, high) = (ns.saturating_sub(half), ns.saturating_add(half));
    let (whole_ns, of) = outcome.accounted()?;
    let cost = FaultCost::of(ns, low, high, whole_ns).among(of);
    Some((cost, "is its own work, by its own clock".into()))
}

/// What the server tells of its time, waits in its queue aside.
fn told(outcome: &CheckupOutcome) -> Option<(FaultCost, String)> {
    let (whole_ns, median) = (outcome.mean_ns?, outcome.median?);
    let ns = told_work(outcome)?.min(whole_ns);
    // of times that may lie within each other the largest is surely its own; a total is, all of it
    let (sure, by) = match (largest(outcome), whole(outcome)) {
        (Some((name, most)), None) => (most, largest_of_it(name, most, ns)),
        (Some((name, most)), Some(_)) => (ns, largest_of_it(name, most, ns)),
        (None, Some(_)) => (ns, String::new()),
        (None, None) => return None,
    };
    let low = sure.min(ns).saturating_sub(median.ns.saturating_sub(median.low_ns));
    let high = ns.saturating_add(median.high_ns.saturating_sub(median.ns));
    let said = format!("is its own work, as the server reports{by}");
    Some((FaultCost::of(ns, low, high, whole_ns), said))
}

/// Said of the largest of several times that the server tells of its work of `ns`.
fn largest_of_it(name: &str, largest: u64, ns: u64) -> String {
    let name = of_action(name).map_or_else(|| name.to_owned(), |it| format!("the action {it}"));
    let how_much =
        if largest >= ns.div_ceil(2) { "most of it is" } else { "the largest part of it is" };
    format!("; {how_much} {name} ({})", show_ns(largest))
}

/// True where the server tells times of an operation, and no total.
fn tells_a_part(outcome: &CheckupOutcome) -> bool {
    !outcome.told_ns.is_empty() && outcome.attributed.is_empty() && whole(outcome).is_none()
}

/// What the round trip to the host and waits that the server tells of leave.
fn left(
    evidence: &Evidence<'_>,
    part: &CheckupPart,
    outcome: &CheckupOutcome,
) -> Option<(FaultCost, String)> {
    let median = outcome.median?;
    let (taken, said) = match (evidence.floor(outcome), outcome.tcp.map(|tcp| tcp.rtt_min_ns)) {
        (Some(floor), _) => (floor.ns, "no round trip to its host explains"),
        (None, Some(rtt)) if rtt > 0 => (rtt, "TCP's shortest round trip does not explain"),
        _ => (0, "is that of the server with the way to it"),
    };
    let waits = queue(outcome).unwrap_or(0);
    let taken = taken.saturating_add(stalled_at(median, outcome)).saturating_add(waits);
    let less = |ns: u64| ns.saturating_sub(taken);
    let cost = FaultCost::of(less(median.ns), less(median.low_ns), less(median.high_ns), median.ns);
    let work = all_told(outcome).saturating_sub(waits);
    let reports = match (outcome.told_ns.is_empty(), waits) {
        (true, _) => why_untold(part.layer, outcome),
        (false, 0) => format!("it reports only {} of its own work", show_ns(work)),
        (false, _) => {
            format!(
                "it reports only {} of its own work, and {} of waits, which are taken off",
                show_ns(work),
                show_ns(waits)
            )
        }
    };
    Some((cost, format!("{said}; {reports}")))
}

/// Why it is not known how long the server works.
fn why_untold(layer: CheckupLayer, outcome: &CheckupOutcome) -> String {
    let reports = |it: &&TimePart| it.kind == PartKind::Server;
    let server = |it: &Attribution| Some((it.account(), it.parts.iter().find(reports)?.time.count));
    let Some((account, looks)) = outcome.attribution.as_ref().and_then(server) else {
        return "it reports no times of its own".into();
    };
    match account {
        Err(CannotBeSplit::TooFew { fewest })
            if layer == CheckupLayer::Database && fewest == looks =>
        {
            format!("its own clock was read only {}, too few to tell", counted(looks, "time"))
        }
        Err(reason) => format!("its own time is not known: {reason}"),
        Ok(_) => "it reports its time with some answers only".into(),
    }
}

/// The largest of the times that the server tells, waits aside.
fn largest(outcome: &CheckupOutcome) -> Option<(&str, u64)> {
    let is_work = |name: &str| !is_wait(name) && !is_whole_time(name);
    let told = outcome.told_ns.iter().filter(|(name, _)| is_work(name));
    told.max_by_key(|(_, ns)| **ns).map(|(name, ns)| (name.as_str(), *ns))
}

fn next(layer: CheckupLayer, largest: Option<(&str, u64)>) -> String {
    let by = largest.map(|(name, _)| name.to_ascii_lowercase());
    let in_database = by.is_some_and(|name| name.starts_with("db") || name.contains("database"));
    match layer {
        CheckupLayer::Pages if in_database => {
            "Look at the statements behind that page: how many, how long (plumb db ping \
             --statement ... --explain), and what they wait for."
        }
        CheckupLayer::Pages | CheckupLayer::Network => {
            "Look at what the server does meanwhile: its trace or profiler, the servers that it \
             asks itself, and its machine (plumb host watch there)."
        }
        CheckupLayer::Messages => {
            "Look at that action: what it asks of data servers and back ends (/manager shows their \
             pools), and how long it takes for one message (plumb flow try)."
        }
        CheckupLayer::Locks => {
            "Who holds what is asked for (plumb lock show), does the journal wait for a disk, and \
             is something in between?"
        }
        CheckupLayer::Database => {
            "Look at its plan (plumb db ping --explain), at indexes and locks, and at what else \
             the server does (plumb host watch there)."
        }
    }
    .into()
}
