//! The machine that asked had other work: said once, whatever it spoiled.

use super::Evidence;
use super::sentence::capitalised;
use crate::CheckupOutcome;
use crate::finding::{CheckupFinding, FaultKind};
use plumb_measure::{Finding, FindingKind, ForeignProcess, HostUse, Scope, show_plain};

/// At most one finding of each kind.
pub(super) fn findings(evidence: &Evidence<'_>) -> Vec<CheckupFinding> {
    let who = evidence.checkup.who_asks();
    let finding = |kind, evidence, next: &str| CheckupFinding {
        kind,
        layer: None,
        server: who.clone(),
        operation: None,
        cost: None,
        ranked_ns: None,
        evidence,
        next: next.into(),
    };
    let foreign = foreign(evidence).map(|evidence| {
        let next = "End these processes, or measure when they rest, then start the checkup again. \
                    --foreign-limit accepts more of it; the times then hold what others did.";
        finding(FaultKind::ForeignLoad, evidence, next)
    });
    let stolen = stolen(evidence).map(|evidence| {
        let next = "Other virtual machines share the processors: measure at another time, or on a \
                    machine with processors of its own.";
        finding(FaultKind::Steal, evidence, next)
    });
    foreign.into_iter().chain(stolen).collect()
}

fn foreign(evidence: &Evidence<'_>) -> Option<String> {
    let (met, all) = met(evidence, FindingKind::ForeignLoad);
    let (first, _) = met.first()?;
    let most = met.iter().filter_map(|(_, outcome)| outcome.foreign_pct).reduce(f64::max);
    let said = match most {
        Some(most) => format!(
            "processes that are no part of the measurement took up to {} % of all processors",
            if most < 0.95 { show_plain(most) } else { format!("{most:.0}") }
        ),
        None => first.text.trim_end_matches('.').to_owned(),
    };
    let named = culprits(met.iter().flat_map(|(_, outcome)| &outcome.foreign));
    let named = if named.is_empty() { named } else { format!(": {named}") };
    let spoiled = spoiled(met.len(), all);
    let who = capitalised(&evidence.checkup.who_asks());
    Some(format!("{who} is busy with other work: {said}{named}. {spoiled}"))
}

fn stolen(evidence: &Evidence<'_>) -> Option<String> {
    let (met, all) = met(evidence, FindingKind::Steal);
    let (first, _) = met.first()?;
    let text = first.text.trim_end_matches('.');
    let who = capitalised(&evidence.checkup.who_asks());
    Some(format!("{who} does not get its processors: {text}. {}", spoiled(met.len(), all)))
}

/// The parts that `kind` took away, with the reason, and how many parts were measured.
fn met<'a>(
    evidence: &Evidence<'a>,
    kind: FindingKind,
) -> (Vec<(&'a Finding, &'a CheckupOutcome)>, usize) {
    let reason = |outcome: &'a CheckupOutcome| {
        let mut reasons = outcome.validity.reasons.iter();
        reasons.find(|it| it.kind == kind && it.scope == Scope::Everything)
    };
    let met = evidence.measured().filter_map(|(_, outcome)| Some((reason(outcome)?, outcome)));
    (met.collect(), evidence.measured().count())
}

fn spoiled(met: usize, all: usize) -> String {
    match (met, all) {
        (1, 1) => "The figures of the one measurement may not be used.".into(),
        (met, all) if met == all => {
            format!("The figures of all {all} measurements may not be used.")
        }
        (met, all) => format!("The figures of {met} of {all} measurements may not be used."),
    }
}

/// `stress (process 4711) 46 %, cc1 (process 4712) 2 %`: each process with its largest share.
fn culprits<'a>(all: impl Iterator<Item = &'a ForeignProcess>) -> String {
    let mut most: Vec<&ForeignProcess> = Vec::new();
    for process in all {
        match most.iter_mut().find(|known| known.pid == process.pid) {
            Some(known) if known.share_pct < process.share_pct => *known = process,
            Some(_) => {}
            None => most.push(process),
        }
    }
    most.sort_by(|a, b| b.share_pct.total_cmp(&a.share_pct));
    let named = most.iter().take(HostUse::FOREIGN_MAX).map(|process| {
        format!("{} (process {}) {:.0} %", process.name, process.pid, process.share_pct)
    });
    named.collect::<Vec<_>>().join(", ")
}
