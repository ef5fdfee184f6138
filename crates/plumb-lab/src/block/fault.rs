//! Why a block does not count.

use std::collections::BTreeMap;

use plumb_measure::{Finding, FindingKind, Scope, statistics};

use super::{Block, Settling};
use crate::{Admission, Faults};

/// Processes beside a measurement that are named at most.
const NAMED_MAX: usize = 3;

/// What is wrong with a block, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockFault {
    /// Its figures may not be used.
    Invalid(String),
    /// Something that can take every figure away could not be checked.
    Unchecked(String),
}

impl Block {
    /// What is wrong with this block; `None` when nothing is. What disturbed it for a moment,
    /// foreign load or paging, may leave the next one alone.
    #[must_use]
    pub fn fault(&self) -> Option<BlockFault> {
        let validity = &self.record.validity;
        let disturbs = |found: &&Finding| {
            found.scope == Scope::Everything || found.kind == FindingKind::Paging
        };
        if let Some(found) = validity.reasons.iter().find(disturbs) {
            return Some(BlockFault::Invalid(found.text.clone()));
        }
        if let Some(reason) = self.unsettled() {
            return Some(BlockFault::Invalid(reason));
        }
        if validity.is_checked() {
            return None;
        }
        let unchecked = validity.reasons.iter().find(|found| found.scope == Scope::Unchecked)?;
        Some(BlockFault::Unchecked(format!("not checked: {}", unchecked.text)))
    }

    /// Why this block does not count under the rules of `faults`; `None` when it does.
    #[must_use]
    pub fn left_out(&self, faults: Faults) -> Option<String> {
        match self.fault()? {
            BlockFault::Invalid(_) if faults.invalid == Admission::Accept => None,
            BlockFault::Unchecked(_) if faults.unchecked == Admission::Accept => None,
            BlockFault::Invalid(reason) | BlockFault::Unchecked(reason) => Some(reason),
        }
    }

    /// True when the load generator was the limit: its response times say nothing.
    #[must_use]
    pub fn is_driver_limited(&self) -> bool {
        let mut reasons = self.record.validity.reasons.iter();
        reasons.any(|found| found.scope == Scope::Latency && found.kind != FindingKind::Paging)
    }

    /// True when processes that are no part of the measurement took its figures away.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        let mut reasons = self.record.validity.reasons.iter();
        reasons.any(|it| it.kind == FindingKind::ForeignLoad && it.scope == Scope::Everything)
    }

    /// True when what was asked went wrong: other blocks of such a variant will hardly fare better.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        let mut reasons = self.record.validity.reasons.iter();
        reasons.any(|it| it.scope == Scope::Everything && it.kind.is_of_operations())
    }

    /// True when the block does not count for what the target did: it belongs to the outcome of its variant.
    #[must_use]
    pub fn is_failed_by_target(&self) -> bool {
        let mut reasons = self.record.validity.reasons.iter();
        reasons.any(|it| it.scope == Scope::Everything && it.kind.is_of_target())
    }

    fn unsettled(&self) -> Option<String> {
        if self.points.is_empty() {
            return Some("the run has no result".into());
        }
        let unsettled = self.points.iter().find(|point| point.settling == Settling::Never)?;
        let place = match self.points.len() {
            1 => String::new(),
            _ => format!(" at {:?}", unsettled.labels),
        };
        Some(format!(
            "response times{place} never settled: they still moved one way in the second half of \
             the block"
        ))
    }
}

