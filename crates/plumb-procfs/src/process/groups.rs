//! Control groups that hold a process, and the processor time that they leave it.

use std::collections::BTreeMap;
use std::fs;

use crate::root::Root;

/// A bound of processor time that a control group has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quota {
    /// Processor time a second, in processors.
    pub processors: f64,
    /// True when the group holds this program as well.
    pub holds_us: bool,
}

/// How often a control group held back what is in it, because its quota of a period was used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Periods in which something in the group ran, or wanted to.
    pub periods: u64,
    /// Of these, those in which it was held back.
    pub held_back: u64,
    /// For how long, nanoseconds; of each processor on which it wanted to run.
    pub ns: u64,
}

impl Throttled {
    fn since(self, before: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(before.periods),
            held_back: self.held_back.saturating_sub(before.held_back),
            ns: self.ns.saturating_sub(before.ns),
        }
    }
}

/// What a control group with this quota counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldBack {
    /// What it leaves.
    pub quota: Quota,
    /// How often it was used up.
    pub throttled: Throttled,
}

/// The counters of all control groups with a quota that hold some processes, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Throttling(BTreeMap<String, HeldBack>);

impl Throttling {
    /// Those of the groups that hold any of the processes `pids`.
    ///
    /// # Source
    /// The kernel's cgroup-v2 (`cpu.stat`) and sched-bwc.
    #[must_use]
    pub fn of(root: &Root, pids: &[u32]) -> Self {
        let ours = groups_of(root, "self", "cpu").unwrap_or_default();
        let groups = pids.iter().filter_map(|pid| groups_of(root, &pid.to_string(), "cpu"));
        let counted = |group: String| {
            let quota = Quota { processors: quota(root, &group)?, holds_us: ours.contains(&group) };
            let throttled = throttled(root, &group)?;
            Some((group, HeldBack { quota, throttled }))
        };
        Self(groups.flatten().filter_map(counted).collect())
    }

    /// True where no group with a quota counts anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What happened since `before` in the group that held back longest; `None` where no group of both
    /// counts it.
    #[must_use]
    pub fn since(&self, before: &Self) -> Option<HeldBack> {
        let known = self.0.iter().filter_map(|(group, now)| {
            let throttled = now.throttled.since(before.0.get(group)?.throttled);
            Some(HeldBack { throttled, ..*now })
        });
        known.max_by_key(|held| (held.throttled.ns, held.throttled.periods))
    }
}

/// A group in which less of the work was done, one part in so many, did none of it.
const WORK_MIN: u64 = 10;

/// Those of the processes that used `used_ns` each, nanoseconds, in whose control groups the work was
/// done; `None` where nobody can say, since they used nothing and lie in several.
#[must_use]
pub fn workers(root: &Root, used_ns: &[(u32, u64)]) -> Option<Vec<u32>> {
    // a process that is gone, or hidden, may have worked anywhere
    let group = |pid: &u32| groups_of(root, &pid.to_string(), "cpu");
    let placed: Vec<_> = used_ns.iter().map(|(pid, ns)| (*pid, *ns, group(pid))).collect();
    let mut by_group: BTreeMap<Option<&Vec<String>>, u64> = BTreeMap::new();
    for (_, ns, group) in &placed {
        let sum = by_group.entry(group.as_ref()).or_default();
        *sum = sum.saturating_add(*ns);
    }
    let all = by_group.values().fold(0, |sum: u64, ns| sum.saturating_add(*ns));
    if all == 0 && by_group.len() > 1 {
        return None;
    }
    let worked = |group: &Option<Vec<String>>| by_group[&group.as_ref()] >= all / WORK_MIN;
    Some(placed.iter().filter(|(.., group)| worked(group)).map(|(pid, ..)| *pid).collect())
}

/// Those of the processes that used `used_ns` each, nanoseconds, that used any; all of them where none did, by
/// clocks that may not tell the little that somebody uses who is held back all the time.
#[must_use]
pub fn that_ran(used_ns: &[(u32, u64)]) -> Vec<u32> {
    let none = used_ns.iter().all(|(_, ns)| *ns == 0);
    used_ns.iter().filter(|(_, ns)| none || *ns > 0).map(|(pid, _)| *pid).collect()
}

/// A control group and its bound.
#[derive(Debug, PartialEq)]
struct Bounded {
    group: String,
    quota: Quota,
}

