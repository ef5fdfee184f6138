//! Memory that processes hold, how much they may, and on how many processors they run.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;

use super::groups::groups_of;
use crate::root::Root;

/// A limit of this many bytes is none: control groups of version 1 write one that nobody reaches.
const NO_LIMIT: u64 = 1 << 60;

/// More processors than a kernel of Linux can be built for.
const PROCESSORS_MAX: u32 = 1 << 16;

/// Memory that cannot be taken back from `processes` without swapping, bytes: what they wrote
/// themselves and what they share, not what the kernel keeps of files. `None` when none of them can
/// be read.
///
/// Each process counts what it touched of a shared segment, so that of these counts the largest one
/// stands for all: the buffers of a database are there once. It is too little where processes share
/// nothing with each other and have segments all the same.
///
/// # Source
/// proc(5): `RssAnon` and `RssShmem` of `/proc/PID/status`.
#[must_use]
pub fn memory_of(root: &Root, processes: &[u32]) -> Option<u64> {
    let held = processes.iter().filter_map(|pid| {
        let status = fs::read_to_string(root.proc(&format!("{pid}/status"))).ok()?;
        held(&status)
    });
    let sum = |all: Held, it: Held| Held {
        own_kib: all.own_kib.saturating_add(it.own_kib),
        shared_kib: all.shared_kib.max(it.shared_kib),
    };
    let all = held.reduce(sum)?;
    Some(all.own_kib.saturating_add(all.shared_kib).saturating_mul(1024))
}

/// The least memory limit of the control groups that hold the process `pid`, bytes; `None` where
/// there is none, or it cannot be read.
///
/// # Source
/// cgroups(7); the kernel's cgroup-v2 (`memory.max`) and cgroup-v1 (`memory.limit_in_bytes`).
#[must_use]
pub fn memory_limit_of(root: &Root, pid: u32) -> Option<u64> {
    let groups = groups_of(root, &pid.to_string(), "memory")?.into_iter();
    let limit = |group: String| {
        let read = |file: &str| fs::read_to_string(root.sys(&format!("{group}/{file}"))).ok();
        let text = read("memory.max").or_else(|| read("memory.limit_in_bytes"))?;
        text.trim().parse().ok().filter(|it| *it < NO_LIMIT)
    };
    groups.filter_map(limit).min()
}

/// How many processors the processes `pids` may run on together, each of them counted once; `None`
/// where that can be read of none of them.
///
/// # Source
/// proc(5): `Cpus_allowed_list` of `/proc/PID/status`.
#[must_use]
pub fn processors_of(root: &Root, pids: &[u32]) -> Option<u32> {
    let mut all = BTreeSet::new();
    pids.iter().filter_map(|pid| allowed(root, *pid)).flatten().for_each(|it| all.extend(it));
    u32::try_from(all.len()).ok().filter(|count| *count > 0)
}

/// The ranges of processors on which the process `pid` may run.
fn allowed(root: &Root, pid: u32) -> Option<Vec<RangeInclusive<u32>>> {
    let status = fs::read_to_string(root.proc(&format!("{pid}/status"))).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim().split(',').map(range).collect()
}

/// `2` or `4-7`.
fn range(text: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    let some = first..=last;
    // no kernel has so many, and a list that says so is none
    (!some.is_empty() && last < PROCESSORS_MAX).then_some(some)
}

/// What a process holds, KiB: for itself, and of what others may hold as well.
struct Held {
    own_kib: u64,
    shared_kib: u64,
}

/// What a process holds, by its status.
fn held(status: &str) -> Option<Held> {
    let kib = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
    };
    Some(Held { own_kib: kib("RssAnon")?, shared_kib: kib("RssShmem")? })
}
