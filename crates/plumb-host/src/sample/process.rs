//! Processes.

use plumb_procfs::Label;
use plumb_procfs::counter::{float, moved, per_s};
use plumb_procfs::process::ProcessCounters;
use serde::{Deserialize, Serialize};

use super::earlier;
use crate::snapshot::{Part, Snapshot};

/// Processes that a sample names as those that used most.
const TOP_MAX: usize = 12;

/// One process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessSample {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: Label,
    /// Time for which the shares stand, nanoseconds: of those that use most, the time between two
    /// looks at all processes.
    #[serde(default)]
    pub interval_ns: u64,
    /// Processor time, percent of ONE processor.
    pub cpu_pct: f64,
    /// Of this, its own code.
    pub user_pct: f64,
    /// Of this, the kernel on its behalf.
    pub system_pct: f64,
    /// Memory that it occupies.
    pub resident_bytes: u64,
    /// Its threads.
    pub threads: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Its open files; absent when not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Context switches because it waited, a second; absent when not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voluntary_switches_per_s: Option<f64>,
    /// Context switches because it was made to wait, a second; absent when not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub involuntary_switches_per_s: Option<f64>,
}

pub(super) fn chosen(before: &Snapshot, now: &Snapshot, samples: &mut Vec<ProcessSample>) {
    samples.clear();
    each(&before.chosen, &now.chosen, now, None, |sample| samples.push(sample));
}

pub(super) fn top(before: &Snapshot, now: &Snapshot, samples: &mut Vec<ProcessSample>) {
    samples.clear();
    if !now.everyone.is_newer_than(before) {
        return; // nobody looked
    }
    // whoever is seen for the first time was begun since everybody was looked at
    let newcomer = ProcessCounters::default();
    each(&before.everyone, &now.everyone, now, Some(&newcomer), |sample| {
        if sample.cpu_pct <= 0.0 {
            return;
        }
        // kept in order, the busiest first: there are few, and nothing is allocated
        let rank = samples.iter().position(|each| each.cpu_pct < sample.cpu_pct);
        let rank = rank.unwrap_or(samples.len());
        if rank < TOP_MAX {
            samples.truncate(TOP_MAX - 1);
            samples.insert(rank.min(samples.len()), sample);
        }
    });
}

fn each(
    before: &Part<Vec<ProcessCounters>>,
    now: &Part<Vec<ProcessCounters>>,
    units: &Snapshot,
    newcomer: Option<&ProcessCounters>,
    mut take: impl FnMut(ProcessSample),
) {
    let Some((before, now, interval_ns)) = now.since(before) else { return };
    for (place, process) in now.iter().enumerate() {
        let same = |each: &ProcessCounters| each.pid == process.pid && each.begun == process.begun;
        // all processes stand in the order of their numbers
        let from = earlier_process(before, place, process.pid).filter(|each| same(each));
        if let Some(from) = from.or(newcomer) {
            take(between(from, process, units, interval_ns));
        }
    }
}

fn earlier_process(before: &[ProcessCounters], place: usize, pid: u32) -> Option<&ProcessCounters> {
    match before.get(place) {
        Some(process) if process.pid == pid => Some(process),
        _ => match before.binary_search_by_key(&pid, |process| process.pid) {
            Ok(place) => before.get(place),
            Err(_) => earlier(before, place, |process| process.pid == pid),
        },
    }
}

fn between(
    before: &ProcessCounters,
    now: &ProcessCounters,
    units: &Snapshot,
    interval_ns: u64,
) -> ProcessSample {
    let share = |now: u64, before: u64| {
        per_s(moved(now, before).unwrap_or(0), interval_ns) / float(units.ticks_per_s.max(1))
            * 100.0
    };
    let user_pct = share(now.user_ticks, before.user_ticks);
    let system_pct = share(now.system_ticks, before.system_ticks);
    let switches =
        now.switches.zip(before.switches).filter(|(now, before)| now.at_ns > before.at_ns);
    let rate = |now: u64, before: u64, interval_ns: u64| {
        moved(now, before).map(|count| per_s(count, interval_ns))
    };
    ProcessSample {
        pid: now.pid,
        name: now.name,
        interval_ns,
        cpu_pct: user_pct + system_pct,
        user_pct,
        system_pct,
        resident_bytes: now.resident_pages.saturating_mul(units.page_bytes),
        threads: now.threads,
        major_faults: moved(now.major_faults, before.major_faults).unwrap_or(0),
        files: now.files,
        voluntary_switches_per_s: switches.and_then(|(now, before)| {
            rate(now.voluntary, before.voluntary, now.at_ns - before.at_ns)
        }),
        involuntary_switches_per_s: switches.and_then(|(now, before)| {
            rate(now.involuntary, before.involuntary, now.at_ns - before.at_ns)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_procfs::process::Switches;

    fn process(pid: u32, begun: u64, user_ticks: u64) -> ProcessCounters {
        ProcessCounters { pid, begun, user_ticks, resident_pages: 2, ..ProcessCounters::default() }
    }

    fn at(at_ns: u64, everyone: Vec<ProcessCounters>) -> Snapshot {
        Snapshot {
            at_ns,
            ticks_per_s: 100,
            page_bytes: 4096,
            everyone: Part::new(at_ns, everyone),
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_busiest_come_first() {
        let before = at(0, vec![process(1, 1, 0), process(5, 2, 10), process(9, 3, 0)]);
        let now = at(
            1_000_000_000,
            vec![process(1, 1, 10), process(5, 99, 70), process(7, 4, 0), process(9, 3, 25)],
        );
        let mut samples = Vec::new();
        top(&before, &now, &mut samples);
        let seen: Vec<u32> = samples.iter().map(|each| each.pid).collect();
        assert_eq!(seen, [5, 9, 1], "7 is idle");
        assert!((samples[0].cpu_pct - 70.0).abs() < 1e-9, "it is another process of that number");
        assert!((samples[1].cpu_pct - 25.0).abs() < 1e-9);
        assert_eq!(samples[0].resident_bytes, 8192);
        assert_eq!(samples[0].interval_ns, 1_000_000_000);
    }

    #[test]
    fn context_switches_are_compared_with_the_last_count() {
        let counted = |at_ns, voluntary| ProcessCounters {
            switches: Some(Switches { at_ns, voluntary, involuntary: 0 }),
            ..process(1, 1, 0)
        };
        let units = Snapshot { ticks_per_s: 100, ..Snapshot::default() };
        let rate = |before: &ProcessCounters, now: &ProcessCounters| {
            between(before, now, &units, 100_000_000).voluntary_switches_per_s
        };
        let (first, second) = (counted(0, 10), counted(1_000_000_000, 60));
        assert_eq!(rate(&first, &first), None, "nobody counted meanwhile");
        assert_eq!(rate(&first, &second), Some(50.0), "over the second between the counts");
    }

    #[test]
    fn an_old_look_is_not_repeated() {
        let before = Snapshot { end_ns: 1, ..at(0, vec![process(1, 1, 0)]) };
        let now = Snapshot { at_ns: 2, ..at(1, vec![process(1, 1, 10)]) };
        let mut samples = Vec::new();
        top(&before, &now, &mut samples);
        assert!(samples.is_empty());
    }
}