/// The processor time that control groups leave to the processes `pids` together: the sum of what the
/// groups that bound each of them most closely leave, and no more than one around all of them does. `None`
/// where one of the processes is not bounded, where it cannot be read, and where this program shares the
/// group of some of them only. A process that is gone bounds nobody.
///
/// # Source
/// cgroups(7); the kernel's cgroup-v2 (`cpu.max`) and sched-bwc (`cpu.cfs_quota_us`).
#[must_use]
pub fn quota_of(root: &Root, pids: &[u32]) -> Option<Quota> {
    let ours = groups_of(root, "self", "cpu").unwrap_or_default();
    let bounded = |group: String| {
        let quota = Quota { processors: quota(root, &group)?, holds_us: ours.contains(&group) };
        Some(Bounded { group, quota })
    };
    let groups = pids.iter().filter_map(|pid| groups_of(root, &pid.to_string(), "cpu"));
    let all: Vec<Vec<Bounded>> =
        groups.map(|of_one| of_one.into_iter().filter_map(bounded).collect()).collect();
    let of_each = all.iter().map(|of_one| closest(of_one).map(|it| (&it.group, it.quota)));
    let closest_of_each: BTreeMap<&String, Quota> = of_each.collect::<Option<_>>()?;
    let processors = closest_of_each.values().map(|it| it.processors).sum();
    let around_all = |it: &&Bounded| all.iter().all(|of_one| of_one.contains(it));
    let around = closest(all.first()?.iter().filter(around_all)).map(|it| it.quota);
    around.filter(|it| it.processors <= processors).or_else(|| {
        let holds_us = closest_of_each.values().any(|it| it.holds_us);
        (!holds_us).then_some(Quota { processors, holds_us })
    })
}

/// The one of `groups` that leaves least.
fn closest<'a>(groups: impl IntoIterator<Item = &'a Bounded>) -> Option<&'a Bounded> {
    groups.into_iter().min_by(|a, b| a.quota.processors.total_cmp(&b.quota.processors))
}

/// What a group leaves, in processors: a quota of each period.
fn quota(root: &Root, group: &str) -> Option<f64> {
    let read = |file: &str| fs::read_to_string(root.sys(&format!("{group}/{file}"))).ok();
    let words = read("cpu.max").or_else(|| {
        Some(format!("{} {}", read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?.trim()))
    })?;
    let mut words = words.split_whitespace();
    // `max`, and -1 of version 1, are no bound
    let (quota, period): (f64, f64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// The counters of a group; `None` where it has none.
fn throttled(root: &Root, group: &str) -> Option<Throttled> {
    let text = fs::read_to_string(root.sys(&format!("{group}/cpu.stat"))).ok()?;
    let count = |name: &str| -> Option<u64> {
        let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
        text.lines().find_map(value)
    };
    // version 1 counts nanoseconds
    let ns = || Some(count("throttled_usec")?.saturating_mul(1_000));
    Some(Throttled {
        periods: count("nr_periods")?,
        held_back: count("nr_throttled")?,
        ns: ns().or_else(|| count("throttled_time"))?,
    })
}

/// The control groups that hold `process` as far as `controller` goes, each with all above it, as
/// folders below `/sys`; `None` where that cannot be read.
pub(super) fn groups_of(root: &Root, process: &str, controller: &str) -> Option<Vec<String>> {
    let groups = fs::read_to_string(root.proc(&format!("{process}/cgroup"))).ok()?;
    Some(groups.lines().filter_map(|line| with_those_above(line, controller)).flatten().collect())
}

/// The groups of one line of `/proc/PID/cgroup`, `NUMBER:CONTROLLERS:PATH`.
fn with_those_above(line: &str, controller: &str) -> Option<Vec<String>> {
    let mut fields = line.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let tree = match controllers {
        "" => "fs/cgroup".to_owned(),
        some if some.split(',').any(|it| it == controller) => format!("fs/cgroup/{controller}"),
        _ => return None,
    };
    // outside the root of our namespace of control groups: what is mounted here is not around it
    if path.split('/').any(|it| it == "..") {
        return None;
    }
    let mut path = path.trim_matches('/');
    let mut groups = Vec::new();
    while !path.is_empty() {
        groups.push(format!("{tree}/{path}"));
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    groups.push(tree);
    Some(groups)
}
