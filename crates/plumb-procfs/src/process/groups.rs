//! Control groups that hold a process, and the processor time that they leave it.

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

/// The least bound of processor time that the control groups around the process `pid` have; `None` where
/// there is none, or it cannot be read.
///
/// # Source
/// cgroups(7); the kernel's cgroup-v2 (`cpu.max`) and sched-bwc (`cpu.cfs_quota_us`).
#[must_use]
pub fn quota_of(root: &Root, pid: u32) -> Option<Quota> {
    let ours = groups_of(root, "self", "cpu");
    let bounded = groups_of(root, &pid.to_string(), "cpu").into_iter().filter_map(|group| {
        let processors = quota(root, &group)?;
        Some(Quota { processors, holds_us: ours.contains(&group) })
    });
    bounded.min_by(|a, b| a.processors.total_cmp(&b.processors))
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

/// The control groups that hold `process` as far as `controller` goes, each with all above it, as
/// folders below `/sys`.
pub(super) fn groups_of(root: &Root, process: &str, controller: &str) -> Vec<String> {
    let groups = fs::read_to_string(root.proc(&format!("{process}/cgroup"))).unwrap_or_default();
    groups.lines().filter_map(|line| with_those_above(line, controller)).flatten().collect()
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
    let mut path = path.trim_matches('/');
    let mut groups = Vec::new();
    while !path.is_empty() {
        groups.push(format!("{tree}/{path}"));
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    groups.push(tree);
    Some(groups)
}