/// How much processor time others took beside these `blocks`, and which processes took most of it,
/// as far as they are known: `62 % of all processors at the median (yes, pid 4711)`. Empty when
/// nothing is known.
#[must_use]
pub fn foreign_load(blocks: &[&Block]) -> String {
    let uses = || blocks.iter().flat_map(|it| &it.record.results).filter_map(|it| it.host.as_ref());
    let shares: Vec<f64> = uses().filter_map(|it| it.foreign_pct).collect();
    let mut processes: BTreeMap<(&str, u32), f64> = BTreeMap::new();
    for process in uses().flat_map(|it| &it.foreign) {
        *processes.entry((&process.name, process.pid)).or_default() += process.share_pct;
    }
    let mut processes: Vec<((&str, u32), f64)> = processes.into_iter().collect();
    processes.sort_by(|one, other| other.1.total_cmp(&one.1));
    let names: Vec<String> = processes
        .iter()
        .take(NAMED_MAX)
        .map(|((name, pid), _)| format!("{name}, pid {pid}"))
        .collect();
    let share = statistics::median(&shares)
        .map(|share| format!("{share:.0} % of all processors at the median"));
    match (share, names.is_empty()) {
        (Some(share), false) => format!("{share} ({})", names.join("; ")),
        (Some(share), true) => share,
        (None, false) => names.join("; "),
        (None, true) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, run};
    use crate::order::Turn;
    use plumb_measure::{ForeignProcess, HostUse, ResultRecord};

    /// A block of one result, of which something was found.
    fn block(kind: FindingKind, scope: Scope) -> Block {
        fixture::block(Turn { cell: 0, variant: 0 }, 1, run("closed", 1_000, Some((kind, scope))))
    }

    #[test]
    fn a_moment_of_trouble_takes_a_block_away_and_the_limit_of_the_driver_its_times() {
        let refused = |block: &Block| block.left_out(Faults::default());
        let paged = block(FindingKind::Paging, Scope::Latency);
        assert_eq!((refused(&paged).as_deref(), paged.is_driver_limited()), (Some("found"), false));
        let limited = block(FindingKind::DriverLimited, Scope::Latency);
        assert_eq!((refused(&limited), limited.is_driver_limited()), (None, true));
        let foreign = block(FindingKind::ForeignLoad, Scope::Everything);
        assert_eq!((refused(&foreign).as_deref(), foreign.is_crowded()), (Some("found"), true));
        let remarked = block(FindingKind::Complaint, Scope::Nothing);
        assert_eq!((refused(&remarked), remarked.is_driver_limited()), (None, false));
    }

    #[test]
    fn what_was_not_checked_counts_only_when_that_is_asked_for() {
        let unchecked = block(FindingKind::ForeignLoad, Scope::Unchecked);
        assert!(!unchecked.is_crowded());
        let reason = unchecked.left_out(Faults::default()).unwrap();
        assert!(reason.starts_with("not checked: "), "{reason}");
        let invalid = Faults { invalid: Admission::Accept, ..Faults::default() };
        assert!(unchecked.left_out(invalid).is_some(), "that is another wish");
        let accepted = Faults { unchecked: Admission::Accept, ..Faults::default() };
        assert_eq!(unchecked.left_out(accepted), None);
        let failed = block(FindingKind::Failures, Scope::Everything);
        assert!(failed.left_out(accepted).is_some() && failed.left_out(invalid).is_none());
    }

    #[test]
    fn those_who_took_processor_time_are_named_the_greediest_first() {
        let beside = |foreign_pct, names: &[(&str, u32, f64)]| {
            let mut block = block(FindingKind::ForeignLoad, Scope::Everything);
            let foreign = names.iter().map(|(name, pid, share_pct)| ForeignProcess {
                pid: *pid,
                name: (*name).to_owned(),
                share_pct: *share_pct,
            });
            let host = HostUse { foreign_pct, foreign: foreign.collect(), ..HostUse::default() };
            block.record.results =
                vec![ResultRecord { host: Some(host), ..ResultRecord::default() }];
            block
        };
        let blocks = [
            beside(Some(40.0), &[("cron", 7, 5.0), ("yes", 9, 35.0)]),
            beside(Some(60.0), &[("yes", 9, 55.0)]),
        ];
        assert_eq!(
            foreign_load(&blocks.iter().collect::<Vec<_>>()),
            "50 % of all processors at the median (yes, pid 9; cron, pid 7)"
        );
        let unnamed = beside(Some(30.4), &[]);
        assert_eq!(foreign_load(&[&unnamed]), "30 % of all processors at the median");
        assert_eq!(foreign_load(&[&beside(None, &[])]), "");
    }
}
