//! From what was measured to what is wrong with it.
//!
//! One room for each kind of fault; each reads the outcomes of the parts and says what it finds, with
//! its evidence and what it costs a user. None knows of another, but for what is no fault of its kind:
//! waits that lost segments and delayed acknowledgements cause are no long way and no work, what did not
//! end has not failed, and a server that its quota holds back is not full.

mod busy;
mod failures;
mod gone;
mod layers;
mod loss;
mod names;
mod pool;
mod quota;
mod slow;
mod stall;
mod told;
mod transfer;
mod waits;
mod wire;

use std::collections::BTreeMap;

use plumb_measure::may_be_delayed;

use super::finding::{CheckupFinding, ranked};
use super::middle::SAMPLES_MIN;
use super::{
    Checkup, CheckupLayer, CheckupOutcome, CheckupPart, CheckupVerdict, Middle, PartRole, sentence,
};

/// Judges every server of `checkup`.
pub(super) fn judge(checkup: &Checkup) -> CheckupVerdict {
    let evidence = Evidence::of(checkup);
    let layers = layers::verdicts(&evidence);
    let lost = loss::losses(&evidence);
    let (full, mut remarks) = pool::judged(&evidence);
    let wire = wire::findings(&evidence, &lost);
    let ways: Vec<String> = lost.iter().map(|loss| loss.host.clone()).collect();
    let lost: Vec<CheckupFinding> = lost.into_iter().map(|loss| loss.finding).collect();
    let all = [
        failures::findings(&evidence),
        busy::findings(&evidence),
        lost,
        stall::findings(&evidence),
        wire,
        full,
        quota::findings(&evidence),
        transfer::findings(&evidence),
        slow::findings(&evidence),
    ];
    let findings = ranked(all.concat());
    remarks.extend(stall::remarks(&evidence));
    remarks.extend(waits::remarks(&evidence, &ways, &findings));
    remarks.extend(names::remarks(&evidence));
    remarks.extend(quota::remarks(&evidence, &findings));
    let mut untold: Vec<&str> = Vec::new();
    for clause in remarks.iter().filter_map(|remark| remark.untold.as_deref()) {
        if !untold.contains(&clause) {
            untold.push(clause); // several operations leave the same open
        }
    }
    let mut sentence = sentence::of(&findings, &layers, &untold);
    if let Some(hidden) = quota::uneven(&evidence).filter(|_| findings.is_empty()) {
        sentence += &format!(" {hidden}");
    }
    CheckupVerdict { sentence, findings, remarks, layers, ..CheckupVerdict::default() }
}

/// What the rooms look at.
struct Evidence<'a> {
    checkup: &'a Checkup,
    /// The shortest median round trip to each host.
    floors: BTreeMap<&'a str, Middle>,
}

impl<'a> Evidence<'a> {
    fn of(checkup: &'a Checkup) -> Self {
        let mut evidence = Self { checkup, floors: BTreeMap::new() };
        let mut floors: BTreeMap<&str, Middle> = BTreeMap::new();
        for (part, outcome) in evidence.yardsticks() {
            if let (CheckupLayer::Network, Some(host), Some(middle)) =
                (part.layer, &outcome.host, outcome.median)
            {
                let floor = floors.entry(host).or_insert(middle);
                if middle.ns < floor.ns {
                    *floor = middle;
                }
            }
        }
        evidence.floors = floors;
        evidence
    }

    /// The parts that left a record.
    fn measured(&self) -> impl Iterator<Item = (&'a CheckupPart, &'a CheckupOutcome)> + use<'a> {
        let outcomes =
            self.checkup.parts.iter().filter_map(|part| Some((part, part.outcome.as_ref()?)));
        outcomes.filter(|(_, outcome)| outcome.error.is_none())
    }

    /// Those whose times may be used, however few.
    fn answered(&self) -> impl Iterator<Item = (&'a CheckupPart, &'a CheckupOutcome)> + use<'a> {
        self.measured().filter(|(_, outcome)| usable(outcome) && outcome.timed() > 0)
    }

    /// Of these, those with a median.
    fn timed(&self) -> impl Iterator<Item = (&'a CheckupPart, &'a CheckupOutcome)> + use<'a> {
        self.measured().filter(|(_, outcome)| usable(outcome) && outcome.timed() >= SAMPLES_MIN)
    }

    /// Of these, those by which a server is judged.
    fn yardsticks(&self) -> impl Iterator<Item = (&'a CheckupPart, &'a CheckupOutcome)> + use<'a> {
        self.timed().filter(|(part, _)| part.role == PartRole::Yardstick)
    }

    /// The round trip to the host of `outcome`, where one is known.
    fn floor(&self, outcome: &CheckupOutcome) -> Option<Middle> {
        self.floors.get(outcome.host.as_deref()?).copied()
    }
}

/// True when the times of `outcome` may be used.
fn usable(outcome: &CheckupOutcome) -> bool {
    outcome.error.is_none() && outcome.validity.valid && outcome.validity.latency_valid
}

/// What waits for delayed acknowledgements cost one operation at the mean, nanoseconds: no length of a
/// way, and no work of a server.
fn stalled_ns(outcome: &CheckupOutcome) -> u64 {
    outcome.delayed.map_or(0, |it| it.excess_ns / outcome.operations.max(1))
}

/// What the operation in the middle waited for a delayed acknowledgement, nanoseconds: of a median that
/// is no such wait nothing, however long others waited.
fn stalled_at(median: Middle, outcome: &CheckupOutcome) -> u64 {
    let waited = outcome.delayed.is_some() && may_be_delayed(median.ns);
    let rtt_ns = outcome.tcp.map_or(0, |tcp| tcp.rtt_min_ns);
    if waited { median.ns.saturating_sub(rtt_ns) } else { 0 }
}

/// The finding that costs most of several on one server; of those that cost as much, the first.
fn costliest(findings: impl IntoIterator<Item = CheckupFinding>) -> Option<CheckupFinding> {
    let findings = findings.into_iter();
    findings.reduce(|most, it| if it.weight_ns() > most.weight_ns() { it } else { most })
}

/// The one finding that costs most of each server.
fn one_a_server(findings: &[CheckupFinding]) -> Vec<CheckupFinding> {
    let mut servers: Vec<String> = findings.iter().map(|it| it.server.clone()).collect();
    servers.dedup();
    let of = |server: &String| {
        costliest(findings.iter().filter(|finding| finding.server == *server).cloned())
    };
    servers.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests;
