//! What a server tells of its own time.

use plumb_measure::is_whole_time;

use crate::CheckupOutcome;

/// All that a server tells of one operation, nanoseconds: its total where it names one, or the sum.
pub(super) fn all_told(outcome: &CheckupOutcome) -> u64 {
    let told = outcome.told_ns.values();
    whole(outcome).unwrap_or_else(|| told.fold(0, |sum: u64, ns| sum.saturating_add(*ns)))
}

/// What the server tells of its work on one operation, waits in its queue aside, nanoseconds; `None` where
/// it tells of nothing.
pub(super) fn told_work(outcome: &CheckupOutcome) -> Option<u64> {
    let told = !outcome.told_ns.is_empty();
    told.then(|| all_told(outcome).saturating_sub(queue(outcome).unwrap_or(0)))
}

/// The total that the server names, nanoseconds.
pub(super) fn whole(outcome: &CheckupOutcome) -> Option<u64> {
    outcome.told_ns.iter().find(|(name, _)| is_whole_time(name)).map(|(_, ns)| *ns)
}

/// Waits that the server tells of, nanoseconds; `None` where it tells of none.
pub(super) fn queue(outcome: &CheckupOutcome) -> Option<u64> {
    let mut waits = outcome.told_ns.iter().filter(|(name, _)| is_wait(name)).map(|(_, ns)| *ns);
    waits.next().map(|first| waits.fold(first, u64::saturating_add))
}

/// True when a time of this name is a wait and no work.
pub(super) fn is_wait(name: &str) -> bool {
    if of_action(name).is_some() {
        return false;
    }
    let name = name.to_ascii_lowercase();
    name.contains("queue") || name == "wait" || name == "waiting"
}

/// The action of an integration runtime whose time has this name.
pub(super) fn of_action(name: &str) -> Option<&str> {
    name.strip_prefix("action-")
}
